//! What those who watch locks are told. No I/O here.

use crate::aggregate::version::Version;
use crate::lease::transfer::TransferRequest;
use crate::lease::{Holder, LeaseLossReason, LockKey};

/// What happened to a lock that is watched, see [`LockManager::watch`](crate::LockManager::watch). Holders are as they
/// were when the database was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockEvent {
    /// How things stand with all keys that are watched: the first event, and again whenever something was missed.
    Snapshot {
        /// Whether there were events since the last snapshot that nobody can be told any more, because they were not read
        /// in time.
        missed: bool,
        /// One for each key, in the order in which they were asked for.
        keys: Vec<LockSnapshot>,
    },
    /// Somebody got the lock. Of a lease that has ended again since, `remaining` is zero.
    Acquired(Holder),
    /// A lease that had run out goes on: the same generation, see [`LockManager::resume`](crate::LockManager::resume).
    Resumed(Holder),
    /// The lock was handed over, and is kept for this owner, who has not taken it yet.
    Reserved(Holder),
    /// The person who holds the lock is there again, or does nothing, or does not answer any more: see
    /// [`Holder::presence`].
    PresenceChanged(Holder),
    /// A lease ended, and `why` tells how: it was released, expired, broken, taken over or handed over.
    Ended {
        /// Whose it was.
        holder: Holder,
        /// How it ended, who had to do with it, and the reason given.
        why: LeaseLossReason,
    },
    /// Somebody asks the holder for the lock, or says something new.
    Requested(TransferRequest),
    /// Others wait in line, or went: see [`LockManager::lock`](crate::LockManager::lock).
    Waiting {
        /// What they wait for.
        key: LockKey,
        /// How many there are now.
        waiting: u32,
    },
    /// The aggregate was saved. Only where its mapping keeps revisions, or where this process saved it.
    VersionChanged {
        /// Which aggregate.
        key: LockKey,
        /// The version it has now. Those in between are not told one by one.
        version: Version,
    },
}

impl LockEvent {
    /// What it is about; a snapshot is about all keys.
    pub fn key(&self) -> Option<&LockKey> {
        match self {
            LockEvent::Snapshot { .. } => None,
            LockEvent::Acquired(holder)
            | LockEvent::Resumed(holder)
            | LockEvent::Reserved(holder)
            | LockEvent::PresenceChanged(holder)
            | LockEvent::Ended { holder, .. } => Some(&holder.key),
            LockEvent::Requested(request) => Some(&request.key),
            LockEvent::Waiting { key, .. } | LockEvent::VersionChanged { key, .. } => Some(key),
        }
    }

    /// Which lease it is about, if it is about one.
    pub fn generation(&self) -> Option<i64> {
        match self {
            LockEvent::Acquired(holder)
            | LockEvent::Resumed(holder)
            | LockEvent::Reserved(holder)
            | LockEvent::PresenceChanged(holder)
            | LockEvent::Ended { holder, .. } => Some(holder.generation),
            LockEvent::Requested(request) => Some(request.generation),
            LockEvent::Snapshot { .. } | LockEvent::Waiting { .. } | LockEvent::VersionChanged { .. } => None,
        }
    }
}

/// How things stand with one key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockSnapshot {
    /// What is watched.
    pub key: LockKey,
    /// The last change of hands; 0 if it was never locked.
    pub generation: i64,
    /// Who holds it: at most one with an exclusive policy. Whom it is kept for after a hand-over counts as its holder.
    pub holders: Vec<Holder>,
    /// Who asks the holder for it, the longest-waiting first.
    pub requests: Vec<TransferRequest>,
    /// How many wait in line.
    pub waiting: u32,
    /// The aggregate's version, as far as it is known: see [`LockEvent::VersionChanged`].
    pub version: Option<Version>,
}

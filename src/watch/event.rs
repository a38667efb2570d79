//! The events of watched locks. No I/O here.

use crate::aggregate::version::Version;
use crate::lease::{Holder, LeaseLossReason, LockKey};

/// An event of a watched lock, see [`LockManager::watch`](crate::LockManager::watch). Holders are as they
/// were at the poll of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockEvent {
    /// The state of all watched keys: the first event, and again after missed events.
    Snapshot {
        /// Whether events since the last snapshot were dropped because they were not read
        /// in time.
        missed: bool,
        /// One for each key, in the order of the subscription.
        keys: Vec<LockSnapshot>,
    },
    /// An owner acquired the lock. If the lease has ended since, `remaining` is zero.
    Acquired(Holder),
    /// An expired lease was resumed: the same generation, see [`LockManager::resume`](crate::LockManager::resume).
    Resumed(Holder),
    /// The presence of the holder changed to active, idle or unreachable: see
    /// [`Holder::presence`].
    PresenceChanged(Holder),
    /// A lease ended for the reason `why`: it was released, expired, broken or taken over.
    Ended {
        /// Its former holder.
        holder: Holder,
        /// The reason, with its author and text.
        why: LeaseLossReason,
    },
    /// The number of waiters changed: see [`LockManager::lock`](crate::LockManager::lock).
    Waiting {
        /// The key of the lock.
        key: LockKey,
        /// How many waiters there are now.
        waiting: u32,
    },
    /// The aggregate was saved. Only if its mapping keeps revisions, or if this process saved it.
    VersionChanged {
        /// The key of the aggregate.
        key: LockKey,
        /// Its current version. Versions in between are not reported one by one.
        version: Version,
    },
}

impl LockEvent {
    /// The key concerned; `None` for a snapshot of all keys.
    pub fn key(&self) -> Option<&LockKey> {
        match self {
            LockEvent::Snapshot { .. } => None,
            LockEvent::Acquired(holder)
            | LockEvent::Resumed(holder)
            | LockEvent::PresenceChanged(holder)
            | LockEvent::Ended { holder, .. } => Some(&holder.key),
            LockEvent::Waiting { key, .. } | LockEvent::VersionChanged { key, .. } => Some(key),
        }
    }

    /// The generation of the lease concerned, if any.
    pub fn generation(&self) -> Option<i64> {
        match self {
            LockEvent::Acquired(holder)
            | LockEvent::Resumed(holder)
            | LockEvent::PresenceChanged(holder)
            | LockEvent::Ended { holder, .. } => Some(holder.generation),
            LockEvent::Snapshot { .. } | LockEvent::Waiting { .. } | LockEvent::VersionChanged { .. } => None,
        }
    }
}

/// The state of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockSnapshot {
    /// The watched key.
    pub key: LockKey,
    /// The latest generation; 0 if it was never locked.
    pub generation: i64,
    /// The holders: at most one with an exclusive policy.
    pub holders: Vec<Holder>,
    /// The number of queued waiters.
    pub waiting: u32,
    /// The aggregate's version, if known: see [`LockEvent::VersionChanged`].
    pub version: Option<Version>,
}

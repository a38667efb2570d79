//! Errors of acquiring, keeping and ending a lease.

use std::time::Duration;

use super::DatabaseError;
use super::several::blockers;
use crate::lease::limits::Limit;
use crate::lease::transfer::{TransferRequest, Unfit};
use crate::lease::{Holder, InvalidOwner, LockKey, NoLock, Owner, Printable};

/// Why a lock was not granted.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another owner, or the same owner in another tab, holds it.
    #[error("{} is locked by {}; wait until it is free, or request it", .0.key, .0.owner)]
    AlreadyLocked(Box<Holder>),
    /// Its holder handed it over to another owner, who has not acquired it yet.
    #[error("{key} is reserved for {owner} for another {} s; try again then", remaining.as_secs() + 1)]
    Reserved {
        /// The locked object.
        key: LockKey,
        /// The owner of the reservation.
        owner: Owner,
        /// The remaining time of the reservation.
        remaining: Duration,
    },
    /// It was free a moment ago, and another session acquired it first.
    #[error("lost the race for {key}: another session locked it at the same moment; try again")]
    LockingFailed {
        /// The object to lock.
        key: LockKey,
    },
    /// It did not become free within the caller's wait: see [`LockManager::lock`](crate::LockManager::lock).
    #[error("waited {} ms for the lock on {key}, {}; wait longer, or request it", waited.as_millis(), held(holder))]
    LockTimeout {
        /// The object to lock.
        key: LockKey,
        /// How long the wait was.
        waited: Duration,
        /// The holder at the end of the wait; `None` if it was free at that moment, or could not be read.
        holder: Option<Box<Holder>>,
    },
    /// Some of several requested locks are held by others, or reserved for others. None was acquired.
    #[error("{}; nothing was locked; wait until all of them are free, or request them", blockers(held, reserved))]
    SomeLocked {
        /// The holders, in the order of the keys.
        held: Vec<Holder>,
        /// The reservations of other owners, with their remaining times.
        reserved: Vec<Holder>,
    },
    /// The lock id was used before and its lease has ended: a request was delivered twice, the second time too late.
    #[error("this lock id was used before, {0}")]
    LockIdUsed(Box<NoLock>),
    /// Locks of this type cannot be shared.
    #[error("locks on {key} are not shared; lock it alone, or set `LockPolicy::shared()` for its type")]
    NotShared {
        /// The object to lock.
        key: LockKey,
    },
    /// A limit was reached that keeps one owner from filling the lock table.
    #[error("{}", limit.says(*most))]
    LimitReached {
        /// The limit.
        limit: Limit,
        /// The largest allowed number; milliseconds for a time.
        most: u64,
    },
    /// The lock key is invalid.
    #[error("cannot lock `{}`: {problem}", Printable(key))]
    InvalidKey {
        /// The key, cut to a readable length.
        key: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The lock owner is invalid.
    #[error(transparent)]
    InvalidOwner(#[from] InvalidOwner),
    /// The set of locks is empty.
    #[error("a set of locks needs at least one key")]
    NoKeys,
    /// More keys than a set may have.
    #[error(
        "a set of locks may have {most} keys, and these are {count}; lock fewer, or the object that they belong to"
    )]
    TooManyKeys {
        /// How many different keys there were.
        count: usize,
        /// The largest allowed number.
        most: usize,
    },
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

fn held(holder: &Option<Box<Holder>>) -> String {
    match holder {
        Some(holder) => format!("which {} holds", holder.owner),
        None => "which others acquired first".into(),
    }
}

impl LockError {
    /// The error of an invalid key; `None` if it is valid.
    pub(crate) fn of_invalid(key: &LockKey) -> Option<Self> {
        let problem = key.problem()?;
        Some(LockError::InvalidKey { key: key.to_string().chars().take(60).collect(), problem })
    }
}

/// The reason that a lease could not be confirmed, kept or released.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// No lease has this lock id any more.
    #[error(transparent)]
    NoLock(#[from] NoLock),
    /// The database failed; the lease is unchanged.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// The reason that a job must stop: the lease of its [guard](crate::lock_manager::LeaseGuard) is lost.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseLost {
    /// The lease has ended in the database.
    #[error("the job lost its lease: {0}")]
    Ended(NoLock),
    /// No heartbeat was confirmed in time, or the process was paused for too long. Another owner may hold the lock now, or soon.
    #[error(
        "the job lost its lease on {key}: no heartbeat was confirmed in time ({}); acquire it again, and begin with what is stored",
        .cause.as_ref().map_or("the process was paused, or too busy".into(), ToString::to_string)
    )]
    Unconfirmed {
        /// The locked object.
        key: LockKey,
        /// Why the last heartbeat failed; `None` if none had failed.
        cause: Option<DatabaseError>,
    },
}

/// The reason that a lease was not broken.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum BreakError {
    /// The observed generation does not hold the lock any more; read the lease again before you decide.
    #[error("the holder changed since you looked; nothing was ended, look again")]
    HolderChanged {
        /// The current holders.
        held_now: Vec<Holder>,
    },
    /// The holder must get a reason.
    #[error("give a reason: the holder is going to read it")]
    NoReason,
    /// The reason is too long.
    #[error("the reason is too long; write at most {} characters", TransferRequest::LONGEST_NOTE)]
    ReasonTooLong,
    /// The reason contains control characters.
    #[error("the reason has line breaks or other control characters; write it in one line")]
    ReasonNotPlain,
    /// The lock owner is invalid.
    #[error(transparent)]
    InvalidOwner(#[from] InvalidOwner),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<Unfit> for BreakError {
    fn from(reason: Unfit) -> Self {
        match reason {
            Unfit::TooLong => BreakError::ReasonTooLong,
            Unfit::NotPlain => BreakError::ReasonNotPlain,
        }
    }
}

//! Errors of acquiring, keeping, taking over and ending a lease.

use std::time::Duration;

use super::DatabaseError;
use crate::lease::limits::Limit;
use crate::lease::{Holder, InvalidOwner, InvalidReason, LockKey, NoLock, Printable};

/// Why a lock was not granted.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another owner, or the same owner in another tab, holds it.
    #[error("{} is locked by {}; wait until it is free", .0.key, .0.owner)]
    AlreadyLocked(Box<Holder>),
    /// It was free a moment ago, and another session acquired it first.
    #[error("lost the race for {key}: another session locked it at the same moment; try again")]
    LockingFailed {
        /// The object to lock.
        key: LockKey,
    },
    /// It did not become free within the caller's wait: see [`LockManager::lock`](crate::LockManager::lock).
    #[error("waited {} ms for the lock on {key}, {}; wait longer", waited.as_millis(), held(holder))]
    LockTimeout {
        /// The object to lock.
        key: LockKey,
        /// How long the wait was.
        waited: Duration,
        /// The holder that the last answered request met; `None` if it met none.
        holder: Option<Box<Holder>>,
    },
    /// The lock id was used before and its lease has ended: a request was delivered twice, the second time too late.
    #[error("this lock id was used before, {0}")]
    LockIdUsed(Box<NoLock>),
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
    /// The reason is invalid.
    #[error(transparent)]
    InvalidReason(#[from] InvalidReason),
    /// The lock owner is invalid.
    #[error(transparent)]
    InvalidOwner(#[from] InvalidOwner),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// The reason that a lease was not taken over.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TakeOverError {
    /// The observed generation does not hold the lock any more; read the lease again before you decide.
    #[error("the holder changed since you looked; nothing was taken over, look again")]
    HolderChanged {
        /// The current holders.
        held_now: Vec<Holder>,
    },
    /// The requester may not take it over from this holder.
    #[error("{} may not be taken over from {}; wait until it is free", .0.key, .0.owner)]
    NotPermitted(Box<Holder>),
    /// The reason is invalid.
    #[error(transparent)]
    InvalidReason(#[from] InvalidReason),
    /// The lock owner is invalid.
    #[error(transparent)]
    InvalidOwner(#[from] InvalidOwner),
    /// An advisory lock excludes nobody, so there is nothing to take over.
    #[error("the lock on {key} is advisory and excludes nobody; lock it beside the others")]
    Advisory {
        /// The locked object.
        key: LockKey,
    },
    /// A limit was reached that keeps one owner from filling the lock table.
    #[error("{}", limit.says(*most))]
    LimitReached {
        /// The limit.
        limit: Limit,
        /// The largest allowed number.
        most: u64,
    },
    /// The lock id was used before; use a new one.
    #[error("this lock id was used before, {0}")]
    LockIdUsed(Box<NoLock>),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

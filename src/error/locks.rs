//! Why a lock is not to be had, is not held, or is not ended.

use std::time::Duration;

use super::DatabaseError;
use super::several::in_the_way;
use crate::lease::limits::Limit;
use crate::lease::transfer::{TransferRequest, Unfit};
use crate::lease::{Holder, InvalidOwner, LockKey, NoLock, Owner, Printable};

/// Why a lock was not granted.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Somebody holds it. (Maybe the same person, in another tab.)
    #[error("{} is locked by {}; wait until it is free, or ask", .0.key, .0.owner)]
    AlreadyLocked(Box<Holder>),
    /// Its holder handed it over to somebody else, who has not taken it yet.
    #[error("{key} is kept for {owner} for another {} s; try again then", remaining.as_secs() + 1)]
    Reserved {
        /// What is locked.
        key: LockKey,
        /// For whom.
        owner: Owner,
        /// For how long from now.
        remaining: Duration,
    },
    /// It was free a moment ago, and somebody else was faster.
    #[error("somebody else locked {key} at the same moment; try again")]
    LockingFailed {
        /// What was to be locked.
        key: LockKey,
    },
    /// It did not become free in the time that the caller would wait: see [`LockManager::lock`](crate::LockManager::lock).
    #[error("waited {} ms for the lock on {key}, {}; wait longer, or ask for it", waited.as_millis(), held(holder))]
    LockTimeout {
        /// What was to be locked.
        key: LockKey,
        /// How long the wait was.
        waited: Duration,
        /// Who holds it; nobody if it was somebody else's turn.
        holder: Option<Box<Holder>>,
    },
    /// Several were asked for at once, and some of them are held by others, or kept for others. None was taken.
    #[error("{}; nothing was locked, wait until all of them are free, or ask", in_the_way(held, reserved))]
    SomeLocked {
        /// Who holds which, in the order of the keys.
        held: Vec<Holder>,
        /// What was handed over to others who have not taken it yet: for whom, and for how long.
        reserved: Vec<Holder>,
    },
    /// The lock id was used before and its lease has ended: a request that came twice, the second time too late.
    #[error("this lock id was used before, {0}")]
    LockIdUsed(Box<NoLock>),
    /// Locks of this type are not held together.
    #[error("locks on {key} are not shared; lock it alone, or set `LockPolicy::shared()` for its type")]
    NotShared {
        /// What was to be locked.
        key: LockKey,
    },
    /// A limit that keeps one person from taking up the lock table was reached.
    #[error("{}", limit.says(*most))]
    LimitReached {
        /// Which one.
        limit: Limit,
        /// How many there may be; milliseconds, where it is a time.
        most: u64,
    },
    /// No aggregate has such a key.
    #[error("cannot lock `{}`: {problem}", Printable(key))]
    InvalidKey {
        /// The key, cut to a readable length.
        key: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Nobody can be such an owner.
    #[error(transparent)]
    InvalidOwner(#[from] InvalidOwner),
    /// A set of no locks.
    #[error("a set of locks needs at least one key")]
    NoKeys,
    /// More than one set may have.
    #[error("a set of locks may have {most} keys, and these are {count}; lock fewer, or what they all belong to")]
    TooManyKeys {
        /// How many different keys there were.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

fn held(holder: &Option<Box<Holder>>) -> String {
    match holder {
        Some(holder) => format!("which {} holds", holder.owner),
        None => "and other waiters are ahead".into(),
    }
}

impl LockError {
    /// What is wrong with a key, if anything.
    pub(crate) fn of_invalid(key: &LockKey) -> Option<Self> {
        let problem = key.problem()?;
        Some(LockError::InvalidKey { key: key.to_string().chars().take(60).collect(), problem })
    }
}

/// Why a lease could not be confirmed, kept or given back.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// The lock id holds nothing any more.
    #[error(transparent)]
    NoLock(#[from] NoLock),
    /// The database failed; the lease is what it was.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Why a job must stop: the lease that its [guard](crate::lock_manager::LeaseGuard) held is lost.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseLost {
    /// The database says that it has ended.
    #[error("the job lost its lease: {0}")]
    Ended(NoLock),
    /// No heartbeat was confirmed in time, or the process was paused for too long. Somebody else may hold the lock by now, or soon.
    #[error(
        "the job lost its lease on {key}: no heartbeat was confirmed in time ({}); acquire it again, and begin with what is stored",
        .cause.as_ref().map_or("the process was paused, or too busy".into(), ToString::to_string)
    )]
    Unconfirmed {
        /// What was locked.
        key: LockKey,
        /// Why the last heartbeat failed; `None` if none had failed.
        cause: Option<DatabaseError>,
    },
}

/// Why somebody's lease was not ended.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum BreakError {
    /// The generation that was seen is not held any more; look again before you decide.
    #[error("the holder changed since you looked; nothing was ended, look again")]
    HolderChanged {
        /// Who holds it now.
        held_now: Vec<Holder>,
    },
    /// The holder has to be told why.
    #[error("give a reason: the holder is going to read it")]
    NoReason,
    /// The reason does not fit.
    #[error("the reason is too long; write at most {} characters", TransferRequest::LONGEST_NOTE)]
    ReasonTooLong,
    /// There are control characters in the reason.
    #[error("the reason has line breaks or other control characters; write it in one line")]
    ReasonNotPlain,
    /// Nobody can be such an owner.
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

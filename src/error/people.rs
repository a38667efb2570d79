//! Errors of takeovers.

use crate::error::DatabaseError;
use crate::lease::limits::Limit;
use crate::lease::{Holder, InvalidOwner, LONGEST_REASON, LockKey, NoLock, Unfit};

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
    #[error("{} may not be taken over from {}; ask for it, or wait until it is free", .0.key, .0.owner)]
    NotPermitted(Box<Holder>),
    /// The holder must get a reason.
    #[error("give a reason: the holder is going to read it")]
    NoReason,
    /// The reason is too long.
    #[error("the reason is too long; write at most {} characters", LONGEST_REASON)]
    ReasonTooLong,
    /// The reason contains control characters.
    #[error("the reason has line breaks or other control characters; write it in one line")]
    ReasonNotPlain,
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

impl From<Unfit> for TakeOverError {
    fn from(text: Unfit) -> Self {
        match text {
            Unfit::Empty => TakeOverError::NoReason,
            Unfit::TooLong => TakeOverError::ReasonTooLong,
            Unfit::NotPlain => TakeOverError::ReasonNotPlain,
        }
    }
}

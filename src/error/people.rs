//! Errors of takeovers, transfer requests and replies.

use crate::error::DatabaseError;
use crate::lease::limits::Limit;
use crate::lease::transfer::{TransferRequest, Unfit};
use crate::lease::{Holder, InvalidOwner, LockKey, NoLock, Printable};

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
    #[error("the reason is too long; write at most {} characters", TransferRequest::LONGEST_NOTE)]
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
    /// A shared lease cannot be taken over, because others may hold it too.
    #[error("the lock on {key} is shared by readers; share it, or wait until they release it")]
    Shared {
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

/// The reason that the transfer request was not made.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The observed generation does not hold the lock any more; it may be free.
    #[error("the holder changed since you looked; look again, it may be free")]
    HolderChanged {
        /// The current holders.
        held_now: Vec<Holder>,
    },
    /// A limit was reached that keeps one owner from filling the lock table.
    #[error("{}", limit.says(*most))]
    LimitReached {
        /// The limit.
        limit: Limit,
        /// The largest allowed number.
        most: u64,
    },
    /// The note is too long.
    #[error("the note is too long; write at most {} characters", TransferRequest::LONGEST_NOTE)]
    NoteTooLong,
    /// The note contains control characters.
    #[error("the note has line breaks or other control characters; write it in one line")]
    NoteNotPlain,
    /// The lock owner is invalid.
    #[error(transparent)]
    InvalidOwner(#[from] InvalidOwner),
    /// An advisory lock excludes nobody, so there is nothing to request.
    #[error("the lock on {key} is advisory and excludes nobody; lock it beside the others")]
    Advisory {
        /// The locked object.
        key: LockKey,
    },
    /// A shared lease cannot be requested.
    #[error("the lock on {key} is shared by readers; share it, or wait until they release it")]
    Shared {
        /// The locked object.
        key: LockKey,
    },
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// The reason that a request got no reply, or the lock was not handed over.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// No lease has this lock id any more.
    #[error(transparent)]
    NoLock(Box<NoLock>),
    /// The named owner has no open request.
    #[error("{} has no open request any more; read the requests again", Printable(asker))]
    NotAsked {
        /// The id of the named owner.
        asker: String,
    },
    /// The message is too long.
    #[error("the message is too long; write at most {} characters", TransferRequest::LONGEST_NOTE)]
    MessageTooLong,
    /// The message contains control characters.
    #[error("the message has line breaks or other control characters; write it in one line")]
    MessageNotPlain,
    /// The database failed; the lease is unchanged.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<Unfit> for TakeOverError {
    fn from(text: Unfit) -> Self {
        match text {
            Unfit::TooLong => TakeOverError::ReasonTooLong,
            Unfit::NotPlain => TakeOverError::ReasonNotPlain,
        }
    }
}

impl From<Unfit> for RequestError {
    fn from(text: Unfit) -> Self {
        match text {
            Unfit::TooLong => RequestError::NoteTooLong,
            Unfit::NotPlain => RequestError::NoteNotPlain,
        }
    }
}

impl From<Unfit> for AnswerError {
    fn from(text: Unfit) -> Self {
        match text {
            Unfit::TooLong => AnswerError::MessageTooLong,
            Unfit::NotPlain => AnswerError::MessageNotPlain,
        }
    }
}

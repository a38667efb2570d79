//! What people may be refused when they deal with each other's locks.

use crate::error::DatabaseError;
use crate::lease::limits::Limit;
use crate::lease::transfer::{TransferRequest, Unfit};
use crate::lease::{Holder, InvalidOwner, LockKey, NoLock, Printable};

/// Why somebody's lease was not taken over.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TakeOverError {
    /// The generation that was seen is not held any more; look again before you decide.
    #[error("the holder changed since you looked; nothing was taken over, look again")]
    HolderChanged {
        /// Who holds it now.
        held_now: Vec<Holder>,
    },
    /// Whoever asks may not take it over from this holder.
    #[error("{} may not be taken over from {}; ask for it, or wait until it is free", .0.key, .0.owner)]
    NotPermitted(Box<Holder>),
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
    /// An advisory lock excludes nobody, so there is nothing to take over.
    #[error("the lock on {key} is advisory and excludes nobody; lock it beside the others")]
    Advisory {
        /// What is locked.
        key: LockKey,
    },
    /// A share is held together with others, so it cannot be taken over.
    #[error("the lock on {key} is shared by those who read it; share it, or wait until they are done")]
    Shared {
        /// What is locked.
        key: LockKey,
    },
    /// A limit that keeps one person from taking up the lock table was reached.
    #[error("{}", limit.says(*most))]
    LimitReached {
        /// Which one.
        limit: Limit,
        /// How many there may be.
        most: u64,
    },
    /// The lock id was used before: it has to be a new one.
    #[error("this lock id was used before, {0}")]
    LockIdUsed(Box<NoLock>),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Why the holder of a lock was not asked for it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The generation that was seen is not held any more; it may be free.
    #[error("the holder changed since you looked; look again, it may be free")]
    HolderChanged {
        /// Who holds it now.
        held_now: Vec<Holder>,
    },
    /// A limit that keeps one person from taking up the lock table was reached.
    #[error("{}", limit.says(*most))]
    LimitReached {
        /// Which one.
        limit: Limit,
        /// How many there may be.
        most: u64,
    },
    /// The note does not fit.
    #[error("the note is too long; write at most {} characters", TransferRequest::LONGEST_NOTE)]
    NoteTooLong,
    /// There are control characters in the note.
    #[error("the note has line breaks or other control characters; write it in one line")]
    NoteNotPlain,
    /// Nobody can be such an owner.
    #[error(transparent)]
    InvalidOwner(#[from] InvalidOwner),
    /// An advisory lock excludes nobody, so there is nothing to ask for.
    #[error("the lock on {key} is advisory and excludes nobody; lock it beside the others")]
    Advisory {
        /// What is locked.
        key: LockKey,
    },
    /// A share is held together with others, so it cannot be asked for.
    #[error("the lock on {key} is shared by those who read it; share it, or wait until they are done")]
    Shared {
        /// What is locked.
        key: LockKey,
    },
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Why a request was not answered, or the lock not handed over.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The lock id holds nothing any more.
    #[error(transparent)]
    NoLock(Box<NoLock>),
    /// They never asked, or went away since.
    #[error("{} does not ask for it any more; look at the requests again", Printable(asker))]
    NotAsked {
        /// The id of the owner who was named.
        asker: String,
    },
    /// The message does not fit.
    #[error("the message is too long; write at most {} characters", TransferRequest::LONGEST_NOTE)]
    MessageTooLong,
    /// There are control characters in the message.
    #[error("the message has line breaks or other control characters; write it in one line")]
    MessageNotPlain,
    /// The database failed; the lease is what it was.
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

//! One table: the name of each error for programs, and whether another attempt may succeed. Each error enum is mapped onto it
//! variant by variant, so a new variant does not compile without a code.

use std::fmt;

use super::{
    AnswerError, BreakError, DatabaseError, Error, LeaseError, LeaseLost, LeaseSetError, ListError, LockError,
    RequestError, SweepError, TakeOverError,
};
use crate::lease::limits::Limit;
use crate::lease::{LeaseLossReason, NoLock};

/// Whether the same work, done again as a whole, may succeed.
const YES: bool = true;
const NO: bool = false;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $retry:ident;)*) => {
        /// What an error is, without what it is about: a stable name for programs, and whether another attempt may succeed. Every
        /// error of this crate has one (`code()`), so a function over all codes covers all errors. `tenure-web` maps each code
        /// to an HTTP status in this way.
        ///
        /// It is not `non_exhaustive`: who matches on it decides anew when a release adds a code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
        }

        impl ErrorCode {
            /// All of them.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$name,)*];

            /// Its stable name, as in `already-locked`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(ErrorCode::$name => $text,)*
                }
            }

            /// Whether the same work, done again as a whole, may succeed.
            pub const fn is_retryable(self) -> bool {
                match self {
                    $(ErrorCode::$name => $retry,)*
                }
            }
        }
    };
}

codes! {
    /// There is no such aggregate.
    NotFound = "not-found", NO;
    /// The id is spelled differently from the one that is stored.
    OtherSpelling = "other-spelling", NO;
    /// There is one already with this id.
    AlreadyExists = "already-exists", NO;
    /// It was changed since the person saw it.
    VersionConflict = "version-conflict", NO;
    /// Somebody else saved it at the same moment.
    LostRace = "lost-race", YES;
    /// The version belongs to another aggregate.
    ForeignVersion = "foreign-version", NO;
    /// What a change is said to be for is not a plain text.
    InvalidCommand = "invalid-command", NO;
    /// Somebody holds the lock.
    AlreadyLocked = "already-locked", YES;
    /// The lock is kept for somebody.
    Reserved = "reserved", YES;
    /// Somebody else was faster by a moment.
    LockingFailed = "locking-failed", YES;
    /// The lock did not become free in time. It is a person who holds it, not a server that is busy.
    LockTimeout = "lock-timeout", YES;
    /// Some of several locks are held.
    SomeLocked = "some-locked", YES;
    /// Locks of this type are not shared.
    NotShared = "not-shared", NO;
    /// One person holds, or waits for, as much as they may.
    LimitReached = "limit-reached", YES;
    /// The wait is longer than any may be.
    WaitTooLong = "wait-too-long", NO;
    /// Nothing can have such a key.
    InvalidKey = "invalid-key", NO;
    /// Nobody can be such an owner.
    InvalidOwner = "invalid-owner", NO;
    /// A set of no locks.
    NoKeys = "no-keys", NO;
    /// More locks than one set may have.
    TooManyKeys = "too-many-keys", NO;
    /// Nobody has a lock with this id.
    LockUnknown = "lock-unknown", NO;
    /// No sign of life came in time.
    LockExpired = "lock-expired", NO;
    /// Nobody did anything in the form for too long.
    LockIdle = "lock-idle", NO;
    /// The lock was held for as long as it may be.
    LockHeldTooLong = "lock-held-too-long", NO;
    /// The lock was given back.
    LockReleased = "lock-released", NO;
    /// Somebody ended the lock.
    LockBroken = "lock-broken", NO;
    /// Somebody took the lock over.
    LockTakenOver = "lock-taken-over", NO;
    /// The lock was handed over.
    LockHandedOver = "lock-handed-over", NO;
    /// The lock is somebody else's.
    LockNotYours = "lock-not-yours", NO;
    /// The lock is one of another aggregate.
    LockOfAnother = "lock-of-another", NO;
    /// The lock is shared, to read only.
    LockShared = "lock-shared", NO;
    /// Some locks of a set have ended.
    SetEnded = "set-ended", NO;
    /// The holder changed since somebody looked.
    HolderChanged = "holder-changed", NO;
    /// They may not take over from this holder.
    TakeOverNotPermitted = "take-over-not-permitted", NO;
    /// The holder has to be given a reason.
    NoReason = "no-reason", NO;
    /// A reason, note or message is too long.
    TextTooLong = "text-too-long", NO;
    /// A reason, note or message has control characters in it.
    TextNotPlain = "text-not-plain", NO;
    /// The lock is advisory and excludes nobody.
    AdvisoryLock = "advisory-lock", NO;
    /// The lock is shared by those who read.
    SharedLock = "shared-lock", NO;
    /// They do not ask for the lock.
    NotAsked = "not-asked", NO;
    /// No page has so many entries.
    PageSize = "page-size", NO;
    /// The place is one in another list.
    ForeignCursor = "foreign-cursor", NO;
    /// No list can be narrowed down to such a text.
    InvalidFilter = "invalid-filter", NO;
    /// What is to be swept may still be asked for.
    TooYoung = "too-young", NO;
    /// The database could not do it just now. Nothing was changed.
    Unavailable = "unavailable", YES;
    /// The database cannot be opened or reached.
    Unreachable = "unreachable", NO;
    /// The database can only be read.
    ReadOnly = "read-only", NO;
    /// The database file is not the one that was opened.
    FileLost = "file-lost", NO;
    /// Nobody knows whether it was done; the same request with the same lock id may be sent again.
    NoAnswer = "no-answer", YES;
    /// A row of a child was changed without the version of its aggregate being raised.
    ChildGone = "child-gone", YES;
    /// The application's own statement ended the transaction.
    TransactionEnded = "transaction-ended", NO;
    /// The database was closed by this program.
    Closed = "closed", NO;
    /// Nobody knows whether it was committed.
    OutcomeUnknown = "outcome-unknown", NO;
    /// This database, or this build, cannot do it.
    Unsupported = "unsupported", NO;
    /// The database failed, or what is stored does not fit. The reason is in the error, for who runs the program.
    Failed = "failed", NO;
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! answers {
    ($($error:ident),*) => {$(
        impl $error {
            /// Whether the same work, done again as a whole, may succeed.
            pub fn is_retryable(&self) -> bool {
                self.code().is_retryable()
            }
        }
    )*};
}

answers!(
    AnswerError,
    BreakError,
    DatabaseError,
    Error,
    LeaseError,
    LeaseLost,
    ListError,
    LockError,
    RequestError,
    LeaseSetError,
    SweepError,
    TakeOverError
);

impl DatabaseError {
    /// What it is, for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            DatabaseError::LockTimeout { .. }
            | DatabaseError::Deadlock
            | DatabaseError::SerializationFailure
            | DatabaseError::Busy(_)
            | DatabaseError::Cancelled
            | DatabaseError::ConnectionLost(_) => ErrorCode::Unavailable,
            DatabaseError::OutcomeUnknown(_) => ErrorCode::NoAnswer,
            DatabaseError::ChildGone { .. } => ErrorCode::ChildGone,
            DatabaseError::TransactionEnded(_) => ErrorCode::TransactionEnded,
            DatabaseError::Closed => ErrorCode::Closed,
            DatabaseError::Poisoned(first) => first.code(),
            DatabaseError::CommitUnknown(_) => ErrorCode::OutcomeUnknown,
            DatabaseError::Unsupported(_) => ErrorCode::Unsupported,
            DatabaseError::Unreachable { .. } => ErrorCode::Unreachable,
            DatabaseError::ReadOnly => ErrorCode::ReadOnly,
            DatabaseError::FileLost { .. } => ErrorCode::FileLost,
            DatabaseError::NoRandomness
            | DatabaseError::NotPermitted(_)
            | DatabaseError::Schema(_)
            | DatabaseError::Constraint(_)
            | DatabaseError::Mapping(_)
            | DatabaseError::Other(_) => ErrorCode::Failed,
        }
    }
}

impl NoLock {
    /// What it is, for programs.
    pub fn code(&self) -> ErrorCode {
        match self.why {
            LeaseLossReason::Unknown => ErrorCode::LockUnknown,
            LeaseLossReason::Expired { .. } => ErrorCode::LockExpired,
            LeaseLossReason::IdleLimitReached { .. } => ErrorCode::LockIdle,
            LeaseLossReason::LimitReached { .. } => ErrorCode::LockHeldTooLong,
            LeaseLossReason::Released { .. } => ErrorCode::LockReleased,
            LeaseLossReason::Broken { .. } => ErrorCode::LockBroken,
            LeaseLossReason::TakenOver { .. } => ErrorCode::LockTakenOver,
            LeaseLossReason::HandedOver { .. } => ErrorCode::LockHandedOver,
            LeaseLossReason::NotYours => ErrorCode::LockNotYours,
            LeaseLossReason::OtherAggregate => ErrorCode::LockOfAnother,
            LeaseLossReason::SharedOnly => ErrorCode::LockShared,
        }
    }
}

impl Error {
    /// What it is, for programs. A version that a person saw never becomes current again, so a
    /// [`VersionConflict`](Error::VersionConflict) is not retryable, and a lost race is.
    pub fn code(&self) -> ErrorCode {
        match self {
            Error::NotFound { .. } => ErrorCode::NotFound,
            Error::OtherSpelling { .. } => ErrorCode::OtherSpelling,
            Error::AlreadyExists { .. } => ErrorCode::AlreadyExists,
            Error::VersionConflict(_) => ErrorCode::VersionConflict,
            Error::VersionTokenMismatch { .. } => ErrorCode::ForeignVersion,
            Error::OptimisticLockingFailure(_) => ErrorCode::LostRace,
            Error::AlreadyLocked(_) => ErrorCode::AlreadyLocked,
            Error::NoLock(no_lock) => no_lock.code(),
            Error::InvalidOwner(_) => ErrorCode::InvalidOwner,
            Error::InvalidCommand => ErrorCode::InvalidCommand,
            Error::InvalidKey { .. } => ErrorCode::InvalidKey,
            Error::Database(error) => error.code(),
        }
    }
}

fn of_limit(limit: Limit) -> ErrorCode {
    match limit {
        Limit::LongestWait => ErrorCode::WaitTooLong,
        Limit::LocksPerOwner | Limit::AskersPerLock | Limit::WaitsPerOwner => ErrorCode::LimitReached,
    }
}

impl LockError {
    /// What it is, for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            LockError::AlreadyLocked(_) => ErrorCode::AlreadyLocked,
            LockError::Reserved { .. } => ErrorCode::Reserved,
            LockError::LockingFailed { .. } => ErrorCode::LockingFailed,
            LockError::LockTimeout { .. } => ErrorCode::LockTimeout,
            LockError::SomeLocked { .. } => ErrorCode::SomeLocked,
            LockError::LockIdUsed(no_lock) => no_lock.code(),
            LockError::NotShared { .. } => ErrorCode::NotShared,
            LockError::LimitReached { limit, .. } => of_limit(*limit),
            LockError::InvalidKey { .. } => ErrorCode::InvalidKey,
            LockError::InvalidOwner(_) => ErrorCode::InvalidOwner,
            LockError::NoKeys => ErrorCode::NoKeys,
            LockError::TooManyKeys { .. } => ErrorCode::TooManyKeys,
            LockError::Database(error) => error.code(),
        }
    }
}

impl LeaseError {
    /// What it is, for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            LeaseError::NoLock(no_lock) => no_lock.code(),
            LeaseError::Database(error) => error.code(),
        }
    }
}

impl LeaseLost {
    /// What it is, for programs. A lease that was not confirmed in time counts as expired.
    pub fn code(&self) -> ErrorCode {
        match self {
            LeaseLost::Ended(no_lock) => no_lock.code(),
            LeaseLost::Unconfirmed { .. } => ErrorCode::LockExpired,
        }
    }
}

impl LeaseSetError {
    /// What it is, for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            LeaseSetError::Ended { .. } => ErrorCode::SetEnded,
            LeaseSetError::Database(error) => error.code(),
        }
    }
}

impl BreakError {
    /// What it is, for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            BreakError::HolderChanged { .. } => ErrorCode::HolderChanged,
            BreakError::NoReason => ErrorCode::NoReason,
            BreakError::ReasonTooLong => ErrorCode::TextTooLong,
            BreakError::ReasonNotPlain => ErrorCode::TextNotPlain,
            BreakError::InvalidOwner(_) => ErrorCode::InvalidOwner,
            BreakError::Database(error) => error.code(),
        }
    }
}

impl TakeOverError {
    /// What it is, for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            TakeOverError::HolderChanged { .. } => ErrorCode::HolderChanged,
            TakeOverError::NotPermitted(_) => ErrorCode::TakeOverNotPermitted,
            TakeOverError::NoReason => ErrorCode::NoReason,
            TakeOverError::ReasonTooLong => ErrorCode::TextTooLong,
            TakeOverError::ReasonNotPlain => ErrorCode::TextNotPlain,
            TakeOverError::InvalidOwner(_) => ErrorCode::InvalidOwner,
            TakeOverError::Advisory { .. } => ErrorCode::AdvisoryLock,
            TakeOverError::Shared { .. } => ErrorCode::SharedLock,
            TakeOverError::LimitReached { limit, .. } => of_limit(*limit),
            TakeOverError::LockIdUsed(no_lock) => no_lock.code(),
            TakeOverError::Database(error) => error.code(),
        }
    }
}

impl RequestError {
    /// What it is, for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            RequestError::HolderChanged { .. } => ErrorCode::HolderChanged,
            RequestError::LimitReached { limit, .. } => of_limit(*limit),
            RequestError::NoteTooLong => ErrorCode::TextTooLong,
            RequestError::NoteNotPlain => ErrorCode::TextNotPlain,
            RequestError::InvalidOwner(_) => ErrorCode::InvalidOwner,
            RequestError::Advisory { .. } => ErrorCode::AdvisoryLock,
            RequestError::Shared { .. } => ErrorCode::SharedLock,
            RequestError::Database(error) => error.code(),
        }
    }
}

impl AnswerError {
    /// What it is, for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            AnswerError::NoLock(no_lock) => no_lock.code(),
            AnswerError::NotAsked { .. } => ErrorCode::NotAsked,
            AnswerError::MessageTooLong => ErrorCode::TextTooLong,
            AnswerError::MessageNotPlain => ErrorCode::TextNotPlain,
            AnswerError::Database(error) => error.code(),
        }
    }
}

impl ListError {
    /// What it is, for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            ListError::PageSize { .. } => ErrorCode::PageSize,
            ListError::ForeignCursor => ErrorCode::ForeignCursor,
            ListError::InvalidFilter { .. } => ErrorCode::InvalidFilter,
            ListError::Database(error) => error.code(),
        }
    }
}

impl SweepError {
    /// What it is, for programs.
    pub fn code(&self) -> ErrorCode {
        match self {
            SweepError::TooYoung { .. } => ErrorCode::TooYoung,
            SweepError::Database(error) => error.code(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_name_of_its_own() {
        let mut names: Vec<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorCode::ALL.len());
        for code in ErrorCode::ALL {
            assert!(code.as_str().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{code}");
        }
    }
}

//! One table: the name of each error for programs, and whether a retry may succeed. Each error enum is mapped onto it variant by variant,
//! so a new variant does not compile without a code.

use std::fmt;

use super::{BreakError, DatabaseError, Error, LeaseError, LeaseLost, ListError, LockError, SweepError, TakeOverError};
use crate::lease::limits::Limit;
use crate::lease::{LeaseLossReason, NoLock};

/// Whether a retry of the same operation as a whole may succeed.
const YES: bool = true;
const NO: bool = false;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $retry:ident;)*) => {
        /// The kind of an error, without the object that it is about: a stable name for programs, and whether a retry may succeed. Every
        /// error of this crate has one (`code()`), so a function over all codes covers all errors. `tenure-web` maps each code to an HTTP
        /// status in this way.
        ///
        /// It is not `non_exhaustive`: a `match` on it has to decide again when a release adds a code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
        }

        impl ErrorCode {
            /// All of them.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$name,)*];

            /// Its stable name, such as `already-locked`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(ErrorCode::$name => $text,)*
                }
            }

            /// Whether a retry of the same operation as a whole may succeed.
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
    /// An aggregate with this id exists already.
    AlreadyExists = "already-exists", NO;
    /// It was changed after the caller read it.
    VersionConflict = "version-conflict", NO;
    /// Another session saved it at the same moment.
    LostRace = "lost-race", YES;
    /// The version belongs to another aggregate.
    ForeignVersion = "foreign-version", NO;
    /// The command of a change is not plain text.
    InvalidCommand = "invalid-command", NO;
    /// Another owner holds the lock.
    AlreadyLocked = "already-locked", YES;
    /// Another session acquired the lock at the same moment.
    LockingFailed = "locking-failed", YES;
    /// The lock did not become free within the wait. Its holder is a person; the server is not overloaded.
    LockTimeout = "lock-timeout", YES;
    /// One owner holds as many locks as the quota allows.
    LimitReached = "limit-reached", YES;
    /// The wait exceeds the longest allowed one.
    WaitTooLong = "wait-too-long", NO;
    /// The lock key is invalid.
    InvalidKey = "invalid-key", NO;
    /// The lock owner is invalid.
    InvalidOwner = "invalid-owner", NO;
    /// No lease has this lock id.
    LockUnknown = "lock-unknown", NO;
    /// No heartbeat arrived in time.
    LockExpired = "lock-expired", NO;
    /// The owner did nothing in the form for longer than the idle limit.
    LockIdle = "lock-idle", NO;
    /// The lease reached its absolute limit.
    LockHeldTooLong = "lock-held-too-long", NO;
    /// The lease was released.
    LockReleased = "lock-released", NO;
    /// The lease was broken.
    LockBroken = "lock-broken", NO;
    /// The lease was taken over.
    LockTakenOver = "lock-taken-over", NO;
    /// The lease belongs to another owner.
    LockNotYours = "lock-not-yours", NO;
    /// The lease is on another aggregate.
    LockOfAnother = "lock-of-another", NO;
    /// The holder changed after the caller read it.
    HolderChanged = "holder-changed", NO;
    /// Taking over from this holder is not permitted.
    TakeOverNotPermitted = "take-over-not-permitted", NO;
    /// The holder must get a reason.
    NoReason = "no-reason", NO;
    /// A reason is too long.
    TextTooLong = "text-too-long", NO;
    /// A reason contains control characters.
    TextNotPlain = "text-not-plain", NO;
    /// The lock is advisory and excludes nobody.
    AdvisoryLock = "advisory-lock", NO;
    /// The page size is out of range.
    PageSize = "page-size", NO;
    /// The cursor belongs to another list.
    ForeignCursor = "foreign-cursor", NO;
    /// The filter text is invalid.
    InvalidFilter = "invalid-filter", NO;
    /// The rows to sweep are too young: they may still be needed.
    TooYoung = "too-young", NO;
    /// The database could not do it now. Nothing was changed.
    Unavailable = "unavailable", YES;
    /// The database cannot be opened or reached.
    Unreachable = "unreachable", NO;
    /// The database can only be read.
    ReadOnly = "read-only", YES;
    /// The database has no space left.
    DiskFull = "disk-full", NO;
    /// The database file is not the one that was opened.
    FileLost = "file-lost", NO;
    /// The outcome is unknown. The same request with the same lock id may be sent again.
    NoAnswer = "no-answer", YES;
    /// A child's row was changed without raising the version of its aggregate.
    ChildGone = "child-gone", YES;
    /// The application's own statement ended the transaction.
    TransactionEnded = "transaction-ended", NO;
    /// This program closed the database.
    Closed = "closed", NO;
    /// It is unknown whether the transaction was committed.
    OutcomeUnknown = "outcome-unknown", NO;
    /// This database, or this build, cannot do it.
    Unsupported = "unsupported", NO;
    /// The database failed, or the stored rows do not fit. The error contains the reason, for the operator.
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
            /// Whether a retry of the same operation as a whole may succeed.
            pub fn is_retryable(&self) -> bool {
                self.code().is_retryable()
            }
        }
    )*};
}

answers!(BreakError, DatabaseError, Error, LeaseError, LeaseLost, ListError, LockError, SweepError, TakeOverError);

impl DatabaseError {
    /// The code of this error.
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
            DatabaseError::DiskFull(_) => ErrorCode::DiskFull,
            DatabaseError::FileLost { .. } => ErrorCode::FileLost,
            DatabaseError::NoRandomness
            | DatabaseError::NotPermitted(_)
            | DatabaseError::GuardLimit { .. }
            | DatabaseError::Schema(_)
            | DatabaseError::Constraint(_)
            | DatabaseError::Mapping(_)
            | DatabaseError::Other(_) => ErrorCode::Failed,
        }
    }
}

impl NoLock {
    /// The code of this error.
    pub fn code(&self) -> ErrorCode {
        match self.why {
            LeaseLossReason::Unknown => ErrorCode::LockUnknown,
            LeaseLossReason::Expired { .. } => ErrorCode::LockExpired,
            LeaseLossReason::IdleLimitReached { .. } => ErrorCode::LockIdle,
            LeaseLossReason::LimitReached { .. } => ErrorCode::LockHeldTooLong,
            LeaseLossReason::Released { .. } => ErrorCode::LockReleased,
            LeaseLossReason::Broken { .. } => ErrorCode::LockBroken,
            LeaseLossReason::TakenOver { .. } => ErrorCode::LockTakenOver,
            LeaseLossReason::NotYours => ErrorCode::LockNotYours,
            LeaseLossReason::OtherAggregate => ErrorCode::LockOfAnother,
        }
    }
}

impl Error {
    /// The code of this error. A version that a person saw never becomes current again, so a
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
        Limit::LocksPerOwner => ErrorCode::LimitReached,
    }
}

impl LockError {
    /// The code of this error.
    pub fn code(&self) -> ErrorCode {
        match self {
            LockError::AlreadyLocked(_) => ErrorCode::AlreadyLocked,
            LockError::LockingFailed { .. } => ErrorCode::LockingFailed,
            LockError::LockTimeout { .. } => ErrorCode::LockTimeout,
            LockError::LockIdUsed(no_lock) => no_lock.code(),
            LockError::LimitReached { limit, .. } => of_limit(*limit),
            LockError::InvalidKey { .. } => ErrorCode::InvalidKey,
            LockError::InvalidOwner(_) => ErrorCode::InvalidOwner,
            LockError::Database(error) => error.code(),
        }
    }
}

impl LeaseError {
    /// The code of this error.
    pub fn code(&self) -> ErrorCode {
        match self {
            LeaseError::NoLock(no_lock) => no_lock.code(),
            LeaseError::Database(error) => error.code(),
        }
    }
}

impl LeaseLost {
    /// The code of this error. A lease that was not confirmed in time counts as expired.
    pub fn code(&self) -> ErrorCode {
        match self {
            LeaseLost::Ended(no_lock) => no_lock.code(),
            LeaseLost::Unconfirmed { .. } => ErrorCode::LockExpired,
        }
    }
}

impl BreakError {
    /// The code of this error.
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
    /// The code of this error.
    pub fn code(&self) -> ErrorCode {
        match self {
            TakeOverError::HolderChanged { .. } => ErrorCode::HolderChanged,
            TakeOverError::NotPermitted(_) => ErrorCode::TakeOverNotPermitted,
            TakeOverError::NoReason => ErrorCode::NoReason,
            TakeOverError::ReasonTooLong => ErrorCode::TextTooLong,
            TakeOverError::ReasonNotPlain => ErrorCode::TextNotPlain,
            TakeOverError::InvalidOwner(_) => ErrorCode::InvalidOwner,
            TakeOverError::Advisory { .. } => ErrorCode::AdvisoryLock,
            TakeOverError::LimitReached { limit, .. } => of_limit(*limit),
            TakeOverError::LockIdUsed(no_lock) => no_lock.code(),
            TakeOverError::Database(error) => error.code(),
        }
    }
}

impl ListError {
    /// The code of this error.
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
    /// The code of this error.
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

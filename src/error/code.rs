//! The one table of errors: the name of each cause, whether and when a retry may succeed, and what to say. Telemetry, retries and the web
//! kit read it. Each error enum is mapped onto it variant by variant, so a new variant does not compile without a code.

use std::fmt;

use super::{BreakError, DatabaseError, Error, LeaseError, LeaseLost, ListError, LockError, SweepError, TakeOverError};
use crate::lease::limits::Limit;
use crate::lease::{InvalidReason, LeaseLossReason, NoLock};

/// Whether, and when, a retry of the same operation as a whole may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Repeat {
    /// It would fail in the same way, or might do the work twice.
    Never,
    /// Only after somebody else has finished, or when the caller agrees to wait longer.
    Later,
    /// The cause is gone after a new load: [`Database::retry`](crate::Database::retry) repeats it.
    AtOnce,
}

use Repeat::{AtOnce, Later, Never};

/// What an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// The request: it was refused.
    Refused,
    /// The presented lock id: it holds no lease.
    Lost,
    /// The database. Its own message may name tables and files, so others get this text instead.
    Failed(&'static str),
}

use Class::{Failed, Lost, Refused};

const BUSY: &str = "The database could not do it just now. Nothing was changed; try again in a moment.";
const LOGGED: &str = "Nothing was changed. The reason is in the server's log.";

struct Row {
    name: &'static str,
    class: Class,
    repeat: Repeat,
    title: &'static str,
    next: &'static [&'static str],
}

macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $name:literal, $class:expr, $repeat:ident, $title:literal, $next:expr;)*) => {
        /// The kind of an error, without the object that it is about: a stable name for programs, whether a retry may succeed, and the words
        /// for a person. Every error of this crate has one (`code()`), and every variant of [`DatabaseError`] its own, so a function over
        /// all codes covers all errors. `tenure-web` maps each code to an HTTP status in this way; spans and metrics have it as `outcome`.
        ///
        /// It is not `non_exhaustive`: a `match` on it has to decide again when a release adds a code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $code,)*
        }

        impl ErrorCode {
            /// All of them.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$code,)*];

            const fn row(self) -> Row {
                match self {
                    $(ErrorCode::$code => {
                        Row { name: $name, class: $class, repeat: $repeat, title: $title, next: &$next }
                    })*
                }
            }
        }
    };
}

codes! {
    // code = name, class, repeat, title, next steps;
    /// There is no such aggregate.
    NotFound = "not-found", Refused, Never, "It is not there", [];
    /// The id is spelled differently from the one that is stored.
    OtherSpelling = "other-spelling", Refused, Never, "It is spelled differently", [];
    /// An aggregate with this id exists already.
    AlreadyExists = "already-exists", Refused, Never, "It is there already", [];
    /// It was changed after the caller read it.
    VersionConflict = "version-conflict", Refused, Never, "It was changed by somebody else", ["reload"];
    /// Another session saved it at the same moment.
    LostRace = "lost-race", Refused, AtOnce, "Somebody else saved it at the same moment", ["retry", "reload"];
    /// The version belongs to another aggregate.
    ForeignVersion = "foreign-version", Refused, Never, "The version belongs to something else", ["reload"];
    /// The command of a change is not plain text.
    InvalidCommand = "invalid-command", Refused, Never, "The name of the change cannot be written", [];
    /// Another owner holds the lock.
    AlreadyLocked = "already-locked", Refused, Later, "Somebody is editing it", ["wait"];
    /// Another session acquired the lock at the same moment.
    LockingFailed = "locking-failed", Refused, AtOnce, "Somebody else locked it at the same moment", ["retry"];
    /// The lock did not become free within the wait. Its holder is a person; the server is not overloaded.
    LockTimeout = "lock-timeout", Refused, Later, "It did not become free in time", ["wait"];
    /// One owner holds as many locks as the quota allows.
    LimitReached = "limit-reached", Refused, Later, "A limit is reached", [];
    /// The wait exceeds the longest allowed one.
    WaitTooLong = "wait-too-long", Refused, Never, "Nobody waits for so long", [];
    /// The lock key is invalid.
    InvalidKey = "invalid-key", Refused, Never, "There is no such thing to lock", [];
    /// The lock owner is invalid.
    InvalidOwner = "invalid-owner", Refused, Never, "Nobody can be called that", [];
    /// No lease has this lock id.
    LockUnknown = "lock-unknown", Lost, Never, "There is no such lock", ["lock-again"];
    /// No heartbeat arrived in time.
    LockExpired = "lock-expired", Lost, Never, "The lock has expired", ["lock-again"];
    /// The owner did nothing in the form for longer than the idle limit.
    LockIdle = "lock-idle", Lost, Never, "The lock ran out because nobody did anything", ["lock-again"];
    /// The lease reached its absolute limit.
    LockHeldTooLong = "lock-held-too-long", Lost, Never, "The lock was held for as long as it may be", ["lock-again"];
    /// The lease was released.
    LockReleased = "lock-released", Lost, Never, "The lock was released", ["lock-again"];
    /// The lease was broken.
    LockBroken = "lock-broken", Lost, Never, "Somebody ended the lock", ["lock-again"];
    /// The lease was taken over.
    LockTakenOver = "lock-taken-over", Lost, Never, "The lock was taken over", ["lock-again"];
    /// The lease belongs to another owner.
    LockNotYours = "lock-not-yours", Lost, Never, "The lock belongs to somebody else", ["lock-again"];
    /// The lease is on another aggregate.
    LockOfAnother = "lock-of-another", Lost, Never, "The lock is one of something else", ["lock-again"];
    /// The holder changed after the caller read it.
    HolderChanged = "holder-changed", Refused, Never, "Somebody else has the lock now", ["reload"];
    /// Taking over from this holder is not permitted.
    TakeOverNotPermitted = "take-over-not-permitted", Refused, Never, "It may not be taken over", ["wait"];
    /// The holder must get a reason.
    NoReason = "no-reason", Refused, Never, "Give a reason", [];
    /// A reason is too long.
    TextTooLong = "text-too-long", Refused, Never, "The text is too long", [];
    /// A reason contains control characters.
    TextNotPlain = "text-not-plain", Refused, Never, "The text is not one plain line", [];
    /// The lock is advisory and excludes nobody.
    AdvisoryLock = "advisory-lock", Refused, Never, "The lock keeps nobody out", [];
    /// The page size is out of range.
    PageSize = "page-size", Refused, Never, "There is no page of that size", [];
    /// The cursor belongs to another list.
    ForeignCursor = "foreign-cursor", Refused, Never, "The place is one in another list", [];
    /// The filter text is invalid.
    InvalidFilter = "invalid-filter", Refused, Never, "Nothing can be called that", [];
    /// A value is too long for its column, out of range, or has a character that cannot be stored.
    DoesNotFit = "does-not-fit", Refused, Never, "A value does not fit", [];
    /// The rows to sweep are too young: they may still be needed.
    TooYoung = "too-young", Refused, Never, "It is too young to be swept", [];
    /// Another transaction held the row for longer than the caller's wait. Nothing was changed.
    RowLockTimeout = "row-lock-timeout", Failed(BUSY), Later, "Try again", ["retry"];
    /// Two transactions waited for each other. Nothing was changed.
    Deadlock = "deadlock", Failed(BUSY), AtOnce, "Try again", ["retry"];
    /// The database could not serialize the transaction with others. Nothing was changed.
    SerializationFailure = "serialization-failure", Failed(BUSY), AtOnce, "Try again", ["retry"];
    /// No connection became free in time. Nothing was changed.
    Busy = "busy", Failed(BUSY), AtOnce, "Try again", ["retry"];
    /// The connection broke before the commit. Nothing was changed.
    ConnectionLost = "connection-lost", Failed(BUSY), AtOnce, "Try again", ["retry"];
    /// An operation of the transaction was dropped before it was complete. Nothing was changed.
    Cancelled = "cancelled", Failed(BUSY), AtOnce, "Try again", ["retry"];
    /// The database cannot be opened or reached.
    Unreachable = "unreachable", Failed(BUSY), Never, "Try again", ["retry"];
    /// The database can only be read.
    ReadOnly = "read-only", Failed(BUSY), AtOnce, "Try again", ["retry"];
    /// The database has no space left.
    DiskFull = "disk-full",
        Failed("Nothing was saved. The operator of the server has to make space."), Never,
        "The database has no space left", ["retry"];
    /// The database file is not the one that was opened.
    FileLost = "file-lost",
        Failed("Nothing was changed, and nothing can be until the server was looked after."), Never,
        "The database has stopped", [];
    /// The answer to an operation on a lock was lost: it was executed or not. The same request with the same lock id may be sent again.
    OutcomeUnknown = "outcome-unknown",
        Failed("The database's answer was lost on the way. The same request may be sent again."), AtOnce,
        "Nobody knows whether it was done", ["retry"];
    /// A child's row was changed without raising the version of its aggregate.
    ChildGone = "child-gone",
        Failed("Nothing was changed. Load it again."), AtOnce,
        "It was changed by something else", ["retry", "reload"];
    /// The application's own statement ended the transaction.
    // Statements before the one that ended it may be stored.
    TransactionEnded = "transaction-ended",
        Failed("The reason is in the server's log. Load it again to see how it is now."), Never,
        "Something went wrong", ["retry"];
    /// This program closed the database.
    Closed = "closed", Failed(BUSY), Never, "Try again", ["retry"];
    /// It is unknown whether the transaction was committed.
    CommitUnknown = "commit-unknown",
        Failed("The database's answer was lost on the way. Load it again to see whether it was saved."), Never,
        "Nobody knows whether it was saved", ["reload"];
    /// This database, or this build, cannot do it.
    Unsupported = "unsupported",
        Failed("The database of this server cannot do it. Nothing was changed."), Never,
        "This cannot be done here", [];
    /// The operating system has no random bytes. The error contains the reason, for the operator.
    NoRandomness = "no-randomness", Failed(LOGGED), Never, "Something went wrong", ["retry"];
    /// The database user, or this process, lacks a permission. The error contains the reason, for the operator.
    NotPermitted = "not-permitted", Failed(LOGGED), Never, "Something went wrong", ["retry"];
    /// The transaction held a lease for longer than its limit. The error contains the reason, for the operator.
    GuardLimit = "guard-limit", Failed(LOGGED), Never, "Something went wrong", ["retry"];
    /// The tables do not fit this release, or the settings of the server could lose locks. The error contains the reason, for the operator.
    Schema = "schema", Failed(LOGGED), Never, "Something went wrong", ["retry"];
    /// A constraint of the table refused the row. The error contains the reason, for the operator.
    Constraint = "constraint", Failed(LOGGED), Never, "Something went wrong", ["retry"];
    /// The database left a row as it was, and reported no error: a trigger, a policy or a view. The error contains the table, for the operator.
    NotWritten = "not-written", Failed(LOGGED), Never, "Something went wrong", [];
    /// The stored rows do not fit the mapping. The error contains the reason, for the operator.
    Mapping = "mapping", Failed(LOGGED), Never, "Something went wrong", ["retry"];
    /// Any other error of the database. The error contains the reason, for the operator.
    Failed = "failed", Failed(LOGGED), Never, "Something went wrong", ["retry"];
}

impl ErrorCode {
    /// Its stable name, such as `already-locked`.
    pub const fn as_str(self) -> &'static str {
        self.row().name
    }

    /// Whether, and when, a retry of the same operation as a whole may succeed.
    pub const fn repeat(self) -> Repeat {
        self.row().repeat
    }

    /// Whether a retry of the same operation as a whole may succeed, at once or later.
    pub const fn is_retryable(self) -> bool {
        !matches!(self.repeat(), Never)
    }

    /// A title for a person, in English.
    pub const fn title(self) -> &'static str {
        self.row().title
    }

    /// What the person can do next, in the order of the buttons: `lock-again`, `wait`, `retry`, `reload`.
    pub const fn next_steps(self) -> &'static [&'static str] {
        self.row().next
    }

    /// For an error of the database, the text for a person. The error's own may name tables and files, and is for the operator. `None` if
    /// the error's own may be shown.
    pub const fn public_text(self) -> Option<&'static str> {
        match self.row().class {
            Failed(text) => Some(text),
            Refused | Lost => None,
        }
    }

    /// What metrics count it as.
    #[cfg(any(feature = "opentelemetry", test))]
    pub(crate) const fn class(self) -> Class {
        self.row().class
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Any error with a code.
pub(crate) trait Coded {
    fn code(&self) -> ErrorCode;

    /// The lease that it lost.
    fn lost(&self) -> Option<&NoLock> {
        None
    }
}

macro_rules! coded {
    ($($error:ident $(lost $no_lock:ident)?),*) => {$(
        impl $error {
            /// Whether a retry of the same operation as a whole may succeed.
            pub fn is_retryable(&self) -> bool {
                self.code().is_retryable()
            }
        }

        impl Coded for $error {
            fn code(&self) -> ErrorCode {
                self.code()
            }

            $(fn lost(&self) -> Option<&NoLock> {
                if let $error::NoLock($no_lock) = self { Some($no_lock) } else { None }
            })?
        }
    )*};
}

coded!(
    BreakError,
    DatabaseError,
    Error lost no_lock,
    LeaseError lost no_lock,
    LeaseLost,
    ListError,
    LockError,
    SweepError,
    TakeOverError
);

impl Coded for NoLock {
    fn code(&self) -> ErrorCode {
        self.code()
    }

    fn lost(&self) -> Option<&NoLock> {
        Some(self)
    }
}

impl DatabaseError {
    /// The code of this error.
    pub fn code(&self) -> ErrorCode {
        match self {
            DatabaseError::LockTimeout { .. } => ErrorCode::RowLockTimeout,
            DatabaseError::Deadlock => ErrorCode::Deadlock,
            DatabaseError::SerializationFailure => ErrorCode::SerializationFailure,
            DatabaseError::Busy(_) => ErrorCode::Busy,
            DatabaseError::ConnectionLost(_) => ErrorCode::ConnectionLost,
            DatabaseError::Cancelled => ErrorCode::Cancelled,
            DatabaseError::OutcomeUnknown(_) => ErrorCode::OutcomeUnknown,
            DatabaseError::ChildGone { .. } => ErrorCode::ChildGone,
            DatabaseError::TransactionEnded(_) => ErrorCode::TransactionEnded,
            DatabaseError::Closed => ErrorCode::Closed,
            DatabaseError::Poisoned(first) => first.code(),
            DatabaseError::CommitUnknown(_) => ErrorCode::CommitUnknown,
            DatabaseError::Unsupported(_) => ErrorCode::Unsupported,
            DatabaseError::Unreachable { .. } => ErrorCode::Unreachable,
            DatabaseError::ReadOnly => ErrorCode::ReadOnly,
            DatabaseError::DiskFull(_) => ErrorCode::DiskFull,
            DatabaseError::FileLost { .. } => ErrorCode::FileLost,
            DatabaseError::NoRandomness => ErrorCode::NoRandomness,
            DatabaseError::NotPermitted(_) => ErrorCode::NotPermitted,
            DatabaseError::GuardLimit { .. } => ErrorCode::GuardLimit,
            DatabaseError::Schema(_) => ErrorCode::Schema,
            DatabaseError::Constraint(_) => ErrorCode::Constraint,
            DatabaseError::DoesNotFit(_) => ErrorCode::DoesNotFit,
            DatabaseError::NotWritten { .. } => ErrorCode::NotWritten,
            DatabaseError::Mapping(_) => ErrorCode::Mapping,
            DatabaseError::Other(_) => ErrorCode::Failed,
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
    /// [`VersionConflict`](Error::VersionConflict) is not retryable, and a lost race is. One that was deleted meanwhile is not found, by both.
    pub fn code(&self) -> ErrorCode {
        match self {
            Error::NotFound { .. } => ErrorCode::NotFound,
            Error::OtherSpelling { .. } => ErrorCode::OtherSpelling,
            Error::AlreadyExists { .. } => ErrorCode::AlreadyExists,
            // No retry brings it back.
            Error::VersionConflict(conflict) | Error::OptimisticLockingFailure(conflict)
                if conflict.actual.is_none() =>
            {
                ErrorCode::NotFound
            }
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

impl InvalidReason {
    fn code(self) -> ErrorCode {
        match self {
            InvalidReason::Empty => ErrorCode::NoReason,
            InvalidReason::TooLong => ErrorCode::TextTooLong,
            InvalidReason::NotPlain => ErrorCode::TextNotPlain,
        }
    }
}

impl BreakError {
    /// The code of this error.
    pub fn code(&self) -> ErrorCode {
        match self {
            BreakError::HolderChanged { .. } => ErrorCode::HolderChanged,
            BreakError::InvalidReason(reason) => reason.code(),
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
            TakeOverError::InvalidReason(reason) => reason.code(),
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

    #[test]
    fn a_person_reads_a_title_and_of_the_database_only_what_is_public() {
        for (code, title, text) in
            [(ErrorCode::AlreadyLocked, "Somebody is editing it", None), (ErrorCode::Deadlock, "Try again", Some(BUSY))]
        {
            assert_eq!((code.title(), code.public_text()), (title, text), "{code}");
        }
    }
}

//! One enum per question.
//!
#![doc = include_str!("questions.md")]

mod code;
mod constraint;
mod locks;
mod maintenance;
mod people;
mod several;

use std::sync::Arc;
use std::time::Duration;

use crate::aggregate::mapping::MappingError;
use crate::lease::{Holder, InvalidOwner, NoLock, Printable};
use crate::version::conflict::VersionConflict;

pub use code::ErrorCode;
pub use constraint::{ConstraintKind, ConstraintViolation};
pub use locks::{BreakError, LeaseError, LeaseLost, LockError};
pub use maintenance::{ListError, SweepError};
pub use people::{AnswerError, RequestError, TakeOverError};
pub use several::LeaseSetError;

/// What the database did not do, and what to do about it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// Somebody else was in the way for longer than the caller would wait. Nothing was changed.
    #[error("waited {} ms for a lock that {} holds; try again, or wait longer", waited.as_millis(),
            holder.as_deref().unwrap_or("somebody else"))]
    LockTimeout {
        /// How long the wait was.
        waited: Duration,
        /// Who was in the way, where the database can tell: what their transaction was for, or their connection.
        holder: Option<String>,
    },
    /// Two transactions waited for each other, and this one was chosen to give way. Nothing of it was kept.
    #[error("two transactions waited for each other, and this one gave way; run it again as a whole")]
    Deadlock,
    /// The database could not order this transaction among others. Nothing of it was kept.
    #[error("the database could not order this transaction among others; run it again as a whole")]
    SerializationFailure,
    /// Everything that could do it is in use: no connection became free in time, or too many callers wait already. Nothing was
    /// sent.
    #[error("{0}; try again in a moment, or allow more connections")]
    Busy(&'static str),
    /// The connection broke, or no answer came in time, before the COMMIT was sent. Nothing of the transaction was kept.
    #[error("the connection to the database was lost: {0}; run the transaction again as a whole")]
    ConnectionLost(String),
    /// The answer to an operation that commits by itself was lost: taking, keeping, releasing, breaking a lock. It was done or
    /// it was not. To repeat it with the same lock id is safe: a lease that was granted is granted again as the same one. A
    /// lease whose lock id nobody has runs out by itself.
    #[error(
        "the answer of the database was lost: {0}; whether it was done is not known; ask again with the same lock id"
    )]
    OutcomeUnknown(String),
    /// An operation of the transaction was dropped before it was done, by a timeout or a request that ended. Nothing of the
    /// transaction is kept.
    #[error("an operation of the transaction was dropped before it was done; await it, or run all of it again")]
    Cancelled,
    /// [`Database::close`](crate::Database::close) was called, on this or on a clone of it.
    #[error("the database was closed; connect again")]
    Closed,
    /// The operating system has no random bytes. Nothing was sent.
    #[error("the operating system has no randomness; check that `getrandom` or /dev/urandom works here")]
    NoRandomness,
    /// The database's user lacks a right.
    #[error("the database refused this user a right: {0}; grant it, or connect as another user")]
    NotPermitted(String),
    /// An earlier statement of this transaction failed, so nothing of it can be committed any more.
    #[error("the transaction had failed before: {0}; roll it back and run it again as a whole")]
    Poisoned(Box<DatabaseError>),
    /// The application's own statement ended the transaction, through the connection that it had in its hands
    /// ([`Transaction::sqlite`](crate::Transaction), `postgres`, `mysql`): a `COMMIT` or `ROLLBACK`, or an error of it that rolls
    /// everything back, which was swallowed. It is noticed by the next operation and by the commit, before they write anything.
    /// What is true of that which was saved before, the text says; on SQLite nothing of it is stored.
    #[error(
        "the application's own statement ended the transaction: {0}; leave its end to `commit` and `rollback`, and load \
             again what it was about"
    )]
    TransactionEnded(&'static str),
    /// The answer to COMMIT was lost: the changes are either all there or not at all. Load again to see.
    #[error("the answer to the commit was lost: {0}; load the aggregate again to see whether it was saved")]
    CommitUnknown(String),
    /// This database, or this build, cannot do it.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The database could not be opened or reached.
    #[error("cannot open the database {url}: {problem}")]
    Unreachable {
        /// Which database, without a password.
        url: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The database can be read, but not written.
    #[error("the database is read-only; give this user the right to write to the file and its directory")]
    ReadOnly,
    /// The file of the database was moved, deleted or replaced while it was open, so others may be using another file by its name.
    /// Nothing more is granted or saved until it is connected again.
    #[error(
        "the database file {file} was {happened} while it was open; nothing more is granted or saved: see which file is the right \
             one, and start again"
    )]
    FileLost {
        /// Its path.
        file: String,
        /// What was noticed.
        happened: &'static str,
    },
    /// The tables were made by another release.
    #[error("the schema of the database does not fit this release: {0}")]
    Schema(String),
    /// A rule of the table itself refused the row: which one, and its name.
    #[error("a rule of the table refused the change: {0}")]
    Constraint(Box<ConstraintViolation>),
    /// A row of a child was changed or deleted without the version of its aggregate being raised, say by a statement of
    /// the application's own. Nothing of the transaction can be committed. On a fresh load the same work may succeed.
    #[error(
        "a row of `{table}` that was loaded is not there any more, though the version of its aggregate is the same: \
             something changes these rows and does not raise the version; load the aggregate again"
    )]
    ChildGone {
        /// The table of the child.
        table: String,
    },
    /// What is stored does not fit the mapping.
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// Anything else the driver reports. The transaction it happened in is poisoned.
    #[error("the database failed: {0}")]
    Other(Arc<dyn std::error::Error + Send + Sync>),
}

impl DatabaseError {
    /// A failure of something else that the application relies upon. An error of sqlx is converted by `?`, which finds out what it
    /// means: use this for others.
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        DatabaseError::Other(Arc::from(error.into()))
    }

    /// What the loss of a connection means to those whose statement commits by itself and was sent already.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) fn after_sending(self) -> Self {
        match self {
            DatabaseError::ConnectionLost(what) | DatabaseError::CommitUnknown(what) => {
                DatabaseError::OutcomeUnknown(what)
            }
            error => error,
        }
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn is_lock_timeout(&self) -> bool {
        matches!(self, DatabaseError::LockTimeout { .. })
    }
}

/// Why a transaction, or a step of it, did not do what it was asked.
///
/// ```
/// use tenure::Error;
///
/// /// What a person is told. Every error has a text of its own that says what to do.
/// fn told(error: &Error) -> String {
///     match error {
///         Error::VersionConflict(conflict) => format!("{conflict}"), // with author, time and fields: compare
///         Error::AlreadyLocked(holder) => format!("{} is editing it.", holder.owner.name),
///         Error::NoLock(no_lock) => format!("Your lock has ended: {no_lock}"),
///         error if error.is_retryable() => "Nothing was saved. Try again.".into(),
///         error => format!("{} ({error})", error.code()), // `code` is the same for ever: for logs and programs
///     }
/// }
/// # let _ = told;
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such aggregate.
    #[error("there is no {} {}; it was never there, or it was deleted", Printable(aggregate), Printable(id))]
    NotFound {
        /// Its type.
        aggregate: String,
        /// Its id.
        id: String,
    },
    /// The id is spelled differently from the one that is stored, though the column's collation takes both for one. Nothing
    /// was done: a spelling of its own would have versions and locks of its own.
    #[error(
        "there is no {aggregate} {id:?}, but there is one that is stored as {stored:?}; use the id exactly as it is stored"
    )]
    OtherSpelling {
        /// Its type.
        aggregate: String,
        /// The id that was asked for.
        id: String,
        /// The id as it is stored.
        stored: String,
    },
    /// There is one already with this id.
    #[error(
        "there is already a {} {}; choose another id, or load and change that one",
        Printable(aggregate),
        Printable(id)
    )]
    AlreadyExists {
        /// Its type.
        aggregate: String,
        /// Its id.
        id: String,
    },
    /// It was changed since the person who sends this saw it. Nothing was saved; the conflict tells who changed what.
    #[error(transparent)]
    VersionConflict(Box<VersionConflict>),
    /// The version that came along belongs to another aggregate. Nothing was looked at.
    #[error(
        "the version that came along is not one of {} {}; load that one again, and send its own",
        Printable(aggregate),
        Printable(id)
    )]
    VersionTokenMismatch {
        /// The type of the aggregate that was to be changed.
        aggregate: String,
        /// Its id.
        id: String,
    },
    /// Somebody else saved it at the same moment, between this transaction's load and save. Nothing was saved.
    #[error("lost the race at the same moment: {0}")]
    OptimisticLockingFailure(Box<VersionConflict>),
    /// Somebody holds an offline lock on it.
    #[error("{} is being edited by {}; wait until it is free, or ask", .0.key, .0.owner)]
    AlreadyLocked(Box<Holder>),
    /// The offline lock that the save relied upon is gone. Nothing was saved.
    #[error(transparent)]
    NoLock(Box<NoLock>),
    /// Nobody can be such an owner: who makes the change. Nothing was asked of the database.
    #[error(transparent)]
    InvalidOwner(#[from] InvalidOwner),
    /// What the change is said to be for is not one plain line. Nothing was asked of the database.
    #[error("the command has line breaks or other control characters in its name; give it in one line")]
    InvalidCommand,
    /// No lock has such a key, so no save can hold or respect one. Nothing was asked of the database.
    #[error("no lock can have the key `{}`: {problem}", Printable(key))]
    InvalidKey {
        /// The key, cut to a readable length.
        key: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl Error {
    /// Whether somebody else's change is the reason: true of a version conflict and of a lost race.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Error::VersionConflict(_) | Error::OptimisticLockingFailure(_))
    }
}

impl From<LeaseError> for Error {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::NoLock(no_lock) => Error::NoLock(Box::new(no_lock)),
            LeaseError::Database(error) => Error::Database(error),
        }
    }
}

impl From<MappingError> for Error {
    fn from(error: MappingError) -> Self {
        Error::Database(error.into())
    }
}

/// Why an update did not happen: the domain refused it, or the transaction failed. There is no third case, so it is not
/// `non_exhaustive`.
#[derive(Debug, Clone, thiserror::Error)]
pub enum UpdateError<E> {
    /// The domain's own refusal, untouched. Nothing was saved.
    #[error("{0}")]
    Refused(E),
    /// The transaction's. Nothing was saved, unless the outcome is said to be unknown.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl<E> UpdateError<E> {
    /// Whether the same update may succeed when it is run again: never after the domain's refusal.
    pub fn is_retryable(&self) -> bool {
        matches!(self, UpdateError::Failed(error) if error.is_retryable())
    }
}

impl<E> From<DatabaseError> for UpdateError<E> {
    fn from(error: DatabaseError) -> Self {
        UpdateError::Failed(error.into())
    }
}

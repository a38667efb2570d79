//! One error enum per question.
//!
#![doc = include_str!("questions.md")]

mod code;
mod constraint;
mod locks;
mod maintenance;

use std::sync::Arc;
use std::time::Duration;

use crate::aggregate::mapping::MappingError;
use crate::lease::{Holder, InvalidOwner, NoLock, Printable};
use crate::version::conflict::VersionConflict;

#[cfg(feature = "opentelemetry")]
pub(crate) use code::Class;
pub(crate) use code::Coded;
pub use code::{ErrorCode, Repeat};
pub use constraint::{ConstraintKind, ConstraintViolation, DoesNotFit};
pub use locks::{BreakError, LeaseError, LeaseLost, LockError, TakeOverError};
pub use maintenance::{ListError, SweepError};

/// A failure of the database, and what to do about it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// Another transaction held the row for longer than the caller's wait. Nothing was changed.
    #[error("waited {} ms for a lock that {} holds; try again, or wait longer", waited.as_millis(),
            holder.as_deref().unwrap_or("another session"))]
    LockTimeout {
        /// The length of the wait.
        waited: Duration,
        /// The holder, where the database reports it: the label of its transaction, or its connection.
        holder: Option<String>,
    },
    /// Two transactions waited for each other, and the database aborted this one. Nothing of it was stored.
    #[error("deadlock: two transactions waited for each other, and this one was rolled back; run it again as a whole")]
    Deadlock,
    /// The database could not serialize this transaction with others. Nothing of it was stored.
    #[error("the database could not serialize this transaction with others; run it again as a whole")]
    SerializationFailure,
    /// Every connection is in use and none became free in time, or the queue of callers is full. Nothing was sent.
    #[error("{0}; try again in a moment, or allow more connections")]
    Busy(&'static str),
    /// The connection broke, or timed out, before the COMMIT was sent. Nothing of the transaction was stored.
    #[error("the connection to the database was lost: {0}; run the transaction again as a whole")]
    ConnectionLost(String),
    /// The answer to an operation that commits by itself was lost: acquiring, keeping, releasing or breaking a lease. The operation was
    /// executed or not. It is safe to repeat it with the same lock id: a lease that was granted is returned again. If no caller knows its
    /// lock id, the lease expires.
    #[error(
        "the answer of the database was lost: {0}; the outcome is unknown; repeat the request with the same lock id"
    )]
    OutcomeUnknown(String),
    /// An operation of the transaction was dropped before it was complete, by a timeout or because the request ended. Nothing of the
    /// transaction is stored.
    #[error(
        "an operation of the transaction was dropped before it was complete; await it, or run the transaction again as a whole"
    )]
    Cancelled,
    /// [`Database::close`](crate::Database::close) was called, on this or on a clone of it.
    #[error("the database was closed; connect again")]
    Closed,
    /// The operating system has no random bytes. Nothing was sent.
    #[error("the operating system has no randomness; check that `getrandom` or /dev/urandom works here")]
    NoRandomness,
    /// The database user lacks a permission; or this process may not write to the file of SQLite.
    #[error("the database user lacks a permission: {0}; grant it, or connect as another user")]
    NotPermitted(String),
    /// The transaction held a lease, or kept others from acquiring it, for longer than the limit, and was rolled back. On a server its session
    /// was ended, so a statement of the application that ran at that moment failed with a lost connection.
    #[error(
        "the transaction held a lease for longer than `ConnectOptions::guarded_transaction` allows ({} ms) and was rolled back; a long \
             job holds its lease with `LockManager::hold`, and saves in short transactions",
        limit.as_millis()
    )]
    GuardLimit {
        /// The limit.
        limit: Duration,
    },
    /// An earlier statement of this transaction failed, so it cannot be committed any more.
    #[error("the transaction had failed before: {0}; roll it back and run it again as a whole")]
    Poisoned(Box<DatabaseError>),
    /// The application's own statement ended the transaction, on the connection from [`Transaction::sqlite`](crate::Transaction),
    /// `postgres` or `mysql`: a `COMMIT` or `ROLLBACK`, or a swallowed error that rolled everything back. The next operation and the commit
    /// detect it before they write. The text says what happened to the earlier changes; on SQLite none of them is stored.
    #[error(
        "the application's own statement ended the transaction: {0}; end it by `commit` or `rollback` only, and load \
             its aggregates again"
    )]
    TransactionEnded(&'static str),
    /// The answer to COMMIT was lost: all of the changes are stored, or none. Load the aggregate again to see.
    #[error("the answer to the commit was lost: {0}; load the aggregate again to see whether it was saved")]
    CommitUnknown(String),
    /// This database, or this build, cannot do it.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The database could not be opened or reached.
    #[error("cannot open the database {url}: {problem}")]
    Unreachable {
        /// The URL, without a password.
        url: String,
        /// The problem, and what to do.
        problem: String,
    },
    /// The address led to a server that can be read, but not written: a standby or a replica. Nothing of the transaction was stored. Its
    /// connection was closed, and the next one may reach the writer.
    #[error("the server is read-only, as a standby or a replica is; run the transaction again as a whole")]
    ReadOnly,
    /// The disk, a quota or a table is full. Nothing of the transaction was stored.
    #[error("the database has no space left: {0}; free disk space or raise the limit, and run it again as a whole")]
    DiskFull(String),
    /// The database file, or one of the two beside it (`-wal`, `-shm`), was moved, deleted or replaced while it was open, so other programs
    /// may have opened another file under its name; or the process released its own locks on it. Every grant and save fails until the
    /// process starts again.
    #[error(
        "the database file {file} was {happened} while it was open; every grant and save fails: find the right file, and \
             start again; `docs/databases.md`, \"The file\", says what must not be done to it"
    )]
    FileLost {
        /// Its path.
        file: String,
        /// The detected change.
        happened: &'static str,
    },
    /// Another release created the tables.
    #[error("the schema of the database does not fit this release: {0}")]
    Schema(String),
    /// A constraint of the table refused the row.
    #[error("a constraint of the table refused the change: {0}")]
    Constraint(Box<ConstraintViolation>),
    /// A value does not fit its column: it is too long, out of range, or has a character that cannot be stored. Somebody typed it, or a
    /// program computed it; the database works.
    #[error("{0}; nothing was saved")]
    DoesNotFit(Box<DoesNotFit>),
    /// A child's row was changed or deleted without raising the version of its aggregate, for instance by the application's own statement.
    /// The transaction cannot be committed. After a new load the same work may succeed.
    #[error(
        "a loaded row of `{table}` does not exist any more, though the version of its aggregate is the same: \
             another statement changes these rows and does not raise the version; load the aggregate again"
    )]
    ChildGone {
        /// The table of the child.
        table: String,
    },
    /// The database left a row as it was, and reported no error: the row is there, at the expected version, or a new one is not there. The
    /// transaction cannot be committed, and a retry does not help.
    #[error(
        "the database did not write a row of `{table}`, and reported no error, though nobody else has changed it: look for a trigger \
             or a rule that drops the change, a row security policy that lets this user read the row and not write it, or a view"
    )]
    NotWritten {
        /// The table.
        table: String,
    },
    /// The stored rows do not fit the mapping.
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// Any other error of the driver. Its transaction is poisoned.
    #[error("the database failed: {0}")]
    Other(Arc<dyn std::error::Error + Send + Sync>),
}

impl DatabaseError {
    /// A failure of another component that the application depends on. Do not use it for errors of sqlx: `?` converts and classifies those.
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        DatabaseError::Other(Arc::from(error.into()))
    }

    /// The meaning of a lost connection for a statement that commits by itself and was already sent.
    #[cfg(feature = "mysql")]
    pub(crate) fn after_sending(self) -> Self {
        match self {
            DatabaseError::ConnectionLost(what) | DatabaseError::CommitUnknown(what) => {
                DatabaseError::OutcomeUnknown(what)
            }
            error => error,
        }
    }

    /// With the table that it is about.
    pub(crate) fn in_table(mut self, name: &str) -> Self {
        if let DatabaseError::DoesNotFit(misfit) = &mut self {
            misfit.table.get_or_insert_with(|| name.to_owned());
        }
        self
    }

    /// Whether a row with this key exists already.
    pub(crate) fn is_duplicate(&self) -> bool {
        matches!(self, DatabaseError::Constraint(violation) if violation.kind == ConstraintKind::Unique)
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn is_lock_timeout(&self) -> bool {
        matches!(self, DatabaseError::LockTimeout { .. })
    }
}

/// The reason that a transaction, or a step of it, failed.
///
/// ```
/// use tenure::Error;
///
/// /// The text for a person. Every error has a text that says what to do.
/// fn text_for(error: &Error) -> String {
///     match error {
///         Error::VersionConflict(conflict) => format!("{conflict}"), // with author, time and fields: compare
///         Error::AlreadyLocked(holder) => format!("{} is editing it.", holder.owner.name),
///         Error::NoLock(no_lock) => format!("Your lock has ended: {no_lock}"),
///         error if error.is_retryable() => "Nothing was saved. Try again.".into(),
///         error => format!("{} ({error})", error.code()), // `code` is stable: for logs and programs
///     }
/// }
/// # let _ = text_for;
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such aggregate.
    #[error("there is no {} {}: it never existed, or it was deleted", Printable(aggregate), Printable(id))]
    NotFound {
        /// Its type.
        aggregate: String,
        /// Its id.
        id: String,
    },
    /// The id is spelled differently from the stored one, though the column's collation treats both as equal. Nothing was done: another
    /// spelling would have its own versions and locks.
    #[error(
        "there is no {aggregate} {id:?}, but there is one that is stored as {stored:?}; use the id exactly as it is stored"
    )]
    OtherSpelling {
        /// Its type.
        aggregate: String,
        /// The requested id.
        id: String,
        /// The stored id.
        stored: String,
    },
    /// An aggregate with this id exists already.
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
    /// It was changed after the sender read it. Nothing was saved; the conflict contains the changes and their authors.
    #[error(transparent)]
    VersionConflict(Box<VersionConflict>),
    /// The presented version token belongs to another aggregate. Nothing was read.
    #[error(
        "the version token does not belong to {} {}; load that aggregate again, and send its token",
        Printable(aggregate),
        Printable(id)
    )]
    VersionTokenMismatch {
        /// The type of the aggregate to change.
        aggregate: String,
        /// Its id.
        id: String,
    },
    /// Another session saved it at the same moment, between this transaction's load and save. Nothing was saved.
    #[error("lost the race at the same moment: {0}")]
    OptimisticLockingFailure(Box<VersionConflict>),
    /// Another owner holds an offline lock on it.
    #[error("{} is being edited by {}; wait until it is free", .0.key, .0.owner)]
    AlreadyLocked(Box<Holder>),
    /// The offline lock that the save requires is not held any more. Nothing was saved.
    #[error(transparent)]
    NoLock(Box<NoLock>),
    /// The author of the change is not a valid owner. Nothing was sent to the database.
    #[error(transparent)]
    InvalidOwner(#[from] InvalidOwner),
    /// The command of the change is not one plain line. Nothing was sent to the database.
    #[error("the command has line breaks or other control characters in its name; give it in one line")]
    InvalidCommand,
    /// The lock key is invalid, so no save can hold or respect such a lock. Nothing was sent to the database.
    #[error("invalid lock key `{}`: {problem}", Printable(key))]
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
    /// Whether a change by another session is the reason: true for a version conflict and for a lost race.
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

/// The reason that an update did not happen: the domain refused it, or the transaction failed. There is no third case, so it is not
/// `non_exhaustive`.
#[derive(Debug, Clone, thiserror::Error)]
pub enum UpdateError<E> {
    /// The domain's own error, unchanged. Nothing was saved.
    #[error("{0}")]
    Refused(E),
    /// The transaction failed. Nothing was saved, unless the error says that the outcome is unknown.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl<E> UpdateError<E> {
    /// Whether the same update may succeed on a retry: never after the domain refused it.
    pub fn is_retryable(&self) -> bool {
        matches!(self, UpdateError::Failed(error) if error.is_retryable())
    }
}

impl<E> From<DatabaseError> for UpdateError<E> {
    fn from(error: DatabaseError) -> Self {
        UpdateError::Failed(error.into())
    }
}

#[cfg(test)]
mod tests;

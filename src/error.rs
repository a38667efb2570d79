//! One enum per question. Each variant has one cause, one HTTP status, and says whether trying again can help.
//!
//! | question | enum |
//! |---|---|
//! | may I have the lock? | [`LockError`] |
//! | is my lease still good? | [`LeaseError`] |
//! | are all leases of my set still good? | [`SetError`] |
//! | may I end this lease? | [`BreakError`] |
//! | may I take this lease over? | [`TakeOverError`] |
//! | may I ask for it? | [`RequestError`] |
//! | may I answer whoever asks, or hand it over? | [`AnswerError`] |
//! | may I see this page of a list? | [`ListError`] |
//! | may this be swept? | [`SweepError`] |
//! | did my transaction do it? | [`Error`] |
//! | did my command run, and was it saved? | [`UpdateError`] |
//!
//! A domain refusal ("already shipped") is the caller's own type and passes through [`UpdateError::Refused`] untouched.

mod locks;
mod maintenance;
mod people;
mod several;

use std::sync::Arc;
use std::time::Duration;

use crate::conflict::VersionConflict;
use crate::lease::{Holder, NoLock};
use crate::mapping::MappingError;

pub use locks::{BreakError, LeaseError, LockError};
pub use maintenance::{ListError, SweepError};
pub use people::{AnswerError, RequestError, TakeOverError};
pub use several::SetError;

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
    /// There was no connection to be had.
    #[error("{0}; try again in a moment, or allow more connections")]
    Busy(&'static str),
    /// The connection broke. Nothing of the transaction was kept.
    #[error("the connection to the database was lost: {0}; run the transaction again as a whole")]
    ConnectionLost(String),
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
    /// This database cannot do it.
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
    /// The tables were made by another release.
    #[error("the schema of the database does not fit this release: {0}")]
    Schema(String),
    /// A rule of the table itself refused the row.
    #[error("a rule of the table refused the change: {0}")]
    Constraint(String),
    /// What is stored does not fit the mapping.
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// Anything else the driver reports. The transaction it happened in is poisoned.
    #[error("the database failed: {0}")]
    Other(Arc<dyn std::error::Error + Send + Sync>),
}

impl DatabaseError {
    /// A failure of the application's own statement, say in a step of [`Update::also`](crate::Update::also).
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        DatabaseError::Other(Arc::from(error.into()))
    }

    /// Whether the same work, done again as a whole, may succeed.
    pub fn is_retryable(&self) -> bool {
        match self {
            DatabaseError::LockTimeout { .. }
            | DatabaseError::Deadlock
            | DatabaseError::SerializationFailure
            | DatabaseError::Busy(_)
            | DatabaseError::ConnectionLost(_) => true,
            DatabaseError::Poisoned(first) => first.is_retryable(),
            _ => false,
        }
    }

    /// The HTTP status that says it.
    pub fn status(&self) -> u16 {
        match self {
            DatabaseError::LockTimeout { .. }
            | DatabaseError::Deadlock
            | DatabaseError::SerializationFailure
            | DatabaseError::Busy(_)
            | DatabaseError::ConnectionLost(_)
            | DatabaseError::Unreachable { .. }
            | DatabaseError::ReadOnly => 503,
            DatabaseError::Unsupported(_) => 501,
            DatabaseError::Poisoned(first) => first.status(),
            _ => 500,
        }
    }
}

/// Why a transaction, or a step of it, did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such aggregate.
    #[error("there is no {aggregate} {id}; it was never there, or it was deleted")]
    NotFound {
        /// Its type.
        aggregate: String,
        /// Its id.
        id: String,
    },
    /// There is one already with this id.
    #[error("there is already a {aggregate} {id}; choose another id, or load and change that one")]
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
    #[error("the version that came along is not one of {aggregate} {id}; load that one again, and send its own")]
    ForeignVersionToken {
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
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl Error {
    /// Whether somebody else's change is the reason: true of a version conflict and of a lost race.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Error::VersionConflict(_) | Error::OptimisticLockingFailure(_))
    }

    /// Whether the same work, done again as a whole on a fresh load, may succeed. A version that a person saw never
    /// becomes current again, so a [`VersionConflict`](Error::VersionConflict) is not retryable.
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::OptimisticLockingFailure(_) | Error::AlreadyLocked(_) => true,
            Error::Database(error) => error.is_retryable(),
            _ => false,
        }
    }

    /// The HTTP status that says it.
    pub fn status(&self) -> u16 {
        match self {
            Error::NotFound { .. } => 404,
            Error::ForeignVersionToken { .. } => 400,
            Error::AlreadyExists { .. } | Error::VersionConflict(_) | Error::OptimisticLockingFailure(_) => 409,
            Error::AlreadyLocked(_) => 423,
            Error::NoLock(_) => 410,
            Error::Database(error) => error.status(),
        }
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

/// Why an update did not happen: the domain refused it, or the transaction did.
#[derive(Debug, Clone, thiserror::Error)]
pub enum UpdateError<E> {
    /// The domain's own refusal, untouched. Nothing was saved.
    #[error("{0}")]
    Refused(E),
    /// The transaction's. Nothing was saved, unless the outcome is said to be unknown.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl<E> From<DatabaseError> for UpdateError<E> {
    fn from(error: DatabaseError) -> Self {
        UpdateError::Failed(error.into())
    }
}

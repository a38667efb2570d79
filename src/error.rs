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

mod code;
mod locks;
mod maintenance;
mod people;
mod several;

use std::sync::Arc;
use std::time::Duration;

use crate::conflict::VersionConflict;
use crate::lease::{Holder, InvalidOwner, NoLock, Printable};
use crate::mapping::MappingError;

pub use code::ErrorCode;
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
}

/// Why a transaction, or a step of it, did not do what it was asked.
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

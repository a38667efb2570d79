//! The interface for SeaORM: its statements run on the connection of an open transaction.
//!
//! SeaORM generates the SQL. Errors of the driver are classified by the same table as for our own statements.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use sea_orm::{DbErr, RuntimeErr};
use sqlx::error::ErrorKind;

use super::own_error;
use crate::error::{DatabaseError, Error};

/// Whether a text of the application may end the transaction. A false positive costs one check.
pub(crate) fn may_end(sql: &str) -> bool {
    let first = sql.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let stays = ["select", "insert", "update", "delete", "replace", "with"];
    sql.trim_end().trim_end_matches(';').contains(';') || !stays.iter().any(|word| first.eq_ignore_ascii_case(word))
}

/// A failed statement: its meaning, and the driver's error.
pub(crate) struct Failure {
    pub meaning: DatabaseError,
    /// `None`: the statement was not run.
    pub driver: Option<Arc<sqlx::Error>>,
}

impl Failure {
    /// `classify` is the backend's error table.
    pub(crate) fn new(error: sqlx::Error, classify: impl FnOnce(Arc<sqlx::Error>) -> DatabaseError) -> Self {
        let driver = Arc::new(error);
        Failure { meaning: classify(Arc::clone(&driver)), driver: Some(driver) }
    }

    /// The driver's error, unchanged, so that SeaORM finds a violated constraint in it; if tenure knows more than the driver, that instead.
    pub(crate) fn into_runtime_error(self) -> RuntimeErr {
        let explained = matches!(self.meaning, DatabaseError::LockTimeout { .. });
        RuntimeErr::SqlxError(match self.driver {
            Some(driver) if !explained => driver,
            driver => Arc::new(Explained { message: self.meaning.to_string(), meaning: self.meaning, driver }.into()),
        })
    }
}

/// An error without one of the driver: the statement was not run.
impl From<DatabaseError> for Failure {
    fn from(meaning: DatabaseError) -> Self {
        Failure { meaning, driver: None }
    }
}

/// An error of tenure on its way through SeaORM.
#[derive(Debug)]
struct Explained {
    meaning: DatabaseError,
    message: String,
    driver: Option<Arc<sqlx::Error>>,
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Explained {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.driver.as_deref().map(|driver| driver as _)
    }
}

impl sqlx::error::DatabaseError for Explained {
    fn message(&self) -> &str {
        &self.message
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        self.driver.as_ref()?.as_database_error()?.code()
    }

    fn as_error(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn std::error::Error + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn std::error::Error + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}

/// Classifies an error of SeaORM by the same table as for tenure's own statements: so a deadlock in a SeaORM statement is
/// [retryable](DatabaseError::is_retryable) too.
impl From<DbErr> for DatabaseError {
    fn from(error: DbErr) -> Self {
        match &error {
            DbErr::Exec(RuntimeErr::SqlxError(driver))
            | DbErr::Query(RuntimeErr::SqlxError(driver))
            | DbErr::Conn(RuntimeErr::SqlxError(driver)) => classify(driver),
            _ => DatabaseError::Other(Arc::new(error)),
        }
    }
}

impl From<DbErr> for Error {
    fn from(error: DbErr) -> Self {
        Error::Database(error.into())
    }
}

fn classify(error: &Arc<sqlx::Error>) -> DatabaseError {
    let reported = error.as_database_error();
    if let Some(explained) = reported.and_then(|error| error.try_downcast_ref::<Explained>()) {
        return explained.meaning.clone();
    }
    own_error::meaning(Arc::clone(error))
}

//! What PostgreSQL's error codes mean. Codes: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.

use std::sync::Arc;
use std::time::Duration;

use crate::error::DatabaseError;

/// The meaning of a driver error. Every one of them leaves the transaction it happened in aborted or gone.
pub(super) fn classify(error: sqlx::Error) -> DatabaseError {
    if let sqlx::Error::PoolTimedOut = error {
        return DatabaseError::Busy("no connection of the pool became free in time");
    }
    let Some(code) = error.as_database_error().and_then(|error| error.code()) else {
        return match error {
            sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => {
                DatabaseError::ConnectionLost(error.to_string())
            }
            error => DatabaseError::Other(Arc::new(error)),
        };
    };
    match code.as_ref() {
        // The message is localised, and the same code is used for NOWAIT: the caller knows what was asked.
        "55P03" => DatabaseError::LockTimeout { waited: Duration::ZERO, holder: None },
        "40P01" => DatabaseError::Deadlock,
        "40001" => DatabaseError::SerializationFailure,
        "25006" => DatabaseError::ReadOnly,
        "53300" => DatabaseError::Busy("the server has no connection left"),
        "42501" => DatabaseError::NotPermitted(error.to_string()),
        "57P01" | "57P02" | "57P03" => DatabaseError::ConnectionLost(error.to_string()),
        code if code.starts_with("23") => DatabaseError::Constraint(error.to_string()),
        code if code.starts_with("08") => DatabaseError::ConnectionLost(error.to_string()),
        _ => DatabaseError::Other(Arc::new(error)),
    }
}

/// Whether a row with this key is there already.
pub(super) fn is_duplicate(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.is_unique_violation())
}

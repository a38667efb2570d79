//! The meaning of PostgreSQL's error codes. Codes: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgDatabaseError;

use crate::error::{ConstraintKind, ConstraintViolation, DatabaseError};
use crate::storage::Effect;

/// The meaning of a driver error. After every one of them the transaction is aborted or gone.
pub(in crate::storage) fn classify(error: impl Into<Arc<sqlx::Error>>) -> DatabaseError {
    let error = error.into();
    if let sqlx::Error::PoolTimedOut = *error {
        return DatabaseError::Busy("no connection of the pool became free in time");
    }
    let Some(code) = error.as_database_error().and_then(|error| error.code()) else {
        return match *error {
            sqlx::Error::PoolClosed => DatabaseError::Closed,
            sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => {
                DatabaseError::ConnectionLost(error.to_string())
            }
            _ => DatabaseError::Other(error),
        };
    };
    match code.as_ref() {
        // The message is localised, and NOWAIT has the same code: the caller knows the statement.
        "55P03" => DatabaseError::LockTimeout { waited: Duration::ZERO, holder: None },
        "40P01" => DatabaseError::Deadlock,
        "40001" => DatabaseError::SerializationFailure,
        "25006" => DatabaseError::ReadOnly,
        "53300" => DatabaseError::Busy("the server has no connection left"),
        "42501" => DatabaseError::NotPermitted(error.to_string()),
        "57P01" | "57P02" | "57P03" => DatabaseError::ConnectionLost(error.to_string()),
        // The server closed the session, and rolled back the transaction.
        "25P03" => DatabaseError::ConnectionLost(format!("{error}: {}", crate::storage::IDLE_TOO_LONG)),
        "25P04" => DatabaseError::ConnectionLost(format!("{error} (`transaction_timeout` of the server)")),
        code if code.starts_with("23") => DatabaseError::Constraint(Box::new(violation(&error, code))),
        code if code.starts_with("08") => DatabaseError::ConnectionLost(error.to_string()),
        _ => DatabaseError::Other(error),
    }
}

/// The violated constraint. The server sends the names separately from the message, so its language does not matter.
fn violation(error: &sqlx::Error, code: &str) -> ConstraintViolation {
    let refused = error.as_database_error().and_then(|error| error.try_downcast_ref::<PgDatabaseError>());
    let (kind, name) = match code {
        "23502" => (ConstraintKind::NotNull, refused.and_then(PgDatabaseError::column)),
        "23503" => (ConstraintKind::ForeignKey, refused.and_then(PgDatabaseError::constraint)),
        "23505" => (ConstraintKind::Unique, refused.and_then(PgDatabaseError::constraint)),
        "23514" => (ConstraintKind::Check, refused.and_then(PgDatabaseError::constraint)),
        "23P01" => (ConstraintKind::Exclusion, refused.and_then(PgDatabaseError::constraint)),
        _ => (ConstraintKind::Other, refused.and_then(PgDatabaseError::constraint)),
    };
    ConstraintViolation { kind, name: name.map(str::to_owned), message: error.to_string() }
}

/// The effect of a driver error on its transaction.
pub(super) fn effect(error: &sqlx::Error) -> Effect {
    error.as_database_error().and_then(|error| error.code()).map_or(Effect::Unknown, |code| effect_of(&code))
}

/// Every error aborts the transaction; the end of a session rolls it back. At COMMIT, a shutdown may come before or after the commit.
fn effect_of(code: &str) -> Effect {
    match code {
        "57P01" | "57P02" | "57P03" => Effect::Unknown,
        code if code.starts_with("08") => Effect::Unknown,
        // idle_in_transaction_session_timeout, transaction_timeout.
        "25P03" | "25P04" => Effect::Gone,
        _ => Effect::Aborted,
    }
}

/// Whether the statement was cancelled.
pub(super) fn is_cancelled(error: &DatabaseError) -> bool {
    let DatabaseError::Other(error) = error else { return false };
    let error = error.downcast_ref::<sqlx::Error>().and_then(sqlx::Error::as_database_error);
    error.and_then(|error| error.code()).is_some_and(|code| code == "57014")
}

/// Fails unless the transaction has its original isolation level.
pub(super) fn read_committed(isolation: &str) -> Result<(), DatabaseError> {
    match isolation {
        "read committed" => Ok(()),
        other => Err(DatabaseError::Schema(format!(
            "transactions run at {other} although READ COMMITTED was set; a proxy may be in between: connect to the server \
             itself"
        ))),
    }
}

/// Whether it is the division by zero by which a commit checks its transaction.
pub(super) fn is_not_ours(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "22012")
}

/// Whether a row with this key exists already.
pub(super) fn is_duplicate(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.is_unique_violation())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_aborts_and_only_a_lost_response_is_unknown() {
        for code in ["55P03", "40P01", "40001", "57014", "25P02", "23505", "23503", "42501", "22012", "53300"] {
            assert_eq!(effect_of(code), Effect::Aborted, "{code}");
        }
        assert_eq!(effect_of("25P03"), Effect::Gone);
        for code in ["57P01", "57P02", "08006"] {
            assert_eq!(effect_of(code), Effect::Unknown, "{code}");
        }
        assert_eq!(effect(&sqlx::Error::WorkerCrashed), Effect::Unknown);
    }
}

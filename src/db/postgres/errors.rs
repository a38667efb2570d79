//! The meaning of PostgreSQL's error codes. Codes: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgDatabaseError;

use crate::db::Effect;
use crate::db::own_error::{does_not_fit, unreported};
use crate::error::{ConstraintKind, ConstraintViolation, DatabaseError};

/// The meaning of a driver error. After every one of them the transaction is aborted or gone.
pub(crate) fn classify(error: impl Into<Arc<sqlx::Error>>) -> DatabaseError {
    let error = error.into();
    let Some(code) = error.as_database_error().and_then(|error| error.code()) else { return unreported(error) };
    match code.as_ref() {
        // The message is localised, and NOWAIT has the same code: the caller knows the statement.
        "55P03" => DatabaseError::LockTimeout { waited: Duration::ZERO, holder: None },
        "40P01" => DatabaseError::Deadlock,
        "40001" => DatabaseError::SerializationFailure,
        "25006" => DatabaseError::ReadOnly,
        "53300" => DatabaseError::Busy("the server has no connection left"),
        "53100" => DatabaseError::DiskFull(error.to_string()),
        "42501" => DatabaseError::NotPermitted(error.to_string()),
        // The last one is `idle_session_timeout`.
        "57P01" | "57P02" | "57P03" | "57P05" => DatabaseError::ConnectionLost(error.to_string()),
        // The server closed the session, and rolled back the transaction.
        "25P03" => DatabaseError::ConnectionLost(format!("{error}: {}", crate::db::IDLE_TOO_LONG)),
        "25P04" => DatabaseError::ConnectionLost(format!("{error} (`transaction_timeout` of the server)")),
        // Text too long; number, date or time out of range; a word that is none of the type; characters that the database cannot store;
        // a row that is larger than a page, or a value that is too long for its index.
        "22001" | "22003" | "22007" | "22008" | "22021" | "22P02" | "22P05" | "54000" => does_not_fit(None, &error),
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
pub(crate) fn effect(error: &sqlx::Error) -> Effect {
    error.as_database_error().and_then(|error| error.code()).map_or(Effect::Unknown, |code| effect_of(&code))
}

/// Every error aborts the transaction; the end of a session rolls it back. At COMMIT, a shutdown may come before or after the commit.
fn effect_of(code: &str) -> Effect {
    match code {
        "57P01" | "57P02" | "57P03" | "57P05" => Effect::Unknown,
        code if code.starts_with("08") => Effect::Unknown,
        // idle_in_transaction_session_timeout, transaction_timeout.
        "25P03" | "25P04" => Effect::Gone,
        _ => Effect::Aborted,
    }
}

/// Whether the statement was cancelled.
pub(crate) fn is_cancelled(error: &DatabaseError) -> bool {
    let DatabaseError::Other(error) = error else { return false };
    let error = error.downcast_ref::<sqlx::Error>().and_then(sqlx::Error::as_database_error);
    error.and_then(|error| error.code()).is_some_and(|code| code == "57014")
}

/// Fails unless the transaction has its original isolation level.
pub(crate) fn read_committed(isolation: &str) -> Result<(), DatabaseError> {
    match isolation {
        "read committed" => Ok(()),
        other => Err(DatabaseError::Schema(format!(
            "transactions run at {other} although READ COMMITTED was set; a proxy may be in between: connect to the server \
             itself"
        ))),
    }
}

/// Whether it is the division by zero by which a commit checks its transaction.
pub(crate) fn is_not_ours(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "22012")
}

#[cfg(test)]
mod tests {
    use sqlx::postgres::{PgConnectOptions, PgSslMode};
    use sqlx::{Connection, PgConnection};

    use super::*;
    use crate::db::server::refusing::{refused, variant};

    /// The driver's error for this answer of a server; `names` are further fields of the answer.
    async fn reported(code: &str, names: &str) -> sqlx::Error {
        let fields = format!("SERROR\0VERROR\0C{code}\0Mit was refused\0{names}\0");
        let length = u32::try_from(4 + fields.len()).expect("a short message").to_be_bytes();
        let message = [&b"E"[..], &length, fields.as_bytes()].concat();
        let options =
            PgConnectOptions::new_without_pgpass().host("127.0.0.1").username("u").ssl_mode(PgSslMode::Disable);
        refused(message, async |port| PgConnection::connect_with(&options.port(port)).await).await
    }

    #[tokio::test]
    async fn each_code_has_its_meaning() {
        for (codes, meaning) in [
            (&["55P03"][..], "LockTimeout"),
            (&["40P01"], "Deadlock"),
            (&["40001"], "SerializationFailure"),
            (&["25006"], "ReadOnly"),
            (&["53300"], "Busy"),
            (&["53100"], "DiskFull"),
            (&["42501"], "NotPermitted"),
            (&["57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "08006", "08P01"], "ConnectionLost"),
            (&["23502", "23503", "23505", "23514", "23P01", "23000"], "Constraint"),
            (&["22001", "22003", "22007", "22008", "22021", "22P02", "22P05", "54000"], "DoesNotFit"),
            (&["57014", "42601", "22012", "25P02"], "Other"),
        ] {
            for code in codes {
                assert_eq!(variant(&classify(reported(code, "").await)), meaning, "{code}");
            }
        }
        let idle = classify(reported("25P03", "").await).to_string();
        assert!(idle.contains(crate::db::IDLE_TOO_LONG), "{idle}");
        let long = classify(reported("25P04", "").await).to_string();
        assert!(long.contains("`transaction_timeout`"), "{long}");
    }

    #[test]
    fn errors_without_a_code_are_told_apart() {
        for (error, meaning) in [
            (sqlx::Error::PoolTimedOut, "Busy"),
            (sqlx::Error::PoolClosed, "Closed"),
            (sqlx::Error::Io(std::io::ErrorKind::BrokenPipe.into()), "ConnectionLost"),
            (sqlx::Error::Protocol("cut".into()), "ConnectionLost"),
            (sqlx::Error::WorkerCrashed, "ConnectionLost"),
            (sqlx::Error::RowNotFound, "Other"),
        ] {
            assert!(!is_not_ours(&error));
            let error = classify(error);
            assert_eq!((&*variant(&error), is_cancelled(&error)), (meaning, false));
        }
    }

    #[tokio::test]
    async fn violated_constraint_is_named_by_its_fields() {
        use ConstraintKind::{Check, Exclusion, ForeignKey, NotNull, Other, Unique};
        for (code, kind, name) in [
            ("23502", NotNull, "of the column"),
            ("23503", ForeignKey, "of the constraint"),
            ("23505", Unique, "of the constraint"),
            ("23514", Check, "of the constraint"),
            ("23P01", Exclusion, "of the constraint"),
            ("23000", Other, "of the constraint"),
        ] {
            let error = classify(reported(code, "cof the column\0nof the constraint\0").await);
            let DatabaseError::Constraint(violation) = error else { panic!("{error:?}") };
            assert!(violation.is(kind, name) && violation.message.contains("it was refused"), "{code}: {violation:?}");
        }
    }

    #[tokio::test]
    async fn cancellations_duplicates_and_own_checks_are_recognized() {
        for (code, cancelled, duplicate, not_ours) in [
            ("57014", true, false, false),
            ("23505", false, true, false),
            ("22012", false, false, true),
            ("42601", false, false, false),
        ] {
            let error = reported(code, "").await;
            assert_eq!(is_not_ours(&error), not_ours, "{code}");
            let error = classify(error);
            assert_eq!((is_cancelled(&error), error.is_duplicate()), (cancelled, duplicate), "{code}");
        }
        assert_eq!(effect(&reported("25P04", "").await), Effect::Gone);
        assert_eq!(effect(&reported("40001", "").await), Effect::Aborted);
    }

    #[test]
    fn only_read_committed_is_accepted() {
        assert!(read_committed("read committed").is_ok());
        let refused = read_committed("serializable").expect_err("it is another level");
        assert!(refused.to_string().contains("transactions run at serializable"), "{refused}");
    }

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

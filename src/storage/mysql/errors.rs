//! What the error numbers of MariaDB and MySQL mean. (Their SQLSTATEs mean little: a lock timeout is HY000, "general".)
//! Numbers: <https://mariadb.com/kb/en/mariadb-error-codes/> and
//! <https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html>.

use std::sync::Arc;
use std::time::Duration;

use sqlx::mysql::MySqlDatabaseError;

use crate::error::DatabaseError;
use crate::storage::Effect;

/// The server's number of an error, if it was the server's.
pub(super) fn number(error: &sqlx::Error) -> Option<u16> {
    let error = error.as_database_error()?.try_downcast_ref::<MySqlDatabaseError>()?;
    Some(error.number())
}

const ENDED: &str = "what was saved before is stored if that was a COMMIT, or a statement that commits, such as a change of a \
                     table, and it is undone if that was a ROLLBACK or a deadlock; nothing was saved after it";

/// Whether the savepoint of our transactions is not there: the one that it was made in has ended. (The number is the same for
/// a function that does not exist.)
pub(super) fn is_without_savepoint(error: &sqlx::Error) -> bool {
    let says = |error: &dyn sqlx::error::DatabaseError| error.message().starts_with("SAVEPOINT tenure ");
    number(error) == Some(1305) && error.as_database_error().is_some_and(says)
}

/// The meaning of a driver error. After 1213 and 1020 the server has no transaction any more; after the others it is still
/// there, without the statement. Either way the caller rolls back.
pub(super) fn classify(error: impl Into<Arc<sqlx::Error>>) -> DatabaseError {
    let error = error.into();
    if let sqlx::Error::PoolTimedOut = *error {
        return DatabaseError::Busy("no connection of the pool became free in time");
    }
    let Some(number) = number(&error) else {
        return match *error {
            sqlx::Error::PoolClosed => DatabaseError::Closed,
            sqlx::Error::Io(ref error) => DatabaseError::ConnectionLost(error.to_string()),
            sqlx::Error::Protocol(ref what) => DatabaseError::ConnectionLost(what.clone()),
            sqlx::Error::WorkerCrashed => DatabaseError::ConnectionLost(error.to_string()),
            _ => DatabaseError::Other(error),
        };
    };
    match number {
        // MariaDB's NOWAIT and lock wait; MySQL's NOWAIT; MariaDB's limit for the statement, which nobody but us sets.
        1205 | 3572 | 1969 => DatabaseError::LockTimeout { waited: Duration::ZERO, holder: None },
        1213 => DatabaseError::Deadlock,
        1305 if is_without_savepoint(&error) => DatabaseError::TransactionEnded(ENDED),
        // MariaDB's innodb_snapshot_isolation.
        1020 => DatabaseError::SerializationFailure,
        // Duplicates; null or no value; foreign keys; checks (MySQL 3819, MariaDB 4025); what does not fit its column.
        1022 | 1062 | 1169 | 1586 | 1048 | 1364 | 1216 | 1217 | 1451 | 1452 | 1557 | 1761 | 1762 | 3819 | 4025
        | 1264 | 1265 | 1292 | 1366 | 1406 | 1441 | 3140 | 3730 => DatabaseError::Constraint(error.to_string()),
        1290 | 1792 | 1836 => DatabaseError::ReadOnly,
        1044 | 1045 | 1142 | 1143 | 1227 | 1370 => DatabaseError::NotPermitted(error.to_string()),
        1040 | 1203 | 1226 => DatabaseError::Busy("the server has no connection left"),
        // Shut down, killed, or cut off on the way.
        1053 | 1077 | 1079 | 1080 | 1152 | 1158..=1161 | 1184 | 1927 | 2006 | 2013 | 3169 => {
            DatabaseError::ConnectionLost(error.to_string())
        }
        _ => DatabaseError::Other(error),
    }
}

/// What a driver error did to its transaction.
pub(super) fn effect(error: &sqlx::Error) -> Effect {
    number(error).map_or(Effect::Unknown, effect_of)
}

/// A deadlock, a snapshot conflict and a full lock table roll everything back, and the connection is in autocommit again;
/// most others undo their statement only.
fn effect_of(number: u16) -> Effect {
    match number {
        1213 | 1020 | 1206 => Effect::Gone,
        // Killed: before the commit, or after it and before the answer. (1317 is KILL QUERY.) Or cut off on the way.
        1317 | 1053 | 1077 | 1079 | 1080 | 1152 | 1158..=1161 | 1184 | 1927 | 2006 | 2013 | 3169 => Effect::Unknown,
        _ => Effect::StatementUndone,
    }
}

/// The meaning of an error at COMMIT.
pub(super) fn classify_commit(error: sqlx::Error) -> DatabaseError {
    match effect(&error) {
        Effect::Unknown => DatabaseError::CommitUnknown(error.to_string()),
        // The server said no, as Galera does with 1213.
        _ => classify(error),
    }
}

/// Whether somebody was in the way for too long.
pub(super) fn is_timeout(error: &sqlx::Error) -> bool {
    matches!(number(error), Some(1205 | 3572 | 1969))
}

/// Whether a row with this key is there already.
pub(super) fn is_duplicate(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.is_unique_violation())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_undoes_its_statement_and_a_deadlock_everything() {
        for number in [1205, 3572, 1969, 1062, 1451, 1406, 1142] {
            assert_eq!(effect_of(number), Effect::StatementUndone, "{number}");
        }
        for number in [1213, 1020, 1206] {
            assert_eq!(effect_of(number), Effect::Gone, "{number}");
        }
        for number in [1317, 1927, 2013] {
            assert_eq!(effect_of(number), Effect::Unknown, "{number}");
        }
        assert_eq!(effect(&sqlx::Error::WorkerCrashed), Effect::Unknown);
    }
}

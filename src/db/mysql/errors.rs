//! The meaning of the error numbers of MariaDB and MySQL. (Their SQLSTATEs are too general: a lock timeout is HY000.)
//! Numbers: <https://mariadb.com/kb/en/mariadb-error-codes/> and
//! <https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html>.

use std::sync::Arc;
use std::time::Duration;

use sqlx::mysql::MySqlDatabaseError;

use super::deadline::Flavour;
use crate::db::Effect;
use crate::db::own_error::{does_not_fit, unreported};
use crate::error::{ConstraintKind, ConstraintViolation, DatabaseError};

/// The number of a server's error; `None` for other errors.
pub(crate) fn number(error: &sqlx::Error) -> Option<u16> {
    let error = error.as_database_error()?.try_downcast_ref::<MySqlDatabaseError>()?;
    Some(error.number())
}

const ENDED: &str = "what was saved before is stored if that was a COMMIT, or a statement that commits, such as a change of a \
                     table, and it is undone if that was a ROLLBACK or a deadlock; nothing was saved after it";

/// Whether the savepoint of our transactions is missing: its transaction has ended. (A missing function has the same number.)
pub(crate) fn is_without_savepoint(error: &sqlx::Error) -> bool {
    let says = |error: &dyn sqlx::error::DatabaseError| error.message().starts_with("SAVEPOINT tenure ");
    number(error) == Some(1305) && error.as_database_error().is_some_and(says)
}

/// The meaning of a driver error. After 1213 and 1020 the server has no transaction any more; after the others it still exists, without the
/// statement. In both cases the caller rolls back.
pub(crate) fn classify(error: impl Into<Arc<sqlx::Error>>) -> DatabaseError {
    let error = error.into();
    let Some(number) = number(&error) else { return unreported(error) };
    match number {
        // MariaDB's NOWAIT and lock wait; MySQL's NOWAIT; MariaDB's statement limit, which only tenure sets.
        1205 | 3572 | 1969 => DatabaseError::LockTimeout { waited: Duration::ZERO, holder: None },
        1213 => DatabaseError::Deadlock,
        1305 if is_without_savepoint(&error) => DatabaseError::TransactionEnded(ENDED),
        // MariaDB's innodb_snapshot_isolation. Group Replication, when a transaction fails the certification.
        1020 | 3101 => DatabaseError::SerializationFailure,
        WITHOUT_QUORUM => DatabaseError::ConnectionLost(format!("{error}: {ANOTHER_NODE}")),
        // Out of range, a word that is none of the type, no date, characters that the column cannot store, too long; a row that is larger than
        // a page, a statement that is larger than a packet; MySQL's word for characters that the column cannot store.
        1264 | 1265 | 1292 | 1366 | 1406 | 1441 | 1118 | LARGE_PACKET | 3988 => {
            let message = error.as_database_error().map_or("", |error| error.message());
            does_not_fit(column(message), &error)
        }
        // Duplicates; null or no value; foreign keys; checks (MySQL 3819, MariaDB 4025); what is no JSON.
        1022 | 1062 | 1169 | 1586 | 1048 | 1364 | 1216 | 1217 | 1451 | 1452 | 1557 | 1761 | 1762 | 3819 | 4025
        | 3140 | 3730 => DatabaseError::Constraint(Box::new(violation(&error, number))),
        1021 | 1114 => DatabaseError::DiskFull(error.to_string()),
        READ_ONLY_OPTION | READ_ONLY_TRANSACTION | READ_ONLY_MODE => DatabaseError::ReadOnly,
        1044 | 1045 | 1142 | 1143 | 1227 | 1370 => DatabaseError::NotPermitted(error.to_string()),
        1040 | 1203 | 1226 => DatabaseError::Busy("the server has no connection left"),
        CLIENT_TIMED_OUT => DatabaseError::ConnectionLost(format!("{error}: {}", crate::db::IDLE_TOO_LONG)),
        OFFLINE | EXPELLED => DatabaseError::ConnectionLost(format!("{error}: {OPERATOR}")),
        number if is_disconnection(number) => DatabaseError::ConnectionLost(error.to_string()),
        _ => DatabaseError::Other(error),
    }
}

/// The violated constraint. Only the message contains its name, between the quotes that follow these words.
fn violation(error: &sqlx::Error, number: u16) -> ConstraintViolation {
    let message = error.as_database_error().map_or("", |error| error.message());
    let (kind, name) = match number {
        // The duplicate value comes first, and may contain anything. MySQL puts the table before the name of the key.
        1022 | 1062 | 1169 | 1586 | 1761 | 1762 => {
            let key = message.rsplit_once("for key '").and_then(|(_, key)| key.strip_suffix('\''));
            (ConstraintKind::Unique, key.map(|key| key.rsplit_once('.').map_or(key, |(_, key)| key)))
        }
        1048 => (ConstraintKind::NotNull, between(message, "Column '", '\'')),
        1364 => (ConstraintKind::NotNull, between(message, "Field '", '\'')),
        1216 | 1217 | 1451 | 1452 | 1557 | 3730 => (ConstraintKind::ForeignKey, between(message, "CONSTRAINT `", '`')),
        3819 => (ConstraintKind::Check, between(message, "Check constraint '", '\'')),
        4025 => (ConstraintKind::Check, between(message, "CONSTRAINT `", '`')),
        _ => (ConstraintKind::Other, None),
    };
    ConstraintViolation { kind, name: name.map(str::to_owned), message: error.to_string() }
}

/// The column at the end of a message: `for column 'note' at row 1`, or with its table, ``for column `shop`.`orders`.`note` at row 1``.
fn column(message: &str) -> Option<&str> {
    let (_, named) = message.rsplit_once("for column ")?;
    let (named, _) = named.rsplit_once(" at row")?;
    let name = named.rsplit_once('.').map_or(named, |(_, name)| name);
    Some(name.trim_matches(['`', '\'']))
}

fn between<'m>(message: &'m str, before: &str, after: char) -> Option<&'m str> {
    let (_, rest) = message.split_once(before)?;
    rest.split_once(after).map(|(name, _)| name)
}

/// Galera's answer to nearly every statement on a node outside the majority. The node still accepts connections and answers `select 1`.
const WITHOUT_QUORUM: u16 = 1047;

/// MySQL's error on a connection that it has closed, since 8.0.24: the transaction was rolled back.
const CLIENT_TIMED_OUT: u16 = 4031;

/// A statement is larger than `max_allowed_packet`. The server closes the connection.
const LARGE_PACKET: u16 = 1153;

/// MySQL's answer in offline mode, in which it ends the sessions of all users who are not administrators.
const OFFLINE: u16 = 3032;

/// The same, since 9.x, of a member of Group Replication that the others have expelled.
const EXPELLED: u16 = 6400;

const OPERATOR: &str = "this server accepts nobody until an operator sets `offline_mode` to OFF; a member that was expelled must first join \
                        its group again";

/// Whether the server was shut down, the session was killed or disconnected, or the server is in offline mode.
pub(crate) fn is_disconnection(number: u16) -> bool {
    matches!(
        number,
        1053 | 1077 | 1079 | 1080 | 1152 | 1158..=1161 | 1184 | 1927 | 2006 | 2013 | 3169 | OFFLINE | EXPELLED
    )
}

const ANOTHER_NODE: &str = "this node of a cluster has no quorum, so its connection is closed; connect to a node that has, or \
                            bring the others back";

/// Whether the connection is unusable, although the server answered on it.
pub(crate) fn is_useless(error: &sqlx::Error) -> bool {
    is_read_only(error) || matches!(number(error), Some(CLIENT_TIMED_OUT | OFFLINE | EXPELLED))
}

/// Whether the server does not accept writes: it is read-only, or a node without a quorum. A new connection may reach the writer.
pub(crate) fn is_read_only(error: &sqlx::Error) -> bool {
    matches!(number(error), Some(READ_ONLY_OPTION | READ_ONLY_TRANSACTION | READ_ONLY_MODE | WITHOUT_QUORUM))
}

/// `read_only`, also at COMMIT.
const READ_ONLY_OPTION: u16 = 1290;

/// The default of the server's transactions.
const READ_ONLY_TRANSACTION: u16 = 1792;

/// `innodb_read_only`.
const READ_ONLY_MODE: u16 = 1836;

/// A deadlock, a snapshot conflict and a full lock table roll back the whole transaction, and autocommit applies again; most
/// others undo their statement only.
fn effect_of(number: u16) -> Effect {
    match number {
        1213 | 1020 | 1206 | 3101 | CLIENT_TIMED_OUT | LARGE_PACKET => Effect::Gone,
        // The statement is undone, and so is the rest, because the connection is closed.
        READ_ONLY_OPTION | READ_ONLY_TRANSACTION | READ_ONLY_MODE => Effect::Gone,
        // Killed: before the commit, or after it and before the answer. (1317 is KILL QUERY.) Or disconnected.
        1317 | WITHOUT_QUORUM => Effect::Unknown,
        number if is_disconnection(number) => Effect::Unknown,
        _ => Effect::StatementUndone,
    }
}

/// The meaning of an error at COMMIT.
pub(crate) fn classify_commit(error: sqlx::Error, flavour: Flavour) -> DatabaseError {
    match number(&error).map_or(Effect::Unknown, |number| effect_of_commit(number, flavour)) {
        Effect::Unknown => DatabaseError::CommitUnknown(error.to_string()),
        // In Group Replication, MySQL's error for a failed certification.
        Effect::Gone if number(&error) == Some(FAILED_AT_COMMIT) => DatabaseError::SerializationFailure,
        // The server refused, as Galera does with 1213.
        _ => classify(error),
    }
}

/// "Got error … during COMMIT".
const FAILED_AT_COMMIT: u16 = 1180;

/// The effect of an error at COMMIT. It is never limited to one statement.
///
/// A Galera node that loses its quorum during a COMMIT answers 1180, after some seconds, and the other nodes may have committed (measured:
/// 1 of 130 was). In Group Replication the same number is the normal answer to a failed certification; 3100, a failed hook, happens at a
/// failover, before or after the other nodes have received it.
fn effect_of_commit(number: u16, flavour: Flavour) -> Effect {
    match (number, flavour) {
        (FAILED_AT_COMMIT, Flavour::MariaDb) | (3100, _) => Effect::Unknown,
        (FAILED_AT_COMMIT, Flavour::MySql) => Effect::Gone,
        (number, _) => effect_of(number),
    }
}

/// Whether a lock wait exceeded its limit.
pub(crate) fn is_timeout(error: &sqlx::Error) -> bool {
    matches!(number(error), Some(1205 | 3572 | 1969))
}

#[cfg(test)]
mod tests {
    use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
    use sqlx::{Connection, MySqlConnection};

    use super::*;
    use crate::db::server::refusing::{refused, variant};

    /// The driver's error for this answer of a server.
    async fn reported(number: u16, message: &str) -> sqlx::Error {
        let length = u32::try_from(3 + message.len()).expect("a short message").to_le_bytes();
        let mut packet = vec![length[0], length[1], length[2], 0, 0xff];
        packet.extend(number.to_le_bytes());
        packet.extend(message.as_bytes());
        let options = MySqlConnectOptions::new().host("127.0.0.1").ssl_mode(MySqlSslMode::Disabled);
        refused(packet, async |port| MySqlConnection::connect_with(&options.port(port)).await).await
    }

    #[tokio::test]
    async fn each_number_has_its_meaning() {
        for (numbers, meaning) in [
            (&[1205, 3572, 1969][..], "LockTimeout"),
            (&[1213], "Deadlock"),
            (&[1020, 3101], "SerializationFailure"),
            (
                &[1047, 4031, 1053, 1077, 1079, 1080, 1152, 1158, 1161, 1184, 1927, 2006, 2013, 3169, 3032, 6400],
                "ConnectionLost",
            ),
            (&[1022, 1062, 1048, 1364, 1216, 1452, 3819, 4025, 3140, 3730], "Constraint"),
            (&[1264, 1265, 1292, 1366, 1406, 1441, 1118, 1153, 3988], "DoesNotFit"),
            (&[1290, 1792, 1836], "ReadOnly"),
            (&[1044, 1045, 1142, 1143, 1227, 1370], "NotPermitted"),
            (&[1040, 1203, 1226], "Busy"),
            (&[1021, 1114], "DiskFull"),
            (&[1064, 1146, 1305, 1317], "Other"),
        ] {
            for &number in numbers {
                let error = classify(reported(number, "no more is known").await);
                assert_eq!(variant(&error), meaning, "{number}");
            }
        }
        let without_quorum = classify(reported(1047, "WSREP").await).to_string();
        assert!(without_quorum.contains("has no quorum"), "{without_quorum}");
        let expelled = classify(reported(6400, "leave group on failure").await).to_string();
        assert!(expelled.contains("`offline_mode` to OFF"), "{expelled}");
        let idle = classify(reported(4031, "disconnected").await).to_string();
        assert!(idle.contains(crate::db::IDLE_TOO_LONG), "{idle}");
    }

    #[test]
    fn errors_without_a_number_are_told_apart() {
        for (error, meaning) in [
            (sqlx::Error::PoolTimedOut, "Busy"),
            (sqlx::Error::PoolClosed, "Closed"),
            (sqlx::Error::Io(std::io::ErrorKind::BrokenPipe.into()), "ConnectionLost"),
            (sqlx::Error::Protocol("cut".into()), "ConnectionLost"),
            (sqlx::Error::WorkerCrashed, "ConnectionLost"),
            (sqlx::Error::RowNotFound, "Other"),
        ] {
            assert_eq!(number(&error), None);
            assert!(!is_useless(&error) && !is_timeout(&error) && !is_without_savepoint(&error));
            assert_eq!(variant(&classify(error)), meaning);
        }
    }

    #[tokio::test]
    async fn violated_constraint_is_named_by_its_message() {
        use ConstraintKind::{Check, ForeignKey, NotNull, Other, Unique};
        let foreign = "a foreign key constraint fails (`shop`.`line`, CONSTRAINT `line_order` FOREIGN KEY (`no`))";
        for (number, message, kind, name) in [
            (1062, "Duplicate entry 'for key 'x'' for key 'PRIMARY'", Unique, Some("PRIMARY")),
            (1062, "Duplicate entry '7' for key 'orders.one_no'", Unique, Some("one_no")),
            (1062, "Doppelter Eintrag", Unique, None),
            (1048, "Column 'note' cannot be null", NotNull, Some("note")),
            (1364, "Field 'note' doesn't have a default value", NotNull, Some("note")),
            (1452, foreign, ForeignKey, Some("line_order")),
            (3819, "Check constraint 'positive' is violated.", Check, Some("positive")),
            (4025, "CONSTRAINT `positive` failed for `shop`.`line`", Check, Some("positive")),
            (3140, "Invalid JSON text", Other, None),
        ] {
            let error = classify(reported(number, message).await);
            let DatabaseError::Constraint(violation) = error else { panic!("{error:?}") };
            assert_eq!((violation.kind, violation.name.as_deref()), (kind, name), "{message}");
            assert!(violation.message.contains(message), "{violation:?}");
        }
    }

    #[tokio::test]
    async fn column_of_a_value_that_does_not_fit_is_named_by_its_message() {
        for (number, message, named) in [
            (1406, "Data too long for column 'note' at row 1", Some("note")),
            (1366, r"Incorrect string value: 'for column x' for column `shop`.`line`.`note` at row 1", Some("note")),
            (1292, "Truncated incorrect INTEGER value: 'abc'", None),
        ] {
            let error = classify(reported(number, message).await);
            let DatabaseError::DoesNotFit(misfit) = error else { panic!("{error:?}") };
            assert_eq!((misfit.column.as_deref(), &*misfit.problem), (named, message));
        }
    }

    #[tokio::test]
    async fn lost_savepoint_means_an_ended_transaction() {
        let savepoint = || reported(1305, "SAVEPOINT tenure does not exist");
        assert!(is_without_savepoint(&savepoint().await));
        assert_eq!(variant(&classify(savepoint().await)), "TransactionEnded");
        assert!(!is_without_savepoint(&reported(1305, "FUNCTION shop.f does not exist").await));
        assert!(!is_without_savepoint(&reported(1064, "SAVEPOINT tenure does not exist").await));
    }

    #[tokio::test]
    async fn waits_duplicates_and_closed_connections_are_recognized() {
        for (reported_number, timeout, duplicate, useless) in [
            (1205, true, false, false),
            (3572, true, false, false),
            (1969, true, false, false),
            (1062, false, true, false),
            (1047, false, false, true),
            (4031, false, false, true),
            (3032, false, false, true),
            (6400, false, false, true),
            (1290, false, false, true),
            (1792, false, false, true),
            (1836, false, false, true),
            (2013, false, false, false),
        ] {
            let error = reported(reported_number, "no more is known").await;
            assert_eq!(number(&error), Some(reported_number));
            assert_eq!((is_timeout(&error), is_useless(&error)), (timeout, useless));
            assert_eq!(is_read_only(&error), matches!(reported_number, 1047 | 1290 | 1792 | 1836));
            assert_eq!(classify(error).is_duplicate(), duplicate, "{reported_number}");
        }
    }

    #[tokio::test]
    async fn refused_commit_is_known_and_another_unknown() {
        use Flavour::{MariaDb, MySql};
        for (number, flavour, meaning) in [
            (1213, MariaDb, "Deadlock"),
            (1180, MySql, "SerializationFailure"),
            (3101, MySql, "SerializationFailure"),
            (4031, MySql, "ConnectionLost"),
            (1205, MariaDb, "LockTimeout"),
            (1180, MariaDb, "CommitUnknown"),
            (3100, MySql, "CommitUnknown"),
            (1317, MariaDb, "CommitUnknown"),
            (1160, MariaDb, "CommitUnknown"),
        ] {
            let error = classify_commit(reported(number, "no more is known").await, flavour);
            assert_eq!(variant(&error), meaning, "{number} {flavour:?}");
        }
    }

    #[test]
    fn a_timeout_undoes_its_statement_and_a_deadlock_everything() {
        for number in [1205, 3572, 1969, 1062, 1451, 1406, 1142] {
            assert_eq!(effect_of(number), Effect::StatementUndone, "{number}");
        }
        for number in [1213, 1020, 1206, 3101, 1290, 1792, 1836] {
            assert_eq!(effect_of(number), Effect::Gone, "{number}");
        }
        for number in [1317, 1927, 2013, WITHOUT_QUORUM, OFFLINE, EXPELLED] {
            assert_eq!(effect_of(number), Effect::Unknown, "{number}");
        }
        let lost = classify_commit(sqlx::Error::WorkerCrashed, Flavour::MariaDb);
        assert!(matches!(lost, DatabaseError::CommitUnknown(_)), "{lost:?}");
    }

    #[test]
    fn cluster_errors_at_commit_depend_on_the_server() {
        use Flavour::{MariaDb, MySql};
        for (number, flavour) in
            [(1180, MariaDb), (3100, MySql), (3100, MariaDb), (1047, MariaDb), (2013, MySql), (1317, MariaDb)]
        {
            assert_eq!(effect_of_commit(number, flavour), Effect::Unknown, "{number} {flavour:?}");
        }
        for (number, flavour) in [(1180, MySql), (3101, MySql), (1213, MySql), (1213, MariaDb)] {
            assert_eq!(effect_of_commit(number, flavour), Effect::Gone, "{number} {flavour:?}");
        }
    }
}

//! The meaning of SQLite's error codes. Codes: <https://www.sqlite.org/rescode.html>; the low byte is the primary code.

use std::sync::Arc;
use std::time::Duration;

use crate::db::Effect;
use crate::db::own_error::{does_not_fit, unreported};
use crate::error::{ConstraintKind, ConstraintViolation, DatabaseError};

const BUSY: i32 = 5;
const BUSY_SNAPSHOT: i32 = 517;
const LOCKED: i32 = 6;
const NOMEM: i32 = 7;
const READONLY: i32 = 8;
const INTERRUPT: i32 = 9;
const IOERR: i32 = 10;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CANTOPEN: i32 = 14;
const TOOBIG: i32 = 18;
const CONSTRAINT: i32 = 19;
const CONSTRAINT_CHECK: i32 = 275;
const CONSTRAINT_FOREIGNKEY: i32 = 787;
const CONSTRAINT_NOTNULL: i32 = 1299;
const CONSTRAINT_PRIMARYKEY: i32 = 1555;
const CONSTRAINT_UNIQUE: i32 = 2067;
const CONSTRAINT_ROWID: i32 = 2579;
const NOTADB: i32 = 26;

/// The meaning of a driver error.
pub(crate) fn classify(error: impl Into<Arc<sqlx::Error>>) -> DatabaseError {
    let error = error.into();
    let Some(code) = code(&error) else { return unreported(error) };
    match if code == BUSY_SNAPSHOT { code } else { code & 0xff } {
        // A transaction that began with a read wants to write, and another session has written meanwhile.
        BUSY_SNAPSHOT => DatabaseError::SerializationFailure,
        BUSY | LOCKED => DatabaseError::LockTimeout { waited: Duration::ZERO, holder: None },
        // Unlike a server that is read-only, the file stays so: a retry does not help.
        READONLY => DatabaseError::NotPermitted(format!("this process may not write to the database file ({error})")),
        FULL => DatabaseError::DiskFull(error.to_string()),
        TOOBIG => does_not_fit(None, &error),
        CONSTRAINT => DatabaseError::Constraint(Box::new(violation(&error))),
        CANTOPEN => DatabaseError::Other(Arc::new(Hint("unable to open the database file", error))),
        NOTADB => DatabaseError::Other(Arc::new(Hint("the file is not a SQLite database", error))),
        _ => DatabaseError::Other(error),
    }
}

/// The violated constraint. Only the message contains its name: `CHECK constraint failed: positive`.
fn violation(error: &sqlx::Error) -> ConstraintViolation {
    let kind = match code(error) {
        Some(CONSTRAINT_PRIMARYKEY | CONSTRAINT_UNIQUE | CONSTRAINT_ROWID) => ConstraintKind::Unique,
        Some(CONSTRAINT_FOREIGNKEY) => ConstraintKind::ForeignKey,
        Some(CONSTRAINT_CHECK) => ConstraintKind::Check,
        Some(CONSTRAINT_NOTNULL) => ConstraintKind::NotNull,
        _ => ConstraintKind::Other,
    };
    let message = error.as_database_error().map_or("", |error| error.message());
    let name = message.split_once(" constraint failed: ").map(|(_, name)| name.to_owned());
    ConstraintViolation { kind, name: name.filter(|_| kind != ConstraintKind::Other), message: error.to_string() }
}

/// The effect of a driver error on its transaction.
pub(crate) fn effect(error: &sqlx::Error) -> Effect {
    code(error).map_or(Effect::Unknown, |code| effect_of(code & 0xff))
}

/// After some errors SQLite may have rolled back by itself: <https://www.sqlite.org/lang_transaction.html>. An input/output error at COMMIT
/// may have come before or after the flush.
fn effect_of(primary: i32) -> Effect {
    match primary {
        NOMEM | INTERRUPT | FULL => Effect::Gone,
        IOERR | CORRUPT | CANTOPEN | NOTADB => Effect::Unknown,
        _ => Effect::StatementUndone,
    }
}

/// Whether another session held the file for longer than the busy timeout.
pub(crate) fn is_busy(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| code & 0xff == BUSY)
}

fn code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}

/// A driver error in plain words; the driver's own error is its source.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Hint(&'static str, #[source] Arc<sqlx::Error>);

#[cfg(test)]
mod tests {
    use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
    use sqlx::{Connection, SqliteConnection};

    use super::*;

    #[test]
    fn full_disk_ends_the_transaction_a_refused_statement_not() {
        assert_eq!(effect_of(BUSY), Effect::StatementUndone);
        assert_eq!(effect_of(CONSTRAINT), Effect::StatementUndone);
        assert_eq!(effect_of(READONLY), Effect::StatementUndone);
        for primary in [NOMEM, INTERRUPT, FULL] {
            assert_eq!(effect_of(primary), Effect::Gone, "{primary}");
        }
        for primary in [IOERR, CORRUPT, CANTOPEN, NOTADB] {
            assert_eq!(effect_of(primary), Effect::Unknown, "{primary}");
        }
        assert_eq!(effect(&sqlx::Error::WorkerCrashed), Effect::Unknown);
    }

    #[tokio::test]
    async fn value_that_is_too_big_does_not_fit() {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.expect("a database");
        let error = sqlx::raw_sql("select zeroblob(2000000000)").execute(&mut connection).await.expect_err("2 GB");
        let error = classify(error);
        assert!(matches!(&error, DatabaseError::DoesNotFit(why) if why.problem.contains("too big")), "{error:?}");
    }

    #[tokio::test]
    async fn violated_constraint_is_named_where_sqlite_names_it() {
        use ConstraintKind::{Check, ForeignKey, NotNull, Other, Unique};
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.expect("a database");
        let tables = "create table product (no integer primary key, code text unique, stock integer not null
                          constraint positive check (stock > 0));
                      create table line (product_no integer references product (no));
                      create trigger closed before delete on product
                          begin select raise(abort, 'a product constraint failed: it stays'); end;
                      insert into product values (1, 'lens', 3)";
        sqlx::raw_sql(tables).execute(&mut connection).await.expect("tables");
        for (statement, kind, name, duplicate) in [
            ("insert into product values (1, 'bag', 1)", Unique, Some("product.no"), true),
            ("insert into product values (2, 'lens', 1)", Unique, Some("product.code"), true),
            ("insert into product values (2, 'bag', 0)", Check, Some("positive"), false),
            ("insert into product values (2, 'bag', null)", NotNull, Some("product.stock"), false),
            ("insert into line values (7)", ForeignKey, None, false),
            ("delete from product", Other, None, false),
        ] {
            let error = sqlx::raw_sql(statement).execute(&mut connection).await.expect_err(statement);
            assert_eq!(effect(&error), Effect::StatementUndone, "{statement}");
            assert!(!is_busy(&error));
            let error = classify(error);
            assert_eq!(error.is_duplicate(), duplicate, "{statement}");
            let DatabaseError::Constraint(violation) = error else { panic!("{error:?}") };
            assert_eq!((violation.kind, violation.name.as_deref()), (kind, name), "{statement}");
            assert!(violation.message.contains("constraint failed"), "{violation:?}");
        }
        let full = "pragma max_page_count = 1; create table another (text)";
        let full = sqlx::raw_sql(full).execute(&mut connection).await.expect_err("no page is free");
        assert_eq!(effect(&full), Effect::Gone);
        is_lasting(full, "free disk space");
    }

    #[tokio::test]
    async fn unusable_file_says_why_and_is_not_retried() {
        let directory = tempfile::tempdir().expect("a directory");
        let options = |file: &str| SqliteConnectOptions::new().filename(directory.path().join(file));
        let missing = SqliteConnection::connect_with(&options("missing.db")).await.expect_err("no file");
        assert_eq!((is_busy(&missing), effect(&missing)), (false, Effect::Unknown));
        is_lasting(missing, "unable to open the database file");
        std::fs::write(directory.path().join("letter.db"), "a letter, not a database".repeat(100)).expect("a file");
        let mut letter = SqliteConnection::connect_with(&options("letter.db")).await.expect("it is not read yet");
        let other = sqlx::raw_sql("select * from product").execute(&mut letter).await.expect_err("no database");
        is_lasting(other, "the file is not a SQLite database");
        let mut made =
            SqliteConnection::connect_with(&options("shop.db").create_if_missing(true)).await.expect("a file");
        sqlx::raw_sql("create table t (a)").execute(&mut made).await.expect("a table");
        let mut reader = SqliteConnection::connect_with(&options("shop.db").read_only(true)).await.expect("a file");
        let refused = sqlx::raw_sql("insert into t values (1)").execute(&mut reader).await.expect_err("read-only");
        is_lasting(refused, "this process may not write to the database file");
        drop((made, reader));
        // The first page is the schema, the second one is the table.
        let file = directory.path().join("shop.db");
        let mut pages = std::fs::read(&file).expect("the file");
        pages[4096..4196].fill(7);
        std::fs::write(&file, pages).expect("a broken page");
        let mut broken = SqliteConnection::connect_with(&options("shop.db")).await.expect("its schema is read later");
        let corrupt = sqlx::raw_sql("select * from t").fetch_all(&mut broken).await.expect_err("a broken page");
        assert_eq!(code(&corrupt), Some(CORRUPT));
        is_lasting(corrupt, "malformed");
    }

    /// Neither a wait nor a unit of work tries again.
    fn is_lasting(error: sqlx::Error, said: &str) {
        let error = classify(error);
        assert!(!error.is_retryable() && error.to_string().contains(said), "{error:?}");
    }

    #[test]
    fn errors_of_the_pool_are_told_apart() {
        assert!(matches!(classify(sqlx::Error::PoolTimedOut), DatabaseError::Busy(_)));
        assert!(matches!(classify(sqlx::Error::PoolClosed), DatabaseError::Closed));
        assert!(matches!(classify(sqlx::Error::RowNotFound), DatabaseError::Other(_)));
    }

    #[tokio::test]
    async fn stale_snapshot_write_reports_a_retryable_error() {
        let directory = tempfile::tempdir().expect("a directory");
        let url = format!("sqlite://{}/shop.db?mode=rwc", directory.path().display());
        let options: SqliteConnectOptions = url.parse().expect("a URL");
        let options = options.journal_mode(SqliteJournalMode::Wal).busy_timeout(Duration::ZERO);
        let mut reader = SqliteConnection::connect_with(&options).await.expect("a file");
        let mut writer = SqliteConnection::connect_with(&options).await.expect("a file");
        sqlx::raw_sql("create table t (a)").execute(&mut writer).await.expect("a table");
        sqlx::raw_sql("begin; select * from t").execute(&mut reader).await.expect("a snapshot");
        sqlx::raw_sql("begin immediate; insert into t values (1)").execute(&mut writer).await.expect("a row");
        let busy = sqlx::raw_sql("insert into t values (2)").execute(&mut reader).await.expect_err("it is locked");
        assert_eq!((is_busy(&busy), effect(&busy)), (true, Effect::StatementUndone));
        assert!(matches!(classify(busy), DatabaseError::LockTimeout { .. }));
        sqlx::raw_sql("commit").execute(&mut writer).await.expect("it is stored");
        let too_late =
            sqlx::raw_sql("insert into t values (2)").execute(&mut reader).await.expect_err("it is too late");
        assert!(is_busy(&too_late), "it has the same primary code");
        let too_late = classify(too_late);
        assert!(matches!(too_late, DatabaseError::SerializationFailure), "{too_late:?}");
        assert!(too_late.is_retryable());
    }
}

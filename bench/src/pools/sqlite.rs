//! SQLite: one connection that writes, four that read, WAL, every commit flushed.

use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection, SqliteConnection, SqlitePool};
use tokio::sync::Mutex;

use super::PATIENCE;
use crate::Outcome;

/// A database file.
pub(crate) struct File {
    /// First come, first served.
    pub(crate) writer: Mutex<SqliteConnection>,
    pub(crate) readers: SqlitePool,
}

/// Opens the file, and creates it if it is missing.
pub(crate) async fn open(url: &str) -> Outcome<File> {
    let options: SqliteConnectOptions = url.parse()?;
    let options = options
        .create_if_missing(true)
        .foreign_keys(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(5));
    let writer = SqliteConnection::connect_with(&options).await?;
    let readers = SqlitePoolOptions::new()
        .max_connections(4)
        .acquire_timeout(PATIENCE)
        .test_before_acquire(false)
        .connect_lazy_with(options.pragma("query_only", "on"));
    Ok(File { writer: Mutex::new(writer), readers })
}

/// Creates tables.
pub(crate) async fn make(file: &File, tables: &'static str) -> Outcome<()> {
    sqlx::raw_sql(tables).execute(&mut *file.writer.lock().await).await?;
    Ok(())
}

const BALLAST: &str = "
    create table bench_ballast (bytes blob not null);
    begin;
    with recursive number (n) as (select 1 union all select n + 1 from number where n < 1100)
    insert into bench_ballast (bytes) select randomblob(4000) from number;
    commit;
    drop table bench_ballast;
    pragma wal_checkpoint(full)";

/// Grows the log of an open file to the size at which it is reset. While it grows, every flush also has to write its new length, and takes
/// far longer than later.
pub(crate) async fn grow_log(url: &str) -> Outcome<()> {
    let options: SqliteConnectOptions = url.parse()?;
    let mut connection = SqliteConnection::connect_with(&options.busy_timeout(PATIENCE)).await?;
    sqlx::raw_sql(BALLAST).execute(&mut connection).await?;
    Ok(connection.close().await?)
}

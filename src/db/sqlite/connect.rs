//! Opening the file: sets and verifies the settings that keep acknowledged locks, and migrates the schema.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteLockingMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection, Row, SqliteConnection};
use tokio::sync::Mutex;

use super::Sqlite;
use super::connection::Writer;
use super::errors::classify;
use super::file::{self, File};
use crate::db::diagnosis::{Diagnosis, Setting, Transport, Writers};
use crate::db::migration;
use crate::db::migration::Dialect;
use crate::db::{Address, ConnectOptions, Connections};
use crate::error::DatabaseError;

/// Readers besides the one writer. More do not help: they share the page cache, and two of them use a whole core.
const READERS: u32 = 4;

impl Sqlite {
    /// Opens the file, creating it if it is missing, and migrates tenure's own tables.
    pub(crate) async fn open(
        address: Address<'_, SqliteConnectOptions>,
        connect: ConnectOptions,
    ) -> Result<Self, DatabaseError> {
        if connect.after_connect.is_some() {
            return Err(DatabaseError::Unsupported(
                "SQLite has no `ConnectOptions::after_connect`; set pragmas in the driver's options, for `Database::connect_driver`",
            ));
        }
        let url = &match &address {
            Address::Url(url) => (*url).to_owned(),
            Address::Options(options) => format!("sqlite://{}", options.get_filename().display()),
        };
        let unreachable = |problem: String| DatabaseError::Unreachable { url: shown(url), problem };
        if url.contains(":memory:") || url.contains("mode=memory") || url.contains("file:sqlx-in-memory") {
            return Err(unreachable(
                "a database in memory has no second connection for readers; name a file, a temporary one for tests"
                    .into(),
            ));
        }
        let options = match address {
            Address::Url(url) => url.parse().map_err(|error: sqlx::Error| unreachable(error.to_string()))?,
            Address::Options(options) => *options,
        };
        let file = options.get_filename().display().to_string();
        let path = options.get_filename().to_owned();
        let options = options
            // Only the step below creates the file: when the path is opened again later, it must not create another one.
            .create_if_missing(false)
            .foreign_keys(true)
            .journal_mode(SqliteJournalMode::Wal)
            .locking_mode(SqliteLockingMode::Normal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(5))
            // Rows come from the connection's thread. With a short buffer it sleeps and wakes for every few rows.
            .row_buffer_size(1024);
        // A read-only file cannot be created, nor its journal mode set: report that, not "error 8".
        if url.contains("mode=ro") || url.contains("immutable") {
            return Err(unreachable(
                "`mode=ro` and `immutable` open it read-only, and tenure writes to it; remove them".into(),
            ));
        }
        if !url.contains("mode=rw") || url.contains("mode=rwc") {
            // If it cannot be created, the open below fails too, with the reason.
            let _ = file::make(&path);
        }
        if !connect.linked_file {
            file::has_one_path(&path).map_err(unreachable)?;
        }
        let before = File::at(&path).ok();
        let mut writer = SqliteConnection::connect_with(&options).await.map_err(|error| match classify(error) {
            refused @ DatabaseError::NotPermitted(_) => refused,
            error => unreachable(format!(
                "{error}; check that the directory of {file} exists, and that this user may write to it"
            )),
        })?;
        let mut opened =
            before.ok_or_else(|| unreachable(format!("{file} appeared while it was opened; try again")))?;
        opened.check()?;
        let version = verify(&mut writer).await?;
        // A reading transaction holds a lock.
        let reading = sqlx::raw_sql("begin; select 1 from sqlite_schema limit 1");
        reading.execute(&mut writer).await.map_err(classify)?;
        opened.find_side_files()?;
        sqlx::raw_sql("rollback").execute(&mut writer).await.map_err(classify)?;
        let opened = Arc::new(opened);
        migration::is_due(&migrator(), &applied(&mut writer).await?)?;
        // Even if none is due, because it compares the contents of the applied ones.
        let migrated = migrator().run_direct(None, &mut writer, false).await;
        migrated.map_err(|error| migration::failed(error, classify))?;
        // `query_only` rejects a stray write on a connection without transactions.
        let reading = options.clone().pragma("query_only", "on");
        let readers = SqlitePoolOptions::new()
            .max_connections(connect.connections.map_or(READERS, NonZeroU32::get))
            .acquire_timeout(Duration::from_secs(5))
            .test_before_acquire(false)
            .after_connect({
                // The file refers to the pool, so the pool must not own the file.
                let opened = Arc::downgrade(&opened);
                move |_, _| {
                    let checked = opened.upgrade().map_or(Ok(()), |opened| opened.check());
                    Box::pin(async move { checked.map_err(|lost| sqlx::Error::Configuration(lost.into())) })
                }
            })
            .connect_lazy_with(reading);
        opened.closes(&readers);
        Ok(Sqlite {
            writer: Arc::new(Mutex::new(Writer::new(writer, options, Arc::clone(&opened)).await?)),
            readers,
            file: opened,
            clock: connect.clock,
            version,
            count: connect.connections.map_or(READERS, NonZeroU32::get),
        })
    }

    /// A read-only connection to the opened file, within the time of the operation.
    pub(crate) async fn connection(&self) -> Result<PoolConnection<sqlx::Sqlite>, DatabaseError> {
        self.file.check_lately()?;
        super::connection::reader(&self.readers).await
    }
}

/// The maximum number of connections of a process: readers, and the writer.
pub(crate) fn connections(application: u32) -> Connections {
    Connections { application, lock_table: 0, reserve: 0, writer: 1 }
}

/// A URL without its settings, which may contain a mistyped secret.
fn shown(url: &str) -> String {
    url.split_once('?').map_or(url, |(file, _)| file).to_owned()
}

/// Examines a file without changing it.
pub(crate) async fn diagnose(url: &str, connect: ConnectOptions) -> Result<Diagnosis, DatabaseError> {
    let unreachable = |problem: String| DatabaseError::Unreachable { url: shown(url), problem };
    let options: SqliteConnectOptions = url.parse().map_err(|error: sqlx::Error| unreachable(error.to_string()))?;
    let connection = SqliteConnection::connect_with(&options.clone().create_if_missing(false).read_only(true)).await;
    let mut connection = connection.map_err(|error| unreachable(format!("{}; check the path", classify(error))))?;
    let row = sqlx::query("select sqlite_version(), (select journal_mode from pragma_journal_mode)");
    let row = row.fetch_one(&mut connection).await.map_err(classify)?;
    let journal: String = row.get(1);
    let applied = applied(&mut connection).await?;
    let path = file::has_one_path(options.get_filename());
    Ok(Diagnosis {
        capabilities: super::capabilities(row.get(0)),
        transport: Transport::File,
        connections: connections(connect.connections.map_or(READERS, NonZeroU32::get)),
        connections_allowed: None,
        // Synchronous is a setting of the connection, which tenure sets and verifies itself.
        writers: Writers::One,
        settings: vec![
            Setting::new("journal_mode", journal, "wal", "It is set when tenure opens the file."),
            Setting {
                name: "path of the file",
                good: path.is_ok(),
                value: path.map_or_else(|problem| problem, |()| "one".into()),
                wanted: "one",
                risk: "Two programs may be granted the same lock.",
            },
            Setting {
                name: "idle transactions",
                value: "no limit: a process that stops during a save blocks all writers".into(),
                wanted: "any",
                good: true,
                risk: "",
            },
        ],
        clock_ahead_ms: 0,
        applied,
        known: migrator().iter().map(|migration| migration.version).collect(),
    })
}

/// The numbers of the migrations that were applied.
async fn applied(connection: &mut SqliteConnection) -> Result<Vec<i64>, DatabaseError> {
    let ledger = "select exists (select 1 from sqlite_schema where name = '_tenure_migrations')";
    if !sqlx::query_scalar::<_, bool>(ledger).fetch_one(&mut *connection).await.map_err(classify)? {
        return Ok(Vec::new());
    }
    let applied = "select version from _tenure_migrations where success order by version";
    sqlx::query_scalar(applied).fetch_all(connection).await.map_err(classify)
}

/// tenure's tables have their own ledger, separate from the application's migrations.
fn migrator() -> Migrator {
    let mut migrator = sqlx::migrate!("migrations/sqlite");
    migrator.dangerous_set_table_name("_tenure_migrations");
    migrator
}

/// Reads the settings back, and the version of SQLite: a file system without shared memory refuses WAL silently.
async fn verify(connection: &mut SqliteConnection) -> Result<String, DatabaseError> {
    let settings = sqlx::query(
        "select (select journal_mode from pragma_journal_mode), (select synchronous from pragma_synchronous), sqlite_version()",
    )
    .fetch_one(&mut *connection)
    .await
    .map_err(classify)?;
    let (journal_mode, synchronous, version): (String, i64, String) =
        (settings.get(0), settings.get(1), settings.get(2));
    if !is_new_enough(&version) {
        return Err(DatabaseError::Unsupported(
            "this SQLite is too old: 3.51 is the oldest; update the crate libsqlite3-sys",
        ));
    }
    if journal_mode != "wal" || synchronous < 2 {
        return Err(DatabaseError::Schema(format!(
            "journal_mode is {journal_mode} and synchronous is {synchronous}, wanted wal and 2 (FULL): an acknowledged \
             lock could be forgotten; put the file on a local disk"
        )));
    }
    Ok(version)
}

/// SQLite has `jsonb_each` since 3.51. Its rows are read several times as fast as those of `json_each`.
fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(3), Some(51))
}

/// The migrations that are missing, as a script for `sqlite3`.
pub(crate) fn script(applied: &[i64]) -> String {
    migration::script(&migrator(), applied, &DIALECT)
}

const DIALECT: Dialect = Dialect {
    ledger: "create table if not exists _tenure_migrations (version bigint primary key, description text not null,
    installed_on timestamp not null default current_timestamp, success boolean not null,
    checksum blob not null, execution_time bigint not null);\n",
    bytes: ("x'", "'"),
    transaction: ("begin immediate;\n", "\ncommit;\n"),
};

#[cfg(test)]
mod tests {
    #[test]
    fn oldest_sqlite_is_3_51() {
        let is_new_enough = super::is_new_enough;
        assert_eq!(["3.46.1", "3.50.4", "2.8"].map(is_new_enough), [false; 3]);
        assert_eq!(["3.51.0", "3.52", "4.0.0"].map(is_new_enough), [true; 3]);
    }
}

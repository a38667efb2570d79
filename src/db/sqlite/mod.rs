//! SQLite: one writer for the whole file, readers beside it (WAL), every writing transaction `BEGIN IMMEDIATE`.
//!
//! There are no row locks: a writer excludes all other writers, so the transaction itself grants every pessimistic mode, and a wait for a
//! lock is a wait for the writer: first in a fair queue inside this process, then by attempts beside other processes.
//! Durability is `synchronous=FULL`: an acknowledged lock survives a power cut.

pub(crate) mod connect;
pub(crate) mod connection;
pub(crate) mod errors;
pub(crate) mod fence;
pub(crate) mod file;
pub(crate) mod holder;
pub(crate) mod lent;
pub(crate) mod link;
mod live;
#[cfg(feature = "sea-orm")]
pub(crate) mod sea_orm;
pub(crate) mod sheet;
pub(crate) mod side_files;
pub(crate) mod turns;
pub(crate) mod values;

use std::sync::Arc;
use std::time::SystemTime;

use sqlx::SqlitePool;
use tokio::sync::Mutex;

use crate::clock::{ManualClock, to_micros};
use crate::db::capabilities::{Capabilities, Granularity};
use crate::db::migration;
use crate::db::{self, Connection, Purpose};
use crate::db::{Connections, patience};
use crate::error::DatabaseError;
use crate::row_lock::Wait;

pub(crate) use self::Sqlite as Database;
pub(crate) use connect::{diagnose, script};
pub(crate) use connection::OpenTransaction;
use connection::Writer;
use file::File;
pub(crate) use link::Link;
use turns::Priority;

/// A SQLite database file.
#[derive(Debug)]
pub(crate) struct Sqlite {
    pub(crate) writer: Arc<Mutex<Writer>>,
    pub(crate) readers: SqlitePool,
    pub(crate) file: Arc<File>,
    clock: Option<ManualClock>,
    version: String,
    /// The maximum number of readers.
    count: u32,
}

impl Sqlite {
    /// The read-only pool, for the user's own queries.
    pub(crate) fn readers(&self) -> Result<&SqlitePool, DatabaseError> {
        self.file.check()?;
        Ok(&self.readers)
    }

    /// Applies the application's own migrations.
    pub(crate) async fn migrate(&self, migrator: &sqlx::migrate::Migrator) -> Result<(), DatabaseError> {
        let mut writer = Arc::clone(&self.writer).lock_owned().await;
        migrator
            .run_direct(None, writer.connection().await?, false)
            .await
            .map_err(|error| migration::failed(error, errors::classify))
    }

    fn opened(&self, open: OpenTransaction) -> Connection {
        Connection::new(db::Link::Sqlite(Link::Open(open)), self.clock.clone())
    }

    /// Acquires the write lock on the whole file. The wait for it may have been long: who waited in vain is also told that the file was lost.
    async fn write(&self, wait: Wait, priority: Priority) -> Result<OpenTransaction, DatabaseError> {
        let begun = OpenTransaction::immediate(&self.writer, wait, priority).await;
        self.file.check_lately()?;
        begun
    }
}

fn capabilities(version: String) -> Capabilities {
    Capabilities {
        database: format!("SQLite {version}"),
        granularity: Granularity::Database,
        names_blocker: false,
        heartbeats_pass_saves: false,
    }
}

/// SQLite runs inside this process, so its clock is this host's clock; a test may set another.
pub(crate) fn now(clock: Option<&ManualClock>) -> i64 {
    clock.map_or_else(|| to_micros(SystemTime::now()) / 1000, ManualClock::millis)
}

impl Sqlite {
    pub(crate) fn connections(&self) -> Connections {
        connect::connections(self.count)
    }

    pub(crate) fn set_password(&self, _password: &str) -> Result<(), DatabaseError> {
        Err(DatabaseError::Unsupported("this database has no password"))
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        capabilities(self.version.clone())
    }

    pub(crate) async fn begin(&self, wait: Wait, _label: Option<&str>) -> Result<Connection, DatabaseError> {
        Ok(self.opened(self.write(wait, Priority::Normal).await?.fenced()))
    }

    pub(crate) async fn reader(&self) -> Result<Connection, DatabaseError> {
        Ok(Connection::new(db::Link::Sqlite(Link::Reading(self.connection().await?)), self.clock.clone()))
    }

    pub(crate) async fn own_reader(&self) -> Result<Connection, DatabaseError> {
        self.reader().await
    }

    pub(crate) async fn begin_own(&self, purpose: Purpose) -> Result<Connection, DatabaseError> {
        let priority = if purpose.beats { Priority::Heartbeat } else { Priority::Normal };
        Ok(self.opened(self.write(patience::wait(), priority).await?))
    }

    pub(crate) async fn close(&self) {
        self.readers.close().await;
        Arc::clone(&self.writer).lock_owned().await.close().await;
    }
}

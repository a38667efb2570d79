//! SQLite: one writer for the whole file, readers beside it (WAL), every writing transaction `BEGIN IMMEDIATE`.
//!
//! There are no row locks: a writer excludes all other writers, so the transaction itself grants every pessimistic mode, and a wait for a
//! lock is a wait for the writer: first in a fair queue inside this process, then through SQLite's busy handler for other processes.
//! Durability is `synchronous=FULL`: an acknowledged lock survives a power cut.

mod batch;
mod connect;
mod connection;
pub(crate) mod errors;
mod fence;
mod file;
mod holder;
mod lease_rows;
mod lent;
mod link;
mod live;
#[cfg(feature = "sea-orm")]
pub(super) mod sea_orm;
mod sheet;
mod side_files;
mod transaction;
mod turns;
pub(crate) mod values;

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use sqlx::SqlitePool;
use tokio::sync::Mutex;

use crate::aggregate::mapping::Table;
use crate::aggregate::schema::LiveTable;
use crate::clock::{ManualClock, to_micros};
use crate::db::{self, Connection};
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::lease::engine::{Answer, Operation, Place};
use crate::row_lock::Wait;
use crate::storage::capabilities::{Capabilities, Granularity};
use crate::storage::leases::{self, operate};
use crate::storage::sql::migration;
use crate::storage::{Backend, BackendTransaction, Connections, LockAnswer, LockOp, Slice, SweptRows, patience};

pub(crate) use connect::{diagnose, script};
pub(crate) use connection::OpenTransaction;
use connection::Writer;
use file::File;
use lease_rows::LeaseTables;
pub(crate) use link::Link;
use transaction::SqliteTransaction;
use turns::Priority;

/// A SQLite database file.
#[derive(Debug)]
pub(crate) struct Sqlite {
    writer: Arc<Mutex<Writer>>,
    readers: SqlitePool,
    file: Arc<File>,
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

    /// The database's time, in milliseconds since 1970. Read it after any wait, because an earlier value may be old.
    fn now(&self) -> i64 {
        now(self.clock.as_ref())
    }

    fn opened(&self, open: OpenTransaction) -> Connection {
        Connection::new(db::Link::Sqlite(Link::Open(open)), self.clock.clone())
    }

    async fn write(&self, wait: Wait) -> Result<OpenTransaction, DatabaseError> {
        OpenTransaction::immediate(&self.writer, wait, Priority::Normal).await
    }
}

fn capabilities(version: String) -> Capabilities {
    Capabilities {
        database: format!("SQLite {version}"),
        granularity: Granularity::Database,
        shared_locks: false,
        skip_locked: false,
        names_blocker: false,
        heartbeats_pass_saves: false,
    }
}

/// SQLite runs inside this process, so its clock is this host's clock; a test may set another.
pub(crate) fn now(clock: Option<&ManualClock>) -> i64 {
    clock.map_or_else(|| to_micros(SystemTime::now()) / 1000, ManualClock::millis)
}

#[async_trait]
impl Backend for Sqlite {
    fn connections(&self) -> Connections {
        connect::connections(self.count)
    }

    fn capabilities(&self) -> Capabilities {
        capabilities(self.version.clone())
    }

    async fn begin(&self, wait: Wait, _label: Option<&str>) -> Result<Box<dyn BackendTransaction>, DatabaseError> {
        let open = self.opened(self.write(wait).await?.fenced());
        Ok(Box::new(SqliteTransaction::new(open, self.clock.clone())))
    }

    async fn reader(&self) -> Result<Connection, DatabaseError> {
        Ok(Connection::new(db::Link::Sqlite(Link::Reading(Sqlite::reader(self).await?)), self.clock.clone()))
    }

    async fn own_reader(&self) -> Result<Connection, DatabaseError> {
        Backend::reader(self).await
    }

    async fn begin_own(&self) -> Result<Connection, DatabaseError> {
        Ok(self.opened(self.write(patience::wait()).await?))
    }

    async fn live_table(&self, table: &Table) -> Result<Option<LiveTable>, DatabaseError> {
        let mut reader = self.reader().await?;
        live::table(&mut reader, &table.name).await
    }

    async fn lock_batch(&self, ops: &[LockOp]) -> Result<Vec<Option<LockAnswer>>, DatabaseError> {
        let now = || self.now();
        batch::Table { file: &self.file, readers: &self.readers, writer: &self.writer, now: &now }.run(ops).await
    }

    /// There is one writer.
    fn answers_at_once(&self) -> usize {
        1
    }

    /// Never called: a writing transaction also locks keys that have no row.
    async fn make_row(&self, _key: &LockKey) -> Result<(), DatabaseError> {
        Ok(())
    }

    async fn operate(&self, operation: &Operation<'_>) -> Result<Answer, DatabaseError> {
        operate(self, operation).await
    }

    async fn sweep_rows(&self, slice: &Slice<'_>, after: &Place) -> Result<SweptRows, DatabaseError> {
        let mut transaction = self.write(patience::wait()).await?;
        let swept =
            leases::sweep(&mut LeaseTables { connection: transaction.connection(), now: self.now() }, slice, after)
                .await?;
        transaction.committing(swept).await
    }

    async fn close(&self) {
        self.readers.close().await;
        Arc::clone(&self.writer).lock_owned().await.close().await;
    }

    fn as_sqlite(&self) -> Option<&Sqlite> {
        Some(self)
    }
}

//! MariaDB and MySQL: row locks of InnoDB, READ COMMITTED, the server's clock.
//!
//! A saving transaction holds its lease by a lock on the row: takeovers wait, and so do heartbeats. On MariaDB `max_statement_time` limits
//! waits; it is set for each statement that may wait, and reduced from lock to lock. MySQL counts whole seconds only; there the last second
//! is a loop of attempts. None of this was run on MySQL, but its way of waiting was run on MariaDB.

mod aggregate_rows;
mod anchor;
mod batch;
mod blocker;
mod columns;
mod connect;
mod connection;
mod counts;
mod deadline;
pub(in crate::storage) mod errors;
mod in_flight;
mod lease_rows;
mod list;
mod live;
mod load;
mod migrate;
mod operation;
mod revision;
#[cfg(feature = "sea-orm")]
pub(super) mod sea_orm;
mod session;
mod several_writers;
mod statements;
mod sweep;
mod transaction;
mod values;

use std::time::Duration;

use async_trait::async_trait;
use sqlx::MySqlPool;

use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Row, Rows, Table};
use crate::aggregate::schema::LiveTable;
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::clock::ManualClock;
use crate::error::DatabaseError;
use crate::lease::engine::{Answer, Operation, Place};
use crate::lease::listing::{HistoryQuery, ListQuery, Listed, PastRow};
use crate::lease::{HeldByType, LockKey};
use crate::row_lock::Wait;
use crate::storage::capabilities::{Capabilities, Granularity};
use crate::storage::leases::{self, operate};
use crate::storage::operation::OperationId;
use crate::storage::{Backend, BackendTransaction, LockAnswer, LockOp, Slice, SweptRows, patience};
use crate::version::conflict::Change;

pub(crate) use connect::{diagnose, script};
use connection::{Connections, OpenTransaction};
use deadline::Flavour;
use lease_rows::LeaseTables;
use session::Session;
use transaction::MySqlTransaction;

/// A MariaDB or MySQL database.
#[derive(Debug)]
pub(crate) struct MySql {
    connections: Connections,
    time: Time,
    version: String,
    /// The maximum number of connections of the pool.
    count: u32,
}

/// The server's own clock, or a test's.
#[derive(Debug, Clone)]
struct Time(Option<ManualClock>);

impl Time {
    /// The time for statements: `None`, so that they read the server's clock.
    fn given(&self) -> Option<i64> {
        self.0.as_ref().map(ManualClock::millis)
    }
}

impl MySql {
    /// The pool, for the user's own queries.
    pub(crate) fn pool(&self) -> &MySqlPool {
        &self.connections.pool
    }

    /// Applies the application's own migrations.
    pub(crate) async fn migrate(&self, migrator: &sqlx::migrate::Migrator) -> Result<(), DatabaseError> {
        migrate::migrate(&self.connections.pool, migrator, migrate::Whose::Application).await
    }

    /// Runs an operation in a transaction of its own, and commits it if `keep` accepts the answer.
    async fn alone<T>(
        &self,
        keep: fn(&T) -> bool,
        operation: impl AsyncFnOnce(&mut Session) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let mut transaction = OpenTransaction::begin_for_leases(&self.connections).await?;
        let answer = transaction.wait_for(operation).await?;
        match keep(&answer) {
            true => transaction.commit(None).await?,
            false => transaction.rollback().await?,
        }
        Ok(answer)
    }
}

/// The number of attempts of one of our own operations.
const ATTEMPTS: u32 = 8;

/// Retries when InnoDB aborts the operation in a deadlock: it has changed nothing then. The application's units of work are not retried,
/// because only the application knows whether they may be.
macro_rules! again {
    ($operation:expr) => {{
        let mut attempt = 1;
        loop {
            match $operation {
                Err(DatabaseError::Deadlock | DatabaseError::SerializationFailure) if attempt < ATTEMPTS => {
                    tokio::time::sleep(deadline::jitter() * attempt).await;
                    attempt += 1;
                }
                outcome => break outcome,
            }
        }
    }};
}

fn capabilities(flavour: Flavour, version: &str) -> Capabilities {
    let name = match flavour {
        Flavour::MariaDb => "MariaDB",
        Flavour::MySql => "MySQL",
    };
    Capabilities {
        database: format!("{name} {version}"),
        granularity: Granularity::Row,
        shared_locks: true,
        skip_locked: true,
        names_blocker: flavour == Flavour::MariaDb,
        heartbeats_pass_saves: false,
    }
}

#[async_trait]
impl Backend for MySql {
    fn connections(&self) -> crate::storage::Connections {
        connect::connections(self.count)
    }

    fn set_password(&self, password: &str) -> Result<(), DatabaseError> {
        for pool in [&self.connections.pool, &self.connections.leases, &self.connections.alone] {
            pool.set_connect_options((*pool.connect_options()).clone().password(password));
        }
        Ok(())
    }

    fn capabilities(&self) -> Capabilities {
        capabilities(self.connections.flavour, &self.version)
    }

    async fn begin(&self, wait: Wait, label: Option<&str>) -> Result<Box<dyn BackendTransaction>, DatabaseError> {
        let open = OpenTransaction::begin(&self.connections, wait, label).await?;
        Ok(Box::new(MySqlTransaction::new(open, self.time.clone())))
    }

    async fn load(&self, mapping: &'static Mapping, id: &[Value]) -> Result<Option<Stored>, DatabaseError> {
        load::load_whole(&mut self.connections.acquire(patience::left()).await?, mapping, id).await
    }

    async fn changes(
        &self,
        mapping: &'static Mapping,
        key: &LockKey,
        id: &[Value],
        limit: u32,
    ) -> Result<Vec<Change>, DatabaseError> {
        let mut reader = self.connections.acquire(patience::left()).await?;
        revision::changes(&mut reader, mapping, key, id, limit).await
    }

    async fn load_many(&self, mapping: &'static Mapping, ids: &[Row]) -> Result<Vec<Stored>, DatabaseError> {
        load::load_many(&mut self.connections.acquire(patience::left()).await?, mapping, ids).await
    }

    async fn state_at(
        &self,
        mapping: &'static Mapping,
        key: &LockKey,
        at: Version,
    ) -> Result<Option<Rows>, DatabaseError> {
        revision::state(&mut self.connections.acquire(patience::left()).await?, mapping, key, at).await
    }

    async fn live_table(&self, table: &Table) -> Result<Option<LiveTable>, DatabaseError> {
        live::table(&mut self.connections.acquire(patience::left()).await?, &table.name).await
    }

    async fn settle(&self, operation: &OperationId) -> Result<bool, DatabaseError> {
        again!(self.alone(|_| true, async |session| operation::settle(session, operation).await).await)
    }

    async fn forget_operations(&self, older_than: Duration) -> Result<u64, DatabaseError> {
        again!(self.alone(|_| true, async |session| operation::forget(session, older_than).await).await)
    }

    async fn lock_batch(&self, ops: &[LockOp]) -> Result<Vec<Option<LockAnswer>>, DatabaseError> {
        batch::run(&self.connections, ops, self.time.given()).await
    }

    async fn make_row(&self, key: &LockKey) -> Result<(), DatabaseError> {
        again!(self.alone(|_| true, async |session| anchor::make(session, key).await).await)
    }

    async fn operate(&self, operation: &Operation<'_>) -> Result<Answer, DatabaseError> {
        operate(self, operation).await
    }

    async fn list(&self, query: &ListQuery) -> Result<Vec<Listed>, DatabaseError> {
        list::held(&mut self.connections.acquire(patience::left()).await?, query, self.time.given()).await
    }

    async fn history(&self, query: &HistoryQuery) -> Result<Vec<PastRow>, DatabaseError> {
        list::past(&mut self.connections.acquire(patience::left()).await?, query).await
    }

    async fn sweep_history(&self, slice: &Slice<'_>) -> Result<u64, DatabaseError> {
        let now = self.time.given();
        again!(self.alone(|_| true, async |session| sweep::history(session, slice, now).await).await)
    }

    async fn sweep_rows(&self, slice: &Slice<'_>, after: &Place) -> Result<SweptRows, DatabaseError> {
        let now = self.time.given();
        again!(
            self.alone(|_| true, async |session| leases::sweep(&mut LeaseTables { session, now }, slice, after).await)
                .await
        )
    }

    async fn count_held(&self, owner: &str) -> Result<u64, DatabaseError> {
        let mut reader = self.connections.acquire(patience::left()).await?;
        counts::count(&mut reader, owner, self.time.given()).await
    }

    async fn held_by_type(&self) -> Result<Vec<HeldByType>, DatabaseError> {
        let mut reader = self.connections.acquire_for_one().await?;
        counts::held_by_type(&mut reader, self.time.given()).await
    }

    async fn close(&self) {
        self.connections.close().await;
    }

    fn as_mysql(&self) -> Option<&MySql> {
        Some(self)
    }
}

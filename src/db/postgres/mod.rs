//! PostgreSQL: row locks, READ COMMITTED, the server's clock.
//!
//! A saving transaction holds its lease by a `FOR KEY SHARE` lock on the row: heartbeats succeed, takeovers wait. `lock_timeout` limits
//! waits; it is set for the transaction only, and reduced from lock to lock.

pub(crate) mod checkout;
pub(crate) mod connect;
pub(crate) mod connection;
pub(crate) mod errors;
pub(crate) mod link;
mod live;
pub(crate) mod overdue;
pub(crate) mod pools;
#[cfg(feature = "sea-orm")]
pub(crate) mod sea_orm;
pub(crate) mod sheet;
pub(crate) mod values;

use std::sync::Arc;

use sqlx::PgPool;

use crate::clock::ManualClock;
use crate::db::capabilities::{Capabilities, Granularity};
use crate::db::migration;
use crate::db::{self, Connection, Purpose};
use crate::db::{Connections, patience};
use crate::error::DatabaseError;
use crate::row_lock::Wait;

pub(crate) use self::Postgres as Database;
use checkout::Checkout;
pub(crate) use connect::{diagnose, script};
pub(crate) use connection::OpenTransaction;
pub(crate) use link::Link;
use pools::Pools;

/// A PostgreSQL database.
#[derive(Debug)]
pub(crate) struct Postgres {
    pool: PgPool,
    /// That pool, and those of the lock manager.
    pub(crate) pools: Arc<Pools>,
    /// The clock of a test.
    pub(crate) clock: Option<ManualClock>,
    version: String,
    /// The maximum number of connections of the pool.
    count: u32,
}

impl Postgres {
    /// The pool, for the user's own queries.
    pub(crate) fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Applies the application's own migrations.
    pub(crate) async fn migrate(&self, migrator: &sqlx::migrate::Migrator) -> Result<(), DatabaseError> {
        migrator.run(&self.pool).await.map_err(|error| migration::failed(error, errors::classify))
    }

    fn opened(&self, open: OpenTransaction) -> Connection {
        Connection::new(db::Link::Postgres(Link::Open(open)), self.clock.clone())
    }

    fn reading(&self, reader: Checkout) -> Connection {
        Connection::new(db::Link::Postgres(Link::Reading(reader)), self.clock.clone())
    }
}

fn capabilities(version: &str) -> Capabilities {
    Capabilities {
        database: format!("PostgreSQL {version}"),
        granularity: Granularity::Row,
        names_blocker: true,
        heartbeats_pass_saves: true,
    }
}

impl Postgres {
    pub(crate) fn connections(&self) -> Connections {
        connect::connections(self.count)
    }

    pub(crate) fn set_password(&self, password: &str) -> Result<(), DatabaseError> {
        for pool in [&self.pools.main, &self.pools.batches, &self.pools.alone] {
            pool.set_connect_options((*pool.connect_options()).clone().password(password));
        }
        Ok(())
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        capabilities(&self.version)
    }

    pub(crate) async fn begin(&self, wait: Wait, label: Option<&str>) -> Result<Connection, DatabaseError> {
        let open = OpenTransaction::begin(&self.pools, wait, label).await?;
        Ok(self.opened(open))
    }

    pub(crate) async fn reader(&self) -> Result<Connection, DatabaseError> {
        Ok(self.reading(self.pools.reader().await?))
    }

    pub(crate) async fn own_reader(&self) -> Result<Connection, DatabaseError> {
        let reader = self.pools.checkout(&self.pools.batches, patience::left()).await?;
        Ok(self.reading(reader))
    }

    pub(crate) async fn begin_own(&self, purpose: Purpose) -> Result<Connection, DatabaseError> {
        Ok(self.opened(OpenTransaction::begin_for_leases(&self.pools, purpose.waits).await?))
    }

    pub(crate) async fn close(&self) {
        self.pools.close().await;
    }
}

//! MariaDB and MySQL: row locks of InnoDB, READ COMMITTED, the server's clock.
//!
//! A saving transaction holds its lease by a lock on the row: takeovers wait, and so do heartbeats. On MariaDB `max_statement_time` limits
//! waits; it is set for each statement that may wait, and reduced from lock to lock. MySQL counts whole seconds only; there the last second
//! is a loop of attempts.

pub(crate) mod blocker;
pub(crate) mod connect;
pub(crate) mod connection;
pub(crate) mod deadline;
pub(crate) mod errors;
pub(crate) mod in_flight;
pub(crate) mod link;
mod live;
pub(crate) mod migrate;
#[cfg(feature = "sea-orm")]
pub(crate) mod sea_orm;
pub(crate) mod session;
pub(crate) mod several_writers;
pub(crate) mod sheet;
pub(crate) mod values;

use sqlx::MySqlPool;

use crate::clock::ManualClock;
use crate::db::capabilities::{Capabilities, Granularity};
use crate::db::patience;
use crate::db::{self, Connection, Purpose};
use crate::error::DatabaseError;
use crate::row_lock::Wait;

pub(crate) use self::MySql as Database;
pub(crate) use connect::{diagnose, script};
use connection::Connections;
pub(crate) use connection::OpenTransaction;
use deadline::Flavour;
pub(crate) use link::Link;
use session::Session;

/// A MariaDB or MySQL database.
#[derive(Debug)]
pub(crate) struct MySql {
    pub(crate) connections: Connections,
    /// The clock of a test.
    pub(crate) clock: Option<ManualClock>,
    version: String,
    /// The maximum number of connections of the pool.
    count: u32,
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

    fn opened(&self, open: OpenTransaction) -> Connection {
        Connection::new(db::Link::MySql(Link::Open(open)), self.clock.clone())
    }

    fn reading(&self, reader: Session) -> Connection {
        Connection::new(db::Link::MySql(Link::Reading(reader)), self.clock.clone())
    }
}

fn capabilities(flavour: Flavour, version: &str) -> Capabilities {
    let name = match flavour {
        Flavour::MariaDb => "MariaDB",
        Flavour::MySql => "MySQL",
    };
    Capabilities {
        database: format!("{name} {version}"),
        granularity: Granularity::Row,
        names_blocker: flavour == Flavour::MariaDb,
        heartbeats_pass_saves: false,
    }
}

impl MySql {
    pub(crate) fn connections(&self) -> crate::db::Connections {
        connect::connections(self.count)
    }

    pub(crate) fn set_password(&self, password: &str) -> Result<(), DatabaseError> {
        for pool in [&self.connections.pool, &self.connections.leases, &self.connections.alone] {
            pool.set_connect_options((*pool.connect_options()).clone().password(password));
        }
        Ok(())
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        capabilities(self.connections.flavour, &self.version)
    }

    pub(crate) async fn begin(&self, wait: Wait, label: Option<&str>) -> Result<Connection, DatabaseError> {
        let open = OpenTransaction::begin(&self.connections, wait, label).await?;
        Ok(self.opened(open))
    }

    pub(crate) async fn reader(&self) -> Result<Connection, DatabaseError> {
        Ok(self.reading(self.connections.acquire(patience::left()).await?))
    }

    pub(crate) async fn own_reader(&self) -> Result<Connection, DatabaseError> {
        Ok(self.reading(self.connections.acquire_for_leases().await?))
    }

    pub(crate) async fn begin_own(&self, purpose: Purpose) -> Result<Connection, DatabaseError> {
        Ok(self.opened(OpenTransaction::begin_for_leases(&self.connections, purpose.waits).await?))
    }

    pub(crate) async fn close(&self) {
        self.connections.close().await;
    }
}

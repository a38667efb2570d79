//! An observer with its own connection: reads the counters of the server.

mod mysql;
mod postgres;
mod sqlite;

use crate::Outcome;
use crate::backend::Backend;
use crate::process::Server;

/// The server's processes; none for SQLite.
pub(super) async fn server(backend: Backend, url: &str) -> Outcome<Option<Server>> {
    match backend {
        Backend::Sqlite => Ok(None),
        Backend::Postgres => postgres::server(url).await.map(Some),
        Backend::MySql => mysql::server(url).await.map(Some),
    }
}

/// Counts written rows.
pub(super) enum Witness {
    Sqlite(sqlite::Witness),
    Postgres(postgres::Witness),
    MySql(mysql::Witness),
}

impl Witness {
    pub(super) async fn open(backend: Backend, url: &str) -> Outcome<Self> {
        Ok(match backend {
            Backend::Sqlite => Witness::Sqlite(sqlite::Witness::open(url).await?),
            Backend::Postgres => Witness::Postgres(postgres::Witness::open(url).await?),
            Backend::MySql => Witness::MySql(mysql::Witness::open(url).await?),
        })
    }

    /// Rows that were inserted, updated or deleted so far. Call it while there is no other connection: only then the last rows are counted.
    pub(super) async fn rows_written(&mut self) -> Outcome<i64> {
        match self {
            Witness::Sqlite(witness) => witness.rows_written().await,
            Witness::Postgres(witness) => witness.rows_written().await,
            Witness::MySql(witness) => witness.rows_written().await,
        }
    }
}

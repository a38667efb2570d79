//! A database: the one place that knows which one it is.

#[cfg(feature = "mysql")]
use crate::db::mysql::{self, MySql};
#[cfg(feature = "postgres")]
use crate::db::postgres::{self, Postgres};
#[cfg(feature = "sqlite")]
use crate::db::sqlite::{self, Sqlite};
use crate::db::{Address, ConnectOptions, Connection, Diagnosis, erased};
use crate::db::{Capabilities, Connections};
use crate::error::DatabaseError;
use crate::row_lock::Wait;
#[cfg(test)]
use crate::simulation;

/// What a transaction of the lock manager is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Purpose {
    /// Whether it contains heartbeats, which wait the least for other processes, because their leases expire.
    pub beats: bool,
    /// Whether it may wait for other transactions. (On SQLite every one waits for the writer.)
    pub waits: bool,
}

impl Purpose {
    /// One that may wait, and is no heartbeat.
    pub(crate) const USUAL: Purpose = Purpose { beats: false, waits: true };
}

/// A database, with its pools.
#[derive(Debug)]
pub(crate) enum Backend {
    #[cfg(feature = "sqlite")]
    Sqlite(Sqlite),
    #[cfg(feature = "postgres")]
    Postgres(Postgres),
    #[cfg(feature = "mysql")]
    MySql(MySql),
    /// A lock table in memory, whose connections break.
    #[cfg(test)]
    Simulated(simulation::Link),
}

/// The same on each database.
macro_rules! on_each {
    ($backend:expr, $own:ident => $work:expr) => {
        match $backend {
            #[cfg(feature = "sqlite")]
            Backend::Sqlite($own) => $work,
            #[cfg(feature = "postgres")]
            Backend::Postgres($own) => $work,
            #[cfg(feature = "mysql")]
            Backend::MySql($own) => $work,
            #[cfg(test)]
            Backend::Simulated($own) => $work,
        }
    };
}

/// The same in the module of the database that a URL names.
macro_rules! by_scheme {
    ($url:expr, $database:ident => $work:expr) => {
        match $url.split_once(':').map(|(scheme, _)| scheme) {
            #[cfg(feature = "sqlite")]
            Some("sqlite") => {
                use sqlite as $database;
                $work
            }
            #[cfg(feature = "postgres")]
            Some("postgres" | "postgresql") => {
                use postgres as $database;
                $work
            }
            #[cfg(feature = "mysql")]
            Some("mysql" | "mariadb") => {
                use mysql as $database;
                $work
            }
            _ => Err(DatabaseError::Unsupported(
                "this build does not know that kind of database; `sqlite://file` needs the feature `sqlite`, \
                 `postgres://user@host/database` the feature `postgres`, `mysql://user@host/database` the feature `mysql`",
            )),
        }
    };
}

impl Backend {
    /// Connects, and migrates tenure's own tables.
    pub(crate) async fn open(url: &str, options: ConnectOptions) -> Result<Self, DatabaseError> {
        by_scheme!(url, database => database::Database::open(Address::Url(url), options).await.map(Backend::from))
    }

    /// Examines a database without changing it.
    pub(crate) async fn diagnose(url: &str, options: ConnectOptions) -> Result<Diagnosis, DatabaseError> {
        by_scheme!(url, database => database::diagnose(url, options).await)
    }

    /// The migrations of tenure's own tables besides the applied ones, as SQL.
    pub(crate) fn script(url: &str, applied: &[i64]) -> Result<String, DatabaseError> {
        by_scheme!(url, database => Ok(database::script(applied)))
    }

    /// Applies the application's own migrations.
    pub(crate) async fn migrate(&self, migrator: &sqlx::migrate::Migrator) -> Result<(), DatabaseError> {
        on_each!(self, own => own.migrate(migrator).await)
    }

    /// Its capabilities.
    pub(crate) fn capabilities(&self) -> Capabilities {
        on_each!(self, own => own.capabilities())
    }

    /// The maximum number of its connections.
    pub(crate) fn connections(&self) -> Connections {
        on_each!(self, own => own.connections())
    }

    /// The password of connections that are opened from now on.
    pub(crate) fn set_password(&self, password: &str) -> Result<(), DatabaseError> {
        on_each!(self, own => own.set_password(password))
    }

    /// Opens a writing transaction. The wait is the budget for all waits of the transaction; the label names it to the sessions that it
    /// blocks.
    pub(crate) async fn begin(&self, wait: Wait, label: Option<&str>) -> Result<Connection, DatabaseError> {
        erased(async { on_each!(self, own => own.begin(wait, label).await) }).await
    }

    /// A transaction of the lock manager's own, with the rest of the operation's time, also when the application uses all of its connections.
    /// If it waits for no other transaction, those that wait cannot use up its connections.
    pub(crate) async fn begin_own(&self, purpose: Purpose) -> Result<Connection, DatabaseError> {
        erased(async { on_each!(self, own => own.begin_own(purpose).await) }).await
    }

    /// A connection for reading, which the application's reads use.
    pub(crate) async fn reader(&self) -> Result<Connection, DatabaseError> {
        erased(async { on_each!(self, own => own.reader().await) }).await
    }

    /// As [`reader`](Self::reader), for the lock manager: also when the application uses all of its connections.
    pub(crate) async fn own_reader(&self) -> Result<Connection, DatabaseError> {
        erased(async { on_each!(self, own => own.own_reader().await) }).await
    }

    /// The number of concurrent single requests to the lock table that cost the database less than a batch.
    pub(crate) fn answers_at_once(&self) -> usize {
        match self {
            // There is one writer.
            #[cfg(feature = "sqlite")]
            Backend::Sqlite(_) => 1,
            #[cfg(test)]
            Backend::Simulated(link) => link.answers_at_once(),
            _ => 4,
        }
    }

    /// Waits for the operations in flight, and closes.
    pub(crate) async fn close(&self) {
        erased(async { on_each!(self, own => own.close().await) }).await;
    }

    /// The SQLite that it is.
    #[cfg(feature = "sqlite")]
    pub(crate) fn as_sqlite(&self) -> Option<&Sqlite> {
        match self {
            Backend::Sqlite(sqlite) => Some(sqlite),
            _ => None,
        }
    }

    /// The PostgreSQL that it is.
    #[cfg(feature = "postgres")]
    pub(crate) fn as_postgres(&self) -> Option<&Postgres> {
        match self {
            Backend::Postgres(postgres) => Some(postgres),
            _ => None,
        }
    }

    /// The MariaDB or MySQL that it is.
    #[cfg(feature = "mysql")]
    pub(crate) fn as_mysql(&self) -> Option<&MySql> {
        match self {
            Backend::MySql(mysql) => Some(mysql),
            _ => None,
        }
    }
}

/// A database's own part becomes the whole.
macro_rules! from {
    ($($(#[$only:meta])* $variant:ident($own:ty),)*) => {$(
        $(#[$only])*
        impl From<$own> for Backend {
            fn from(own: $own) -> Self {
                Backend::$variant(own)
            }
        }
    )*};
}
from! {
    #[cfg(feature = "sqlite")]
    Sqlite(Sqlite),
    #[cfg(feature = "postgres")]
    Postgres(Postgres),
    #[cfg(feature = "mysql")]
    MySql(MySql),
    #[cfg(test)]
    Simulated(simulation::Link),
}

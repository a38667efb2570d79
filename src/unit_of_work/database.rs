//! A database, chosen by its URL.

use std::sync::Arc;
use std::time::Duration;

use crate::error::DatabaseError;
use crate::lock_table::batch::Batcher;
use crate::lock_table::grants::Grants;
use crate::row_lock::mode::Wait;
use crate::row_lock::order::{LockInversion, LockOrder};
use crate::storage::capabilities::Capabilities;
use crate::storage::diagnosis::Diagnosis;
use crate::storage::{Authorship, Backend, ConnectOptions};
use crate::unit_of_work::transaction::Transaction;
use crate::watch::Hub;

/// A database with tenure's tables in it. Clones are the same database.
///
/// `sqlite://shop.db` is a file, made if it is missing; `postgres://…` and `mysql://…` are servers. A URL of a database that
/// this build does not know is refused by name.
#[derive(Debug, Clone)]
pub struct Database {
    backend: Arc<dyn Backend>,
    /// Where the questions of all its lock managers meet.
    batch: Batcher,
    /// Where those meet who watch locks or wait for them.
    hub: Hub,
    grants: Grants,
    /// Where the orders of locks are recorded, in debug mode.
    lock_order: Option<LockOrder>,
    /// Whether commits carry an operation id.
    resolving: bool,
    /// Whether transactions are labelled with the person that they are for.
    named: bool,
}

impl Database {
    /// Opens it, checks that its settings keep acknowledged locks, and brings tenure's own tables up to date.
    ///
    /// # Errors
    /// [`DatabaseError::Unreachable`] when it cannot be opened, [`DatabaseError::ReadOnly`] when it cannot be written,
    /// [`DatabaseError::Schema`] when a newer release wrote it or its settings would lose locks,
    /// [`DatabaseError::Unsupported`] for a URL of another database.
    pub async fn connect(url: &str) -> Result<Self, DatabaseError> {
        Self::connect_with(url, ConnectOptions::new()).await
    }

    /// As [`connect`](Self::connect), with options.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_with(url: &str, options: ConnectOptions) -> Result<Self, DatabaseError> {
        #[cfg(feature = "opentelemetry")]
        let meter = options.meter.clone();
        let named = !options.unnamed;
        let opened = Database { named, ..Self::open(url, options).await? };
        #[cfg(feature = "opentelemetry")]
        return Ok(match meter {
            Some(meter) => opened.meter(&meter),
            None => opened,
        });
        #[cfg(not(feature = "opentelemetry"))]
        Ok(opened)
    }

    async fn open(url: &str, options: ConnectOptions) -> Result<Self, DatabaseError> {
        let interval = options.poll_interval;
        #[cfg(feature = "sqlite")]
        if url.starts_with("sqlite:") {
            return Ok(Self::new(crate::storage::sqlite::Sqlite::open(url, options).await?, interval));
        }
        #[cfg(feature = "postgres")]
        if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            return Ok(Self::new(crate::storage::postgres::Postgres::open(url, options).await?, interval));
        }
        #[cfg(feature = "mysql")]
        if url.starts_with("mysql:") || url.starts_with("mariadb:") {
            return Ok(Self::new(crate::storage::mysql::MySql::open(url, options).await?, interval));
        }
        let _ = (options, interval);
        Err(unknown())
    }

    /// What can be said about a database without changing anything in it: TLS, settings, clock, schema. No tables are made.
    ///
    /// # Errors
    /// As [`connect`](Self::connect), but settings and schema are told, not refused.
    pub async fn diagnose(url: &str) -> Result<Diagnosis, DatabaseError> {
        Self::diagnose_with(url, ConnectOptions::new()).await
    }

    /// As [`diagnose`](Self::diagnose), with options.
    ///
    /// # Errors
    /// As [`diagnose`](Self::diagnose).
    pub async fn diagnose_with(url: &str, options: ConnectOptions) -> Result<Diagnosis, DatabaseError> {
        #[cfg(feature = "sqlite")]
        if url.starts_with("sqlite:") {
            return crate::storage::sqlite::diagnose(url, options).await;
        }
        #[cfg(feature = "postgres")]
        if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            return crate::storage::postgres::diagnose(url, options).await;
        }
        #[cfg(feature = "mysql")]
        if url.starts_with("mysql:") || url.starts_with("mariadb:") {
            return crate::storage::mysql::diagnose(url, options).await;
        }
        let _ = options;
        Err(unknown())
    }

    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    #[allow(clippy::default_constructed_unit_structs, reason = "with OpenTelemetry it is more than a unit")]
    fn new(backend: impl Backend + 'static, poll_interval: Option<Duration>) -> Self {
        let backend: Arc<dyn Backend> = Arc::new(backend);
        let batch = Batcher::new(Arc::clone(&backend), crate::telemetry::metrics::Metrics::default());
        let hub = Hub::new(Arc::clone(&backend), poll_interval);
        Database { batch, hub, grants: Grants::new(), backend, lock_order: None, resolving: false, named: true }
    }

    #[cfg(feature = "opentelemetry")]
    fn meter(self, meter: &opentelemetry::metrics::Meter) -> Self {
        let batch = Batcher::new(Arc::clone(&self.backend), crate::telemetry::metrics::Metrics::new(meter));
        crate::telemetry::metrics::Metrics::watch_queue(meter, batch.waiting());
        Database { batch, ..self }
    }

    /// Opens a writing transaction, waiting for others at most [`Wait::default`].
    ///
    /// # Errors
    /// [`DatabaseError::LockTimeout`] when others were in the way for that long.
    pub async fn begin(&self) -> Result<Transaction, DatabaseError> {
        self.begin_within(Wait::default()).await
    }

    /// Opens a writing transaction with a budget for everything it has to wait for.
    ///
    /// # Errors
    /// [`DatabaseError::LockTimeout`] when the budget was not enough, [`DatabaseError::Busy`] when no connection became free in
    /// that time, [`DatabaseError::ConnectionLost`] when the database did not answer.
    ///
    /// # Cancel safety
    /// Dropping the future, at any moment, leaves no transaction open and no lock held.
    pub async fn begin_within(&self, wait: Wait) -> Result<Transaction, DatabaseError> {
        self.begin_for(wait, Authorship::default()).await
    }

    /// As [`begin_within`](Self::begin_within), on behalf of somebody.
    pub(crate) async fn begin_for(&self, wait: Wait, author: Authorship) -> Result<Transaction, DatabaseError> {
        let inner = self.backend.begin(wait, author.label(self.named).as_deref()).await?;
        let resolver = self.resolving.then(|| Arc::clone(&self.backend));
        Ok(Transaction::new(inner, author, self.lock_order.clone(), resolver, &self.hub))
    }

    /// The same database, whose transactions find out what became of a commit whose answer was lost. Each of them writes
    /// an operation id along with its COMMIT, in the same round trip; if the answer is lost, the id is asked for until
    /// the database answers, for 20 seconds at most. [`Transaction::commit`] then says `Ok` if it was committed after
    /// all, or [`ConnectionLost`](DatabaseError::ConnectionLost), which may be tried again, if it was not and never will
    /// be. Only when nobody answers it is [`CommitUnknown`](DatabaseError::CommitUnknown).
    ///
    /// The ids stay until [`forget_operations`](Self::forget_operations).
    #[must_use]
    pub fn resolving_commits(mut self) -> Self {
        self.resolving = true;
        self
    }

    /// Forgets operation ids that are older than this; how many. A day is plenty: nobody asks for longer than 20 seconds.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub async fn forget_operations(&self, older_than: Duration) -> Result<u64, DatabaseError> {
        self.backend.forget_operations(older_than).await
    }

    /// What this database can do.
    pub fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    /// The same database in a debug mode that records in which order transactions lock aggregates, and finds orders that
    /// can deadlock before they do: see [`lock_inversions`](Self::lock_inversions). For tests, and for a trial run.
    pub fn recording_lock_order(mut self) -> Self {
        self.lock_order = Some(LockOrder::default());
        self
    }

    /// The inversions that the debug mode found. Each was also logged as a warning. Assert in tests that there are none.
    pub fn lock_inversions(&self) -> Vec<LockInversion> {
        self.lock_order.as_ref().map(LockOrder::inversions).unwrap_or_default()
    }

    /// Looks at once at everything that is watched and waited for, instead of when it is due. How many statements that
    /// took. For tests, which give the time themselves.
    ///
    /// # Errors
    /// [`DatabaseError`].
    #[doc(hidden)]
    pub async fn look_now(&self) -> Result<usize, DatabaseError> {
        self.hub.round(true).await
    }

    /// Waits for what is under way, and closes. Clones are closed with it; whoever watches locks or waits for them learns
    /// of it.
    pub async fn close(&self) {
        self.hub.close();
        self.backend.close().await;
    }

    pub(crate) fn batch(&self) -> &Batcher {
        &self.batch
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }

    pub(crate) fn grants(&self) -> &Grants {
        &self.grants
    }

    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }
}

/// The application's own statements on SQLite, through sqlx.
#[cfg(feature = "sqlite")]
impl Database {
    /// The pool of connections that read, for the application's own queries. Writing needs a transaction:
    /// [`Transaction::sqlite`].
    ///
    /// # Errors
    /// [`DatabaseError::Unsupported`] when this is not SQLite; [`DatabaseError::FileLost`].
    pub fn sqlite(&self) -> Result<&sqlx::SqlitePool, DatabaseError> {
        let sqlite = self.backend.as_sqlite().ok_or(DatabaseError::Unsupported("this database is not SQLite"))?;
        sqlite.readers()
    }
}

/// The application's own statements on PostgreSQL, through sqlx.
#[cfg(feature = "postgres")]
impl Database {
    /// The pool, for the application's own queries. Writing that belongs to an aggregate's save needs its transaction:
    /// [`Transaction::postgres`].
    ///
    /// # Errors
    /// [`DatabaseError::Unsupported`] when this is not PostgreSQL.
    pub fn postgres(&self) -> Result<&sqlx::PgPool, DatabaseError> {
        let postgres = self.backend.as_postgres();
        Ok(postgres.ok_or(DatabaseError::Unsupported("this database is not PostgreSQL"))?.pool())
    }
}

/// The application's own statements on MariaDB and MySQL, through sqlx.
#[cfg(feature = "mysql")]
impl Database {
    /// The pool, for the application's own queries. Writing that belongs to an aggregate's save needs its transaction:
    /// [`Transaction::mysql`].
    ///
    /// # Errors
    /// [`DatabaseError::Unsupported`] when this is neither MariaDB nor MySQL.
    pub fn mysql(&self) -> Result<&sqlx::MySqlPool, DatabaseError> {
        let mysql = self.backend.as_mysql();
        Ok(mysql.ok_or(DatabaseError::Unsupported("this database is neither MariaDB nor MySQL"))?.pool())
    }
}

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
impl Database {
    /// Applies the application's own migrations, as made by `sqlx::migrate!` for this kind of database. Their ledger is
    /// sqlx's usual table; tenure keeps its own apart.
    ///
    /// # Errors
    /// [`DatabaseError::Schema`] when the tables were written by a newer release of the application.
    pub async fn migrate(&self, migrator: &sqlx::migrate::Migrator) -> Result<(), DatabaseError> {
        #[cfg(feature = "sqlite")]
        if let Some(sqlite) = self.backend.as_sqlite() {
            return sqlite.migrate(migrator).await;
        }
        #[cfg(feature = "postgres")]
        if let Some(postgres) = self.backend.as_postgres() {
            return postgres.migrate(migrator).await;
        }
        #[cfg(feature = "mysql")]
        if let Some(mysql) = self.backend.as_mysql() {
            return mysql.migrate(migrator).await;
        }
        let _ = migrator;
        Err(DatabaseError::Unsupported("this database has no migrations"))
    }
}

/// A URL that no backend of this build knows.
fn unknown() -> DatabaseError {
    DatabaseError::Unsupported(
        "this build does not know that kind of database; `sqlite://file` needs the feature `sqlite`, \
         `postgres://user@host/database` the feature `postgres`, `mysql://user@host/database` the feature `mysql`",
    )
}

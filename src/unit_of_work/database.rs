//! A database, chosen by its URL.

use std::sync::Arc;
use std::time::Duration;

use crate::aggregate::Aggregate;
use crate::aggregate::mapping::Mapping;
use crate::aggregate::schema::{self, SchemaReport};
use crate::db::Backend;
use crate::db::capabilities::Capabilities;
use crate::db::diagnosis::Diagnosis;
use crate::db::{Address, DriverOptions};
use crate::db::{ConnectOptions, Connections};
use crate::error::DatabaseError;
use crate::lock_table::batch::Batcher;
use crate::lock_table::grants::Grants;
use crate::row_lock::Wait;
use crate::store::Authorship;
use crate::unit_of_work::names::Names;
use crate::unit_of_work::transaction::Transaction;

/// A database with tenure's tables. Clones are the same database.
///
/// `sqlite://shop.db` is a file, created if it is missing; `postgres://…` and `mysql://…` are servers. A URL of a database that
/// this build does not support is refused with its name.
#[derive(Debug, Clone)]
pub struct Database {
    backend: Arc<Backend>,
    /// The batches of all its lock managers.
    batch: Batcher,
    grants: Grants,
    /// Whether commits carry an operation id.
    resolving: bool,
    /// The limit of transactions that hold a lease.
    guard_limit: Duration,
    names: Names,
}

impl Database {
    /// Opens it, checks that its settings keep acknowledged locks, and migrates tenure's own tables.
    ///
    /// # Errors
    /// [`DatabaseError::Unreachable`] if it cannot be opened, [`DatabaseError::ReadOnly`] for a standby or a replica,
    /// [`DatabaseError::NotPermitted`] if this process may not write to the file, [`DatabaseError::Schema`] if a newer release wrote it or
    /// its settings could lose locks, [`DatabaseError::Unsupported`] for a URL of another database.
    pub async fn connect(url: &str) -> Result<Self, DatabaseError> {
        Self::connect_with(url, ConnectOptions::new()).await
    }

    /// As [`connect`](Self::connect), with options.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_with(url: &str, options: ConnectOptions) -> Result<Self, DatabaseError> {
        let finish = Finish::of(&options);
        Ok(finish.done(Self::new(Backend::open(url, options).await?)))
    }

    /// As [`connect_with`](Self::connect_with), with the driver's own options instead of a URL: a certificate from memory, a password from
    /// a secret store, pragmas. tenure still sets what its connections require, and refuses plaintext to another host unless it is allowed.
    ///
    /// An existing pool cannot be used: transactions rely on settings of their connections (isolation, time limits, cleanup after a dropped
    /// future) that a pool of the application has not set and would share. Use tenure's pool for your own queries instead:
    /// [`Database::sqlite`](Self::sqlite), `postgres`, `mysql`.
    ///
    /// ```
    /// # #[cfg(feature = "sqlite")]
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use tenure::{Database, sqlx::sqlite::SqliteConnectOptions, db::ConnectOptions};
    /// # let directory = tempfile::tempdir()?;
    /// let options = SqliteConnectOptions::new().filename(directory.path().join("shop.db")).pragma("cache_size", "-8000");
    /// let db = Database::connect_driver(options, ConnectOptions::new()).await?;
    /// assert_eq!(db.connections().total(), 5);
    /// # Ok(()) }
    /// # #[cfg(not(feature = "sqlite"))] fn main() {}
    /// ```
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_driver(
        driver: impl Into<DriverOptions>,
        options: ConnectOptions,
    ) -> Result<Self, DatabaseError> {
        let finish = Finish::of(&options);
        let opened = match driver.into() {
            #[cfg(feature = "sqlite")]
            DriverOptions::Sqlite(driver) => {
                Self::new(crate::db::sqlite::Sqlite::open(Address::Options(driver), options).await?)
            }
            #[cfg(feature = "postgres")]
            DriverOptions::Postgres(driver) => {
                Self::new(crate::db::postgres::Postgres::open(Address::Options(driver), options).await?)
            }
            #[cfg(feature = "mysql")]
            DriverOptions::MySql(driver) => {
                Self::new(crate::db::mysql::MySql::open(Address::Options(driver), options).await?)
            }
        };
        Ok(finish.done(opened))
    }

    /// The maximum number of connections of this process, by purpose: the number that the server must allow.
    pub fn connections(&self) -> Connections {
        self.backend.connections()
    }

    /// Sets the password of new connections, for credentials that rotate. Open connections stay. The application calls it with each new
    /// token, before the old one expires.
    ///
    /// # Errors
    /// [`DatabaseError::Unsupported`] on SQLite.
    pub fn set_password(&self, password: &str) -> Result<(), DatabaseError> {
        self.backend.set_password(password)
    }

    /// Examines a database without changing it: TLS, settings, clock, schema. It creates no tables.
    ///
    /// # Errors
    /// As [`connect`](Self::connect), but settings and schema are reported, not refused.
    pub async fn diagnose(url: &str) -> Result<Diagnosis, DatabaseError> {
        Self::diagnose_with(url, ConnectOptions::new()).await
    }

    /// As [`diagnose`](Self::diagnose), with options.
    ///
    /// # Errors
    /// As [`diagnose`](Self::diagnose).
    pub async fn diagnose_with(url: &str, options: ConnectOptions) -> Result<Diagnosis, DatabaseError> {
        Backend::diagnose(url, options).await
    }

    /// The migrations of tenure's own tables that this database lacks, as SQL for its own client (`psql`, `mariadb`, `mysql`, `sqlite3`), for
    /// a DBA who creates tables by hand; empty if it has them all. It also fills the ledger `_tenure_migrations`, so that a process that
    /// connects after that needs no right to create tables. Nothing is changed. `tenure migrate --print` prints it.
    ///
    /// # Errors
    /// As [`diagnose`](Self::diagnose); [`DatabaseError::Schema`] if a newer release wrote the tables.
    pub async fn migration_script(url: &str, options: ConnectOptions) -> Result<String, DatabaseError> {
        let diagnosis = Self::diagnose_with(url, options).await?;
        diagnosis.usable()?;
        Backend::script(url, &diagnosis.applied)
    }

    #[allow(clippy::default_constructed_unit_structs, reason = "with OpenTelemetry it is more than a unit")]
    pub(crate) fn new(backend: impl Into<Backend>) -> Self {
        let backend: Arc<Backend> = Arc::new(backend.into());
        let batch = Batcher::new(Arc::clone(&backend), crate::telemetry::metrics::Metrics::default());
        Database {
            batch,
            grants: Grants::new(),
            backend,
            resolving: false,
            guard_limit: ConnectOptions::new().guard_limit(),
            names: Names::default(),
        }
    }

    #[cfg(feature = "opentelemetry")]
    fn meter(self, meter: &opentelemetry::metrics::Meter) -> Self {
        let batch = Batcher::new(Arc::clone(&self.backend), crate::telemetry::metrics::Metrics::new(meter));
        crate::telemetry::metrics::Metrics::watch_queue(meter, batch.waiting());
        Database { batch, ..self }
    }

    /// Opens a writing transaction that waits for others at most [`Wait::default`].
    ///
    /// # Errors
    /// [`DatabaseError::LockTimeout`] if other transactions blocked it for that long.
    pub async fn begin(&self) -> Result<Transaction, DatabaseError> {
        self.begin_within(Wait::default()).await
    }

    /// Opens a writing transaction with a budget for all of its waits.
    ///
    /// # Errors
    /// [`DatabaseError::LockTimeout`] if the budget was not enough, [`DatabaseError::Busy`] if no connection became free in that time,
    /// [`DatabaseError::ConnectionLost`] if the database did not answer.
    ///
    /// # Cancel safety
    /// Dropping the future, at any moment, leaves no transaction open and no lock held.
    pub async fn begin_within(&self, wait: Wait) -> Result<Transaction, DatabaseError> {
        self.begin_for(wait, Authorship::default()).await
    }

    /// As [`begin_within`](Self::begin_within), with an author.
    pub(crate) async fn begin_for(&self, wait: Wait, author: Authorship) -> Result<Transaction, DatabaseError> {
        let inner = self.backend.begin(wait, author.label().as_deref()).await?;
        let resolver = self.resolving.then(|| Arc::clone(&self.backend));
        Ok(Transaction::new(inner, author, resolver, self, wait))
    }

    /// The same database, whose transactions resolve the outcome of a commit whose answer was lost. Each writes an operation id with its
    /// COMMIT, in the same round trip; if the answer is lost, the id is queried until the database answers, for at most 20 seconds.
    /// [`Transaction::commit`] then returns `Ok` if it was committed, or [`ConnectionLost`](DatabaseError::ConnectionLost), which may be
    /// retried, if it was not and never will be. Without any answer it returns [`CommitUnknown`](DatabaseError::CommitUnknown).
    ///
    /// The ids stay until [`forget_operations`](Self::forget_operations).
    #[must_use]
    pub fn resolving_commits(mut self) -> Self {
        self.resolving = true;
        self
    }

    /// Deletes operation ids that are older than this; returns their number. A day is enough: ids are queried for at most 20 seconds.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub async fn forget_operations(&self, older_than: Duration) -> Result<u64, DatabaseError> {
        self.backend.forget_operations(older_than).await
    }

    /// Compares the mapping of an aggregate with the live tables, and lists every difference: missing tables and columns, types,
    /// NULL where the type has none, keys and indexes, collations under which two spellings are one row. It reads the
    /// database's catalog, and changes nothing.
    ///
    /// Call it for every aggregate at the start of a program, after its migrations: a mismatch then fails at once, and not in the first
    /// request that is affected.
    ///
    /// ```
    /// # use tenure::{Aggregate, Database};
    /// # #[derive(Aggregate, Debug)]
    /// # #[aggregate(table = "orders")]
    /// # struct Order { #[aggregate(id)] no: String, message: String }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let mut tx = db.begin().await?;
    /// # sqlx::query("create table orders (no text primary key, version integer not null)").execute(tx.sqlite()?).await?;
    /// # tx.commit().await?;
    /// let refused = db.check::<Order>().await?.require().unwrap_err();
    /// assert!(refused.to_string().contains("column `message`: the table has no such column"));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`DatabaseError`] if the catalog cannot be read. Differences are no errors: see
    /// [`SchemaReport::require`](crate::aggregate::schema::SchemaReport::require).
    pub async fn check<A: Aggregate>(&self) -> Result<SchemaReport, DatabaseError> {
        self.compared(A::mapping()).await
    }

    /// As [`check`](Self::check), for a mapping from a file: `tenure doctor --mapping` uses it.
    ///
    /// # Errors
    /// As `check`; [`DatabaseError::Mapping`] if the mapping itself is invalid.
    pub async fn check_mapping(&self, mapping: &Mapping) -> Result<SchemaReport, DatabaseError> {
        mapping.validate()?;
        self.compared(mapping).await
    }

    async fn compared(&self, mapping: &Mapping) -> Result<SchemaReport, DatabaseError> {
        self.names.meet(mapping)?;
        let mut live = Vec::with_capacity(1 + mapping.children.len());
        for table in std::iter::once(&mapping.root).chain(&mapping.children) {
            live.push(self.backend.live_table(table).await?);
        }
        Ok(schema::compare(mapping, &live))
    }

    /// The capabilities of this database.
    pub fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    /// Waits for the operations in flight, and closes. Clones are closed too; waiters get an error.
    ///
    /// It returns after five seconds at the latest. A transaction that is open then keeps its connection until it ends; that can still
    /// succeed.
    pub async fn close(&self) {
        let backend = Arc::clone(&self.backend);
        // It goes on when the time is over, and when the caller is gone.
        let closing = tokio::spawn(async move { backend.close().await });
        if tokio::time::timeout(Wait::default().budget(), closing).await.is_err() {
            tracing::warn!(
                "the database is closed, but transactions are still open; each closes its connection at its end"
            );
        }
    }

    pub(crate) fn batch(&self) -> &Batcher {
        &self.batch
    }

    pub(crate) fn grants(&self) -> &Grants {
        &self.grants
    }

    pub(crate) fn backend(&self) -> &Arc<Backend> {
        &self.backend
    }

    pub(super) fn guard_limit(&self) -> Duration {
        self.guard_limit
    }

    pub(super) fn names(&self) -> &Names {
        &self.names
    }
}

/// The application's own statements on SQLite, through sqlx.
#[cfg(feature = "sqlite")]
impl Database {
    /// The read-only connection pool, for the application's own queries. Writing needs a transaction:
    /// [`Transaction::sqlite`].
    ///
    /// # Errors
    /// [`DatabaseError::Unsupported`] if this is not SQLite; [`DatabaseError::FileLost`].
    pub fn sqlite(&self) -> Result<&sqlx::SqlitePool, DatabaseError> {
        let sqlite = self.backend.as_sqlite().ok_or(DatabaseError::Unsupported("this database is not SQLite"))?;
        sqlite.readers()
    }
}

/// The application's own statements on PostgreSQL, through sqlx.
#[cfg(feature = "postgres")]
impl Database {
    /// The pool, for the application's own queries. A write that belongs to an aggregate's save needs its transaction:
    /// [`Transaction::postgres`].
    ///
    /// # Errors
    /// [`DatabaseError::Unsupported`] if this is not PostgreSQL.
    pub fn postgres(&self) -> Result<&sqlx::PgPool, DatabaseError> {
        let postgres = self.backend.as_postgres();
        Ok(postgres.ok_or(DatabaseError::Unsupported("this database is not PostgreSQL"))?.pool())
    }
}

/// The application's own statements on MariaDB and MySQL, through sqlx.
#[cfg(feature = "mysql")]
impl Database {
    /// The pool, for the application's own queries. A write that belongs to an aggregate's save needs its transaction:
    /// [`Transaction::mysql`].
    ///
    /// # Errors
    /// [`DatabaseError::Unsupported`] if this is neither MariaDB nor MySQL.
    pub fn mysql(&self) -> Result<&sqlx::MySqlPool, DatabaseError> {
        let mysql = self.backend.as_mysql();
        Ok(mysql.ok_or(DatabaseError::Unsupported("this database is neither MariaDB nor MySQL"))?.pool())
    }
}

impl Database {
    /// Applies the application's own migrations, from `sqlx::migrate!` for this kind of database. Their ledger is
    /// sqlx's usual table; tenure has its own.
    ///
    /// # Errors
    /// [`DatabaseError::Schema`] if a newer release of the application wrote the tables.
    pub async fn migrate(&self, migrator: &sqlx::migrate::Migrator) -> Result<(), DatabaseError> {
        self.backend.migrate(migrator).await
    }
}

/// The steps after a database was opened.
struct Finish {
    guard_limit: Duration,
    #[cfg(feature = "opentelemetry")]
    meter: Option<opentelemetry::metrics::Meter>,
}

impl Finish {
    fn of(options: &ConnectOptions) -> Self {
        Finish {
            guard_limit: options.guard_limit(),
            #[cfg(feature = "opentelemetry")]
            meter: options.meter.clone(),
        }
    }

    fn done(self, opened: Database) -> Database {
        let opened = Database { guard_limit: self.guard_limit, ..opened };
        #[cfg(feature = "opentelemetry")]
        if let Some(meter) = &self.meter {
            return opened.meter(meter);
        }
        opened
    }
}

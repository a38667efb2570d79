//! Options for connecting to a database.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::clock::ManualClock;

/// The options of a connection, where the defaults do not fit.
#[derive(Debug, Clone, Default)]
pub struct ConnectOptions {
    pub(crate) clock: Option<ManualClock>,
    pub(crate) volatile: bool,
    pub(crate) connections: Option<NonZeroU32>,
    idle: Option<Duration>,
    guarded: Option<Duration>,
    pub(crate) plaintext: bool,
    pub(crate) after_connect: Option<String>,
    pub(crate) one_writer: bool,
    pub(crate) linked_file: bool,
    lifetime: Option<Duration>,
    #[cfg(feature = "opentelemetry")]
    pub(crate) meter: Option<opentelemetry::metrics::Meter>,
}

impl ConnectOptions {
    /// The database's own clock; settings that lose acknowledged locks are refused.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses a clock that a test moves, instead of the database's.
    #[must_use]
    pub fn clock(mut self, clock: ManualClock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Opens at most this many connections for transactions and loads; the default is 10. (On SQLite: for reading, 4 by default, besides
    /// the one that writes.) On PostgreSQL and MariaDB up to twelve more are reserved for the lock manager, so that heartbeats succeed
    /// while all others are busy; they are opened on demand. So with the default a server must allow 22 connections per process.
    #[must_use]
    pub fn max_connections(mut self, connections: NonZeroU32) -> Self {
        self.connections = Some(connections);
        self
    }

    /// The longest life of a connection to a server: an older one is closed when it is free, and a new one is opened. The default is
    /// 300,000 ms; [`Duration::ZERO`] means no limit. It changes nothing on SQLite.
    ///
    /// It bounds how long a connection leads to a server that the address does not lead to any more: after a change of a DNS name, or a
    /// failover behind a proxy that leaves connections open. A connection whose server says that it is read-only is closed at once, whatever
    /// its age.
    #[must_use]
    pub fn connection_lifetime(mut self, limit: Duration) -> Self {
        self.lifetime = Some(limit);
        self
    }

    pub(crate) fn lifetime(&self) -> Option<Duration> {
        Some(self.lifetime.unwrap_or(Duration::from_secs(300))).filter(|limit| !limit.is_zero())
    }

    /// How long a transaction may be idle, without a statement in flight, before the server ends it, rolls it back and closes its
    /// connection. The default is 60,000 ms; [`Duration::ZERO`] means no limit; MariaDB rounds up to whole seconds. The next operation of
    /// the transaction then fails with
    /// [`ConnectionLost`](crate::error::DatabaseError::ConnectionLost), and its text names this setting.
    ///
    /// It bounds how long other sessions wait for a program that was stopped, or disconnected, inside a transaction: its row locks, and the
    /// leases that it saves under, are free after that. It is set on every connection of this database, including those that the
    /// application takes from the pool. MySQL has no such limit: there it is as long as the server keeps the connection. SQLite has no
    /// server: there a stopped program blocks all writers until it continues or is ended.
    #[must_use]
    pub fn idle_in_transaction(mut self, limit: Duration) -> Self {
        self.idle = Some(limit);
        self
    }

    /// How long a transaction may hold a lease (`holding`, `releasing`, `from_form`, `LockManager::guard`), or keep others from acquiring it
    /// (`unless_locked`), busy or idle: counted from the first of these operations. The default is 60,000 ms; [`Duration::ZERO`] means no
    /// limit.
    ///
    /// Meanwhile nobody else can acquire the key, also after the lease has expired. At the limit the server ends the session of the
    /// transaction, with any statement in flight, and its next operation and its commit fail with
    /// [`GuardLimit`](crate::error::DatabaseError::GuardLimit). On SQLite the statement in flight is interrupted, and an idle transaction is
    /// rolled back by its next operation. Work that takes longer holds a lease with [`LockManager::hold`](crate::LockManager::hold), and
    /// saves in short transactions. The limit of a program that was stopped, or disconnected, is
    /// [`idle_in_transaction`](Self::idle_in_transaction).
    #[must_use]
    pub fn guarded_transaction(mut self, limit: Duration) -> Self {
        self.guarded = Some(limit);
        self
    }

    pub(crate) fn guard_limit(&self) -> Duration {
        self.guarded.unwrap_or(Duration::from_secs(60))
    }

    pub(crate) fn idle_limit(&self) -> Duration {
        self.idle.unwrap_or(Duration::from_secs(60))
    }

    /// As [`idle_limit`](Self::idle_limit), for batches of the lock table, which only wait for their own answers: a process that is stopped
    /// in the middle of one must not keep the rows of many for long.
    pub(crate) fn idle_limit_of_batches(&self) -> Duration {
        const LONGEST: Duration = Duration::from_secs(10);
        Some(self.idle_limit()).filter(|limit| !limit.is_zero()).map_or(LONGEST, |limit| limit.min(LONGEST))
    }

    /// The application's statements, and after them these.
    pub(crate) fn first(&self, settings: &str) -> String {
        // A line of its own: the statements may end with a comment.
        let first = self.after_connect.as_deref().map(|first| first.trim_end_matches([';', ' ', '\n', '\t', '\r']));
        first
            .filter(|first| !first.is_empty())
            .map_or_else(|| settings.to_owned(), |first| format!("{first}\n;\n{settings}"))
    }

    /// Allows connections without TLS to a server on another machine: everybody on the network path can then read and change passwords and
    /// data, and the password is in clear text if the server asks for it. Use it for isolated networks and for encrypted tunnels.
    ///
    /// Otherwise such a connection is refused: `sslmode=disable`, and a server that does not offer TLS, fail with
    /// [`DatabaseError::Unreachable`](crate::error::DatabaseError::Unreachable), and `prefer`, which is the default, never falls back to plaintext. Servers on this machine
    /// (`localhost`, a loopback address, a socket in the file system) are exempt. `sslmode` and `sslrootcert` on
    /// PostgreSQL, `ssl-mode` and `ssl-ca` on MariaDB and MySQL, set in the URL how the server's certificate is checked.
    #[must_use]
    pub fn allow_plaintext(mut self) -> Self {
        self.plaintext = true;
        self
    }

    /// Declares that all connections of tenure, of all its processes, go to one node of a cluster whose other nodes accept writes too:
    /// Galera, or MySQL Group Replication with several primaries. A proxy or a virtual address in front of the cluster must route them to
    /// that node, and to another node only after it has stopped.
    ///
    /// Without it such a cluster is refused at connect, with [`DatabaseError::Unsupported`](crate::error::DatabaseError::Unsupported). **A false
    /// declaration breaks every lock**: the cluster does not check rows that a transaction only reads, so a save could be acknowledged after
    /// its lease was taken over on another node. `docs/clusters.md` has the measurements. It changes nothing on other databases.
    #[must_use]
    pub fn one_writer_node(mut self) -> Self {
        self.one_writer = true;
        self
    }

    /// Declares that every program opens this SQLite file by this one path, although it has another name (a second hard link) or is mounted by
    /// itself (a volume of a container that is a single file).
    ///
    /// SQLite keeps the newest commits and all locks in files beside that name. So **a false declaration breaks every lock**: two programs
    /// that open the file by different paths are both granted the same lock, and overwrite each other's saves. Without it such a file is
    /// refused, with [`DatabaseError::Unreachable`](crate::error::DatabaseError::Unreachable). It changes nothing on other databases.
    #[must_use]
    pub fn allow_linked_file(mut self) -> Self {
        self.linked_file = true;
        self
    }

    /// Runs these statements on every connection to a server, before tenure's own settings, which take precedence: `set role shop`, `set
    /// search_path = shop`. If they fail, the connection fails. On SQLite they are refused
    /// ([`DatabaseError::Unsupported`](crate::error::DatabaseError::Unsupported)): set pragmas by
    /// [`Database::connect_driver`](crate::Database::connect_driver).
    #[must_use]
    pub fn after_connect(mut self, statements: impl Into<String>) -> Self {
        self.after_connect = Some(statements.into());
        self
    }

    /// Counts the events of locks with this meter of the application. The instruments are listed in the guide of the lock manager
    /// (`docs/locks.md`). The number of held locks requires a query:
    /// [`LockManager::observe`](crate::LockManager::observe).
    #[cfg(feature = "opentelemetry")]
    #[must_use]
    pub fn meter(mut self, meter: opentelemetry::metrics::Meter) -> Self {
        self.meter = Some(meter);
        self
    }

    /// Accepts settings with which the database may lose an acknowledged lock in a crash. Its holder then detects the loss at the latest at
    /// the save. Use it for databases whose contents are expendable.
    #[must_use]
    pub fn allow_unsafe_durability(mut self) -> Self {
        self.volatile = true;
        self
    }
}

//! How to connect to a database.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::clock::ManualClock;

/// How to connect, where the defaults are not wanted.
#[derive(Debug, Clone, Default)]
pub struct ConnectOptions {
    pub(crate) clock: Option<ManualClock>,
    pub(crate) volatile: bool,
    pub(crate) poll_interval: Option<Duration>,
    pub(crate) connections: Option<NonZeroU32>,
    idle: Option<Duration>,
    pub(crate) plaintext: bool,
    pub(crate) unnamed: bool,
    pub(crate) after_connect: Option<String>,
    pub(crate) one_writer: bool,
    #[cfg(feature = "opentelemetry")]
    pub(crate) meter: Option<opentelemetry::metrics::Meter>,
}

impl ConnectOptions {
    /// The database's own clock; settings that lose acknowledged locks are refused.
    pub fn new() -> Self {
        Self::default()
    }

    /// Goes by a clock that a test moves by hand, instead of the database's.
    #[must_use]
    pub fn clock(mut self, clock: ManualClock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Opens at most so many connections for transactions and loads, instead of 10 (on SQLite: for reading, instead of 4,
    /// beside the one that writes). On PostgreSQL and MariaDB up to twelve more are reserved for the lock manager, so that
    /// leases are kept alive also when all of these are busy, and on PostgreSQL one more listens while locks are watched; they are only
    /// opened when they are needed. So a server has to allow 23 connections for each process (22 on MariaDB and MySQL), or as many
    /// fewer as are set here.
    #[must_use]
    pub fn max_connections(mut self, connections: NonZeroU32) -> Self {
        self.connections = Some(connections);
        self
    }

    /// How long a transaction may stand still, without a statement under way, before the server ends it, rolls it back and
    /// closes its connection: 60,000 ms unless it is set, [`Duration::ZERO`] for no limit, rounded up to whole seconds on
    /// MariaDB. The next operation of the transaction then fails with
    /// [`ConnectionLost`](crate::error::DatabaseError::ConnectionLost), and its text names this setting.
    ///
    /// It bounds how long others wait for a program that was stopped, or cut off, inside of a transaction: its row locks, and
    /// the leases that it saves under, are free after that. It is set on every connection of this database, also those that
    /// the application takes from the pool. MySQL has no such limit: there it is as long as the server keeps the connection.
    /// SQLite has no server that could end anything: there a stopped program holds up all who write until it goes on or is
    /// ended.
    #[must_use]
    pub fn idle_in_transaction(mut self, limit: Duration) -> Self {
        self.idle = Some(limit);
        self
    }

    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) fn idle_limit(&self) -> Duration {
        self.idle.unwrap_or(Duration::from_secs(60))
    }

    /// The application's statements, and after them these.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) fn first(&self, settings: &str) -> String {
        // A line of its own: the statements may end with a comment.
        let first = self.after_connect.as_deref().map(|first| first.trim_end_matches([';', ' ', '\n', '\t', '\r']));
        first
            .filter(|first| !first.is_empty())
            .map_or_else(|| settings.to_owned(), |first| format!("{first}\n;\n{settings}"))
    }

    /// Allows connections without TLS to a server that is not on this machine: passwords and data can then be read and changed
    /// by everybody on the way, a password in the clear among them, if the server asks for one. For networks that nobody else
    /// is on, and tunnels that encrypt.
    ///
    /// Otherwise such a connection is refused: `sslmode=disable`, and a server that does not offer TLS, fail with
    /// [`DatabaseError::Unreachable`](crate::error::DatabaseError::Unreachable), and `prefer`, which is the default, never falls back to plaintext. Servers on this machine
    /// (`localhost`, a loopback address, a socket in the file system) are not concerned. `sslmode` and `sslrootcert` on
    /// PostgreSQL, `ssl-mode` and `ssl-ca` on MariaDB and MySQL, say in the URL what is checked of the server's certificate.
    #[must_use]
    pub fn allow_plaintext(mut self) -> Self {
        self.plaintext = true;
        self
    }

    /// Declares that all connections of tenure, of all its processes, go to one node of a cluster whose other nodes accept writes as
    /// well: Galera, or MySQL Group Replication with several primaries. A proxy or a virtual address in front of the cluster must
    /// send them there, and to another node only after that one has stopped.
    ///
    /// Otherwise a node of such a cluster is refused at connect, with
    /// [`DatabaseError::Unsupported`](crate::error::DatabaseError::Unsupported): it checks what a transaction writes against the
    /// other nodes, but not what it only reads, which the row of a lease is during a save. So a save could be acknowledged
    /// after its lease was taken over on another node. Row locks wait on their own node only. `docs/clusters.md` has the measurements.
    /// It changes nothing on other databases.
    #[must_use]
    pub fn one_writer_node(mut self) -> Self {
        self.one_writer = true;
        self
    }

    /// Leaves people out of what the server shows its other users. On PostgreSQL the `application_name` of a connection is what its
    /// transaction is for, `kim: start shipping`, and everybody who may connect to that server reads it in `pg_stat_activity`, and in its
    /// log where `log_line_prefix` has `%a`. With this it is `start shipping`: a [`LockTimeout`](crate::error::DatabaseError::LockTimeout) no longer says
    /// who is in the way, only what for. MariaDB and MySQL are told neither, and what this process says of its own transactions there
    /// names nobody either. Who holds a lease, and who changed what, is in tenure's tables all the same.
    #[must_use]
    pub fn omit_people(mut self) -> Self {
        self.unnamed = true;
        self
    }

    /// Runs these statements on every connection that is opened to a server, before tenure's own settings, which it needs and which
    /// therefore win: `set role shop`, `set search_path = shop`. If they fail, so does the connection. On SQLite they are refused
    /// ([`DatabaseError::Unsupported`](crate::error::DatabaseError::Unsupported)): set pragmas by
    /// [`Database::connect_driver`](crate::Database::connect_driver).
    #[must_use]
    pub fn after_connect(mut self, statements: impl Into<String>) -> Self {
        self.after_connect = Some(statements.into());
        self
    }

    /// Counts what happens to locks with this meter, which the application has from its own provider. The instruments are
    /// listed in the guide of the lock manager (`docs/locks.md`). What is held now is only known when somebody asks:
    /// [`LockManager::observe`](crate::LockManager::observe).
    #[cfg(feature = "opentelemetry")]
    #[must_use]
    pub fn meter(mut self, meter: opentelemetry::metrics::Meter) -> Self {
        self.meter = Some(meter);
        self
    }

    /// Accepts settings with which the database may forget, in a crash, a lock that it said was granted. Whoever holds it
    /// then finds out at the latest when they save. For databases whose contents nobody would miss.
    #[must_use]
    pub fn allow_unsafe_durability(mut self) -> Self {
        self.volatile = true;
        self
    }

    /// How often it is looked what happened in other processes to locks that are watched or waited for. It is only looked
    /// while there are any, and costs one statement per process. What happened in this process is seen at once.
    ///
    /// Otherwise 1 s; on PostgreSQL 5 s while other processes can be heard, because they tell.
    #[must_use]
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = Some(interval);
        self
    }
}

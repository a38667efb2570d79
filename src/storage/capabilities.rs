//! The capabilities of a database.

use std::fmt;

/// The capabilities of the connected database. An unsupported operation is refused with its name
/// ([`DatabaseError::Unsupported`](crate::error::DatabaseError::Unsupported)), never silently ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Its name and version: `PostgreSQL 15.18`.
    pub database: String,
    /// The granularity of a pessimistic lock.
    pub granularity: Granularity,
    /// Whether several nodes of a cluster accept writes: Galera, unless
    /// [`ConnectOptions::one_writer_node`](crate::storage::ConnectOptions::one_writer_node) is declared. A pessimistic lock then waits for
    /// transactions on its own node only. Of two transactions on different nodes that lock, hold or save the same aggregate or lease, one
    /// fails, at the latest at its commit, with [`DatabaseError::Deadlock`](crate::error::DatabaseError::Deadlock), which is retryable.
    /// `docs/clusters.md` lists the differences.
    pub several_writers: bool,
    /// Whether several transactions can hold [`LockMode::PessimisticRead`](crate::LockMode::PessimisticRead) on one
    /// aggregate at the same time.
    pub shared_locks: bool,
    /// Whether [`Repository::find_unlocked`](crate::Repository::find_unlocked) works.
    pub skip_locked: bool,
    /// Whether a [`LockTimeout`](crate::error::DatabaseError::LockTimeout) can name the blocking session.
    pub names_blocker: bool,
    /// Whether a save can hold a lease without blocking its heartbeats. Otherwise a heartbeat waits for the save.
    pub heartbeats_pass_saves: bool,
    /// The hosts of the database, and the one in use at this moment; `None` if its URL names one host.
    pub writer: Option<WriterHost>,
}

/// The hosts of a database whose URL names several, and the one that accepts writes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriterHost {
    /// All hosts with their ports, in the order of the URL: `db1:5432`.
    pub hosts: Vec<String>,
    /// The one in use.
    pub host: String,
    /// The number that rises with every failover: the timeline on PostgreSQL; on MariaDB and MySQL the number of changes of the writer that
    /// tenure has seen, and 0 on Galera, which has no such number.
    pub epoch: i64,
}

/// The granularity of a pessimistic lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Granularity {
    /// The aggregate's root row.
    Row,
    /// The whole database: one transaction writes at a time.
    Database,
}

/// The output of `tenure doctor`.
impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let yes = |can: bool| if can { "yes" } else { "no" };
        let locks = match self.granularity {
            Granularity::Row => "one row each",
            Granularity::Database => "the whole database: one writer at a time",
        };
        writeln!(f, "database                  {}", self.database)?;
        writeln!(f, "pessimistic locks         {locks}")?;
        if self.several_writers {
            writeln!(
                f,
                "several writing nodes     yes: locks wait on their own node; across nodes one of two fails at its commit"
            )?;
        }
        writeln!(f, "shared locks              {}", yes(self.shared_locks))?;
        writeln!(f, "skip locked               {}", yes(self.skip_locked))?;
        writeln!(f, "names the blocker         {}", yes(self.names_blocker))?;
        write!(f, "heartbeats pass saves     {}", yes(self.heartbeats_pass_saves))?;
        if let Some(WriterHost { host, epoch, .. }) = &self.writer {
            write!(f, "\nwriter                    {host}")?;
            if *epoch > 0 {
                write!(f, ", epoch {epoch}")?;
            }
        }
        Ok(())
    }
}

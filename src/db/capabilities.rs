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
    /// Whether a [`LockTimeout`](crate::error::DatabaseError::LockTimeout) can name the blocking session.
    pub names_blocker: bool,
    /// Whether a save can hold a lease without blocking its heartbeats. Otherwise a heartbeat waits for the save.
    pub heartbeats_pass_saves: bool,
}

/// The granularity of a pessimistic lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Granularity {
    /// The aggregate's root row. Several transactions can hold [`LockMode::PessimisticRead`](crate::LockMode::PessimisticRead) on it, and
    /// [`Repository::find_many_skip_locked`](crate::Repository::find_many_skip_locked) works.
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
        writeln!(f, "names the blocker         {}", yes(self.names_blocker))?;
        write!(f, "heartbeats pass saves     {}", yes(self.heartbeats_pass_saves))
    }
}

//! What a database can do, and what it cannot.

use std::fmt;

/// What the database at hand can do. What it cannot do is refused by name
/// ([`DatabaseError::Unsupported`](crate::error::DatabaseError::Unsupported)), never silently ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Its name and version: `PostgreSQL 15.18`.
    pub database: String,
    /// What a pessimistic lock keeps others from.
    pub granularity: Granularity,
    /// Whether several transactions can hold [`LockMode::PessimisticRead`](crate::LockMode::PessimisticRead) on one
    /// aggregate at the same time.
    pub shared_locks: bool,
    /// Whether [`Repository::find_unlocked`](crate::Repository::find_unlocked) works.
    pub skip_locked: bool,
    /// Whether a [`LockTimeout`](crate::error::DatabaseError::LockTimeout) can tell who was in the way.
    pub names_blocker: bool,
    /// Whether a save can hold a lease while its heartbeats pass. Where it cannot, a heartbeat waits for the save.
    pub heartbeats_pass_saves: bool,
    /// Whether a [`Condition`](crate::aggregate::Condition) can compare decimals.
    pub compares_decimals: bool,
}

/// What a pessimistic lock keeps others from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Granularity {
    /// The aggregate's root row.
    Row,
    /// Everything: one transaction writes at a time.
    Database,
}

/// As `tenure doctor` prints it.
impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let yes = |can: bool| if can { "yes" } else { "no" };
        let locks = match self.granularity {
            Granularity::Row => "one row each",
            Granularity::Database => "the whole database: one writer at a time",
        };
        writeln!(f, "database                  {}", self.database)?;
        writeln!(f, "pessimistic locks         {locks}")?;
        writeln!(f, "shared locks              {}", yes(self.shared_locks))?;
        writeln!(f, "skip locked               {}", yes(self.skip_locked))?;
        writeln!(f, "names who is in the way   {}", yes(self.names_blocker))?;
        writeln!(f, "heartbeats pass saves     {}", yes(self.heartbeats_pass_saves))?;
        write!(f, "compares decimals         {}", yes(self.compares_decimals))
    }
}

//! The number of connections of a process, by purpose.

use std::fmt;

/// The most connections that one process opens, by purpose. They are opened on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connections {
    /// For transactions and loads, and the application's own queries:
    /// [`ConnectOptions::max_connections`](super::ConnectOptions::max_connections).
    pub application: u32,
    /// For requests to the lock table, so that heartbeats succeed while all others are busy. SQLite uses the writer.
    pub lock_table: u32,
    /// For single requests of the lock manager that may wait for a row lock.
    pub reserve: u32,
    /// For writing, on databases with a single writer: SQLite.
    pub writer: u32,
}

impl Connections {
    /// All of them: the server must allow this many for each process, also while an old and a new release run side by side.
    pub const fn total(&self) -> u32 {
        self.application + self.lock_table + self.reserve + self.writer
    }
}

impl fmt::Display for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} per process at most: {} for the application", self.total(), self.application)?;
        let others =
            [(self.writer, "to write"), (self.lock_table, "for the lock table"), (self.reserve, "in reserve for it")];
        for (count, purpose) in others.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, ", {count} {purpose}")?;
        }
        Ok(())
    }
}

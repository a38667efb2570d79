//! A database, as the rest of the library sees it: a [`Connection`] that runs statements, and a [`Sheet`] with what differs in their texts.
//!
//! The deadline is inside the connection: a statement that waits ends when the transaction's time is over, so operations are plain code.

mod connection;
mod row;
mod sheet;
mod statement;

pub(crate) use connection::{Connection, Link};
pub(crate) use row::{Misfit, Row};
pub(crate) use sheet::{Dialect, Inserts, RowLocks, Sheet};
pub(crate) use statement::{Bind, LOCK, Sql, Statement, Text};

/// The lock of the rows that a statement reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowLock {
    None,
    Share,
    Update,
    /// Skips rows that another transaction has locked.
    SkipLocked,
}

impl RowLock {
    /// Whether it may have to wait.
    pub(crate) fn waits(self) -> bool {
        matches!(self, RowLock::Share | RowLock::Update)
    }
}

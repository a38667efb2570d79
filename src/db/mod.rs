//! A database, as the rest of the library sees it: a [`Connection`] that runs statements, and a [`Sheet`] with what differs in their texts.
//!
//! The deadline is inside the connection: a statement that waits ends when the transaction's time is over, so operations are plain code.

mod backend;
mod columns;
mod connection;
mod row;
mod sheet;
mod statement;

pub(crate) use backend::{Backend, on_each};
pub(crate) use columns::{Column, Holds};
pub(crate) use connection::{Connection, Link};
pub(crate) use row::{Misfit, Row};
#[cfg(test)]
pub(crate) use sheet::PLAIN;
pub(crate) use sheet::{Dialect, Inserts, RowLocks, Sheet};
pub(crate) use statement::{Bind, LOCK, Sql, Statement, Text};

use std::pin::Pin;

use crate::row_lock::LockMode;

/// A future on the heap, of a type that does not name what is in it: callers have small futures, and the compiler no type as deep as all
/// operations of a driver.
pub(crate) fn erased<'f, T>(
    future: impl Future<Output = T> + Send + 'f,
) -> Pin<Box<dyn Future<Output = T> + Send + 'f>> {
    Box::pin(future)
}

/// The lock of the rows that a statement reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowLock {
    None,
    Share,
    /// Keeps the key columns as they are; other columns may change, where the database can tell them apart.
    KeyShare,
    /// For a change that leaves the key columns as they are.
    NoKeyUpdate,
    Update,
    /// Skips rows that another transaction has locked.
    SkipLocked,
}

impl From<LockMode> for RowLock {
    fn from(mode: LockMode) -> Self {
        match mode {
            LockMode::PessimisticRead => RowLock::Share,
            LockMode::PessimisticWrite | LockMode::PessimisticForceIncrement => RowLock::Update,
            _ => RowLock::None,
        }
    }
}

impl RowLock {
    /// Whether it may have to wait.
    pub(crate) fn waits(self) -> bool {
        !matches!(self, RowLock::None | RowLock::SkipLocked)
    }
}

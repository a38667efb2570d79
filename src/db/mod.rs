//! The databases, and how to connect to them.
//!
//! The rest of the library sees a database as a connection that runs statements, and a sheet with what differs in their texts.
//!
//! The deadline is inside the connection: a statement that waits ends when the transaction's time is over, so operations are plain code.

mod backend;
pub(crate) mod capabilities;
pub(crate) mod columns;
mod connect_options;
mod connection;
mod connections;
pub(crate) mod diagnosis;
mod driver;
mod migration;
#[cfg(feature = "mysql")]
pub(crate) mod mysql;
mod own_error;
pub(crate) mod patience;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
mod row;
#[cfg(feature = "sea-orm")]
pub(crate) mod sea_orm;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod server;
mod sheet;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;
mod statement;

pub use capabilities::{Capabilities, Granularity};
pub use connect_options::ConnectOptions;
pub use connections::Connections;
pub use diagnosis::{CertificateCheck, Diagnosis, Setting, Transport, Writers};
pub use driver::DriverOptions;

pub(crate) use backend::{Backend, Purpose};
pub(crate) use columns::{Column, Holds};
pub(crate) use connection::{Connection, Link, Mode};
pub(crate) use driver::Address;
pub(crate) use row::{Misfit, Row};
#[cfg(fuzzing)]
pub(crate) use server::address::setting_names;
#[cfg(test)]
pub(crate) use sheet::PLAIN;
pub(crate) use sheet::{Catalog, Dialect, Inserts, RowLocks, Sheet};
pub(crate) use statement::{Bind, LOCK, Sql, Statement, Text};

use std::pin::Pin;

use crate::error::DatabaseError;
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
    /// As `Update`, but skips rows that another transaction has locked.
    SkipLocked,
    /// As `NoKeyUpdate`, but skips rows that another transaction has locked.
    NoKeyUpdateSkipLocked,
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
        !matches!(self, RowLock::None | RowLock::SkipLocked | RowLock::NoKeyUpdateSkipLocked)
    }
}

/// The effect of an error on its transaction. [`Transaction`](crate::Transaction) commits after none of them, because an operation has
/// several statements, and half of one must not be committed. At COMMIT it separates "not saved" from "unknown".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "no database does all of them")]
pub(crate) enum Effect {
    /// Only the statement was undone; the transaction continues, with its locks.
    StatementUndone,
    /// Only a rollback is accepted.
    Aborted,
    /// The server has rolled it back; the next statement runs outside it.
    Gone,
    /// No answer, or one that does not decide it.
    Unknown,
}

/// The reason that a server ended a transaction.
const IDLE_TOO_LONG: &str = "the transaction was idle for longer than `ConnectOptions::idle_in_transaction` allows \
                           (60,000 ms unless it is set; at most 10,000 ms for a batch of the lock table)";

/// Ends the session of a transaction from outside, at any moment of its work. When it returns, the transaction is rolled back, or its next
/// statement is.
pub(crate) type SessionEnd = Pin<Box<dyn Future<Output = Result<(), DatabaseError>> + Send>>;

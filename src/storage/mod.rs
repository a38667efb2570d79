//! The databases, and how to connect to them.

use async_trait::async_trait;

use crate::error::DatabaseError;
pub(crate) use crate::lease::operations::{
    Attempt, KeyState, LockAnswer, LockHash, LockOp, LockRequest, Proof, Resumption, TakenOver,
};

pub(crate) mod capabilities;
mod connect_options;
mod connections;
pub(crate) mod diagnosis;
#[cfg(test)]
#[path = "../../verify/differential/mod.rs"]
mod differential;
mod driver;
#[cfg(feature = "mysql")]
pub(crate) mod mysql;
mod own_error;
pub(crate) mod patience;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
mod saves;
#[cfg(feature = "sea-orm")]
pub(crate) mod sea_orm;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod server;
pub(crate) mod sql;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;
mod sweeping;

pub use capabilities::{Capabilities, Granularity};
pub use connect_options::ConnectOptions;
pub use connections::Connections;
pub use diagnosis::{CertificateCheck, Diagnosis, Setting, Transport, Writers};
pub(crate) use driver::Address;
pub use driver::DriverOptions;
use saves::Effect;
pub(crate) use saves::{Authorship, RowLocked, Save, Saved};
#[cfg(fuzzing)]
pub(crate) use server::address::setting_names;
pub(crate) use sweeping::{Slice, SweptRows};

/// The reason that a server ended a transaction.
#[cfg(any(feature = "postgres", feature = "mysql"))]
const IDLE_TOO_LONG: &str = "the transaction was idle for longer than `ConnectOptions::idle_in_transaction` allows \
                           (60,000 ms unless it is set)";

/// Ends the session of a transaction from outside, at any moment of its work.
#[async_trait]
pub(crate) trait EndSession: Send + Sync {
    /// When it returns, the transaction is rolled back, or its next statement is.
    async fn end(&self) -> Result<(), DatabaseError>;
}

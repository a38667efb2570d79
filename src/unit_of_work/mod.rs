//! A database, its transactions, and their operations: repositories that load and save aggregates, updates that load,
//! change and save, locks on several aggregates, and retries.

pub(crate) mod database;
mod explain;
mod guard_limit;
mod lock_guard;
pub(crate) mod lock_set;
mod names;
mod poisonable;
mod reading;
pub(crate) mod repeatable;
pub(crate) mod repository;
pub(crate) mod retry;
mod steps;
pub(crate) mod transaction;
pub(crate) mod update;
mod versions;

pub use database::Database;
pub use lock_set::{LockSet, Locked};
pub use repeatable::{RepeatableUpdate, Updated};
pub use repository::Repository;
pub use retry::{Retry, RetryOutcome, Transient};
pub use steps::{Also, Lent, NoSteps, Steps};
pub use transaction::Transaction;
pub use update::Update;

#![doc = include_str!("../README.md")]
// Without a backend there is nobody to call half of it; it is compiled all the same, to see that it stands alone.
#![cfg_attr(
    not(any(feature = "sqlite", feature = "postgres", feature = "mysql")),
    allow(dead_code, unused_variables, unused_imports)
)]

// The derives name `::tenure`; this lets the library's own examples and tests use them.
extern crate self as tenure;

mod aggregate;
mod backend;
mod batch;
mod capabilities;
pub mod children;
mod clock;
mod condition;
mod conflict;
mod cursor;
mod database;
mod diagnosis;
mod diff;
mod error;
mod explain;
mod grants;
mod lease;
mod lease_set;
mod limits;
mod listing;
mod lock_mode;
mod lock_order;
mod lock_set;
mod manager;
pub mod mapping;
mod merge;
mod metrics;
mod operation;
mod policy;
mod presence;
mod repeat;
mod repository;
mod request;
mod retry;
#[cfg(feature = "sea-orm")]
pub mod sea_orm;
mod seen;
mod shown;
mod transaction;
mod update;
mod update_all;
pub mod value;
mod version;
mod version_token;
mod versions;
mod watch;

pub use aggregate::{Aggregate, AggregateId, Entity, Loaded};
pub use capabilities::{Capabilities, Granularity};
pub use children::Children;
pub use clock::ManualClock;
pub use condition::Condition;
pub use conflict::{Change, FieldConflict, Side, VersionConflict};
pub use cursor::{Cursor, InvalidCursor};
pub use database::{ConnectOptions, Database};
pub use diagnosis::{CertificateCheck, Diagnosis, Setting, Transport};
pub use error::{
    AnswerError, BreakError, DatabaseError, Error, ErrorCode, LeaseError, LeaseSetError, ListError, LockError,
    RequestError, SweepError, TakeOverError, UpdateError,
};
pub use lease::{Holder, InvalidLockId, InvalidOwner, Lease, LeaseLossReason, LockId, LockKey, NoLock, Owner};
pub use lease_set::{HeldSet, LeaseSet};
pub use limits::{Limit, Limits};
pub use listing::{LeaseState, Listed, Page, PastLease, Successor};
pub use lock_mode::{LockMode, Wait};
pub use lock_order::LockInversion;
pub use lock_set::{LockSet, Locked};
pub use manager::{Acquisition, HeldByType, History, Listing, LockManager, Sweep, Swept, TakeOverPermission};
pub use merge::{Merge, Resolution};
pub use policy::{Acquire, InvalidPolicy, LockPolicy, ShowOwner};
pub use presence::{Heartbeat, Presence};
pub use repeat::{RepeatableUpdate, Updated};
pub use repository::{Repository, SkipLocked};
pub use request::{TransferReply, TransferRequest};
pub use retry::{Retry, RetryOutcome, RetryReason, Transient};
/// The sqlx whose pools and connections stand in this crate's API.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub use sqlx;
pub use tenure_derive::{Aggregate, Entity, ValueObject};
pub use transaction::Transaction;
pub use update::{StepFuture, Update};
pub use update_all::UpdateAll;
pub use value::ValueObject;
pub use version::{InvalidVersion, Version};
pub use version_token::{Expected, InvalidVersionToken, VersionToken};
pub use watch::{LockEvent, LockSnapshot, Watch};

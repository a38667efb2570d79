// The README is the front page. Its links are relative, for readers of the repository; on a page of documentation they would lead
// nowhere. Of two definitions of a link Markdown takes the first, so these stand before it.
//! [한국어]: https://docs.rs/crate/tenure/latest/source/README.ko.md
//! [guide]: https://docs.rs/crate/tenure/latest/source/docs/guide/introduction.md
//! [guide-ko]: https://docs.rs/crate/tenure/latest/source/docs/guide/ko/introduction.md
//! [frictions]: https://docs.rs/crate/tenure/latest/source/docs/guide/questions.md
//! [only-locks]: https://docs.rs/crate/tenure/latest/source/docs/guide/only-locks.md
//! [chapter]: https://docs.rs/crate/tenure/latest/source/docs/guide/chapter.md
//! [demo-without]: https://docs.rs/crate/tenure/latest/source/docs/pictures/demo-without.png
//! [demo-with]: https://docs.rs/crate/tenure/latest/source/docs/pictures/demo-with.png
//! [guarantees]: https://docs.rs/crate/tenure/latest/source/docs/evidence/guarantees.md
//! [aggregates]: https://docs.rs/crate/tenure/latest/source/docs/aggregates.md
//! [locks]: https://docs.rs/crate/tenure/latest/source/docs/locks.md
//! [databases]: https://docs.rs/crate/tenure/latest/source/docs/databases.md
//! [performance]: https://docs.rs/crate/tenure/latest/source/docs/performance.md
//! [clusters]: https://docs.rs/crate/tenure/latest/source/docs/clusters.md
//! [scale]: https://docs.rs/crate/tenure/latest/source/docs/scale.md
//! [reliability]: https://docs.rs/crate/tenure/latest/source/docs/evidence/reliability.md
//! [security]: https://docs.rs/crate/tenure/latest/source/SECURITY.md
//! [threats]: https://docs.rs/crate/tenure/latest/source/docs/evidence/threat-model.md
//! [asvs]: https://docs.rs/crate/tenure/latest/source/docs/evidence/asvs.md
//! [architecture]: https://docs.rs/crate/tenure/latest/source/ARCHITECTURE.md
//! [contributing]: https://docs.rs/crate/tenure/latest/source/CONTRIBUTING.md
//! [changelog]: https://docs.rs/crate/tenure/latest/source/CHANGELOG.md
//! [examples]: https://docs.rs/crate/tenure/latest/source/examples/
//! [page]: https://docs.rs/tenure-web/latest/tenure_web/#the-pages-side
//!
#![doc = include_str!("../README.md")]
//!
//! # Map of the library
//!
//! The names that nearly every program uses are at the root. The others are in the module of their subject:
//!
//! | module | contents |
//! |---|---|
//! | [`aggregate`] | the traits of aggregates, entities and value objects, mapping, column values, children, conditions |
//! | [`version`] | versions, tokens that carry them through forms, conflicts, merging |
//! | [`row_lock`] | lock modes and waits |
//! | [`lease`] | keys, owners and holders, policies, limits, heartbeats, the reasons of a loss |
//! | [`error`] | one error type per question: see the table below |
//! | [`db`] | how to connect, what a database can do, its diagnosis |
//! | [`unit_of_work`] | databases, transactions, repositories, updates, retries |
//! | [`lock_manager`] | acquiring, keeping, taking over, listing and sweeping leases |
//! | [`clock`] | a clock for tests |
//!
//! # Errors
//!
//! One enum per question.
//!
#![doc = include_str!("error/questions.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "sqlite", feature = "postgres", feature = "mysql")),
    allow(dead_code, unreachable_patterns, unused_imports, reason = "what another database needs")
)]

#[cfg(not(any(feature = "sqlite", feature = "postgres", feature = "mysql")))]
compile_error!("tenure needs a database: choose at least one of its features `sqlite`, `postgres` and `mysql`");

// The derives name `::tenure`; this lets the library's own examples and tests use them.
extern crate self as tenure;

pub mod aggregate;
pub mod clock;
pub mod db;
pub mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod lease;
pub mod lock_manager;
mod lock_table;
pub mod row_lock;
#[cfg(feature = "sea-orm")]
pub mod sea_orm;
#[cfg(test)]
#[path = "../verify/simulation/mod.rs"]
mod simulation;
mod store;
mod telemetry;
pub mod unit_of_work;
pub mod version;

pub use aggregate::{Aggregate, Entity, Loaded, ValueObject};
pub use error::Error;
pub use lease::{Lease, LockId, LockKey, LockPolicy, Owner};
pub use lock_manager::LockManager;
pub use row_lock::{LockMode, Wait};
/// The version of sqlx whose pools and connections are part of this crate's API.
pub use sqlx;
pub use tenure_derive::{Aggregate, Entity, ValueObject};
pub use unit_of_work::{Database, Repository, Transaction};
pub use version::{Version, VersionConflict, VersionToken};

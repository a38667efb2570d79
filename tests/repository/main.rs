//! The repository itself: the order of imports, what documents name, the programs of `examples/`, the texts that the changes of SQL need.

#![cfg(feature = "sqlite")]
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod architecture;
mod documents;
mod dropped_calls;
mod examples;
mod guide;
mod guide_testing;
#[path = "../../verify/sql_changes/src/changes.rs"]
mod sql_changes;

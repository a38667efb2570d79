//! All SQL, once for all databases: the statements of aggregates, of their revisions, and of what is kept beside them.
//!
//! Every column is named: a column that a newer release adds does not stop an older process.

mod authorship;
pub(crate) mod counts;
pub(crate) mod insert;
pub(crate) mod leases;
mod lineage;
pub(crate) mod lists;
pub(crate) mod live;
pub(crate) mod load;
pub(crate) mod operation;
mod own;
pub(crate) mod plan;
pub(crate) mod revisions;
pub(crate) mod save;
mod statements;
pub(crate) mod sweep;
mod texts;
mod whole;

#[cfg(test)]
#[path = "../../verify/differential/mod.rs"]
mod differential;

pub(crate) use authorship::Authorship;
pub(crate) use save::{Save, Saved};
pub(crate) use sweep::{Slice, SweptRows};

/// The number of attempts of one of our own operations.
const ATTEMPTS: u32 = 8;

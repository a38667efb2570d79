//! Row locks of the database: in which mode an aggregate is loaded, how long to wait, and which transactions lock in different
//! orders. No I/O here.

pub(crate) mod mode;
pub(crate) mod order;

pub use mode::{LockMode, Wait};
pub use order::LockInversion;

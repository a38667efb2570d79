//! Row locks of the database: the lock mode of a load, and the time limit of a wait. No I/O here.

pub(crate) mod mode;

pub use mode::{LockMode, Wait};

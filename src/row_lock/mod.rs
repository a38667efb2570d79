//! Row locks of the database: the lock mode of a load, the time limit of a wait, and the detection of inverted lock
//! orders. No I/O here.

pub(crate) mod mode;
pub(crate) mod order;

pub use mode::{LockMode, Wait};
pub use order::LockInversion;

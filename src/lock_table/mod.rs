//! Questions to the lock table that share something in one process: a round trip, or a limit on what one owner holds.

pub(crate) mod batch;
pub(crate) mod grants;

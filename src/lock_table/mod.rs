//! Requests to the lock table that share something within one process: a round trip, or the quota of one owner.

pub(crate) mod batch;
pub(crate) mod grants;

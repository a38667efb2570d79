//! The result of a poll for a key. No I/O here.

use crate::aggregate::version::Version;
use crate::lease::{Holder, LeaseLossReason};

/// One fact about a key.
#[derive(Debug, Clone)]
pub(crate) enum Seen {
    /// A row of the lock table, live or not.
    Lease(SeenLease),
    /// An ended lease.
    Past(PastLease),
    /// The newest version with a stored revision.
    Version(Version),
    /// The first waiter in the queue, by its ticket, and the length of the queue.
    Line { first: i64, waiting: u32 },
}

/// A row of the lock table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenLease {
    pub holder: Holder,
    pub lock: Vec<u8>,
    pub exclusive: bool,
    pub ended: bool,
    /// The reason if it expired.
    pub ran_out: LeaseLossReason,
}

impl SeenLease {
    pub(crate) fn alive(&self) -> bool {
        !self.ended && !self.holder.remaining.is_zero()
    }
}

/// An ended lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PastLease {
    /// Its former holder.
    pub holder: Holder,
    pub why: LeaseLossReason,
}

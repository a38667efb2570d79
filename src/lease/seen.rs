//! What is seen of a key when the database is looked at. No I/O here.

use crate::aggregate::version::Version;
use crate::lease::transfer::TransferRequest;
use crate::lease::{Holder, LeaseLossReason};

/// One thing that is seen of a key.
#[derive(Debug, Clone)]
pub(crate) enum Seen {
    /// A row of the lock table, alive or not.
    Lease(SeenLease),
    /// A lease that ended.
    Past(PastLease),
    /// Somebody asks the holder of a generation.
    Request(SeenRequest),
    /// The newest version whose state is kept.
    Version(Version),
    /// Who is first in line, by the ticket, and how many stand in it.
    Line { first: i64, waiting: u32 },
}

/// A row of the lock table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenLease {
    pub holder: Holder,
    pub lock: Vec<u8>,
    pub exclusive: bool,
    pub reserved: bool,
    pub ended: bool,
    /// How it ended, if nobody ended it.
    pub ran_out: LeaseLossReason,
}

impl SeenLease {
    pub(crate) fn alive(&self) -> bool {
        !self.ended && !self.holder.remaining.is_zero()
    }
}

/// A lease that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PastLease {
    /// Whose it was.
    pub holder: Holder,
    pub why: LeaseLossReason,
}

/// A request, and by what its holder names whoever asks where the policy hides who that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenRequest {
    pub request: TransferRequest,
    pub handle: String,
}

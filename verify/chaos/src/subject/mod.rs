//! What is put to the test: ledgers and locks behind one small trait. Workloads know nothing else.

#[cfg(feature = "planted")]
pub(crate) mod planted;
mod refusal;
pub(crate) mod tenure;

use std::time::Duration;

use ::tenure::LockId;

use crate::history::{Answered, Args, Guarded};

pub(crate) use refusal::{DROPPED, Refusal};

/// What came of a call.
pub(crate) type Answer<T> = std::result::Result<T, Refusal>;

/// A granted or confirmed lease.
#[derive(Debug, Clone)]
pub(crate) struct Grant {
    /// The fencing number.
    pub(crate) generation: i64,
    /// When it was granted, by the database's clock.
    pub(crate) since_ms: i64,
    /// What was left of it when the database answered.
    pub(crate) remaining: Duration,
}

impl Answered for Grant {
    fn args(&self) -> Args {
        let remaining_ms = u64::try_from(self.remaining.as_millis()).ok();
        Args { generation: Some(self.generation), since_ms: Some(self.since_ms), remaining_ms, ..Args::default() }
    }
}

/// A ledger as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Its version.
    pub(crate) version: i64,
    /// The ids of the operations that were appended.
    pub(crate) operations: Vec<String>,
}

impl Answered for Seen {
    fn args(&self) -> Args {
        Args {
            version: Some(self.version),
            len: Some(self.operations.len() as u64),
            digest: Some(digest(self.operations.iter().map(String::as_str)).last().unwrap_or(EMPTY)),
            ..Args::default()
        }
    }
}

/// The digest of no operation.
pub(crate) const EMPTY: u64 = 0xCBF2_9CE4_8422_2325;

/// The digest of each beginning of a list of operations, the first one has one operation (FNV-1a).
pub(crate) fn digest<'a>(operations: impl Iterator<Item = &'a str>) -> impl Iterator<Item = u64> {
    operations.scan(EMPTY, |state, operation| {
        for byte in operation.bytes().chain([0xFF]) {
            *state = (*state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
        Some(*state)
    })
}

/// A write to one ledger.
#[derive(Debug, Clone)]
pub(crate) struct Append<'a> {
    /// Which ledger.
    pub(crate) ledger: &'a str,
    /// The operation's id: what is appended.
    pub(crate) op: &'a str,
    /// Who writes.
    pub(crate) owner: &'a str,
    /// What it relies upon.
    pub(crate) guard: Guard<'a>,
    /// How long the transaction pauses between the save and the commit.
    pub(crate) pause: Duration,
    /// How long it may wait for others.
    pub(crate) limit: Duration,
}

/// What a write relies upon.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Guard<'a> {
    /// A lease.
    Lease { lock: &'a LockId, generation: i64, release: bool },
    /// A row lock.
    Row,
    /// The version that was read.
    Version(i64),
    /// The version that was read, and that nobody holds the lease.
    UnlessLocked(i64),
}

impl Guard<'_> {
    pub(crate) fn kind(&self) -> Guarded {
        match self {
            Guard::Lease { release: false, .. } => Guarded::Lease,
            Guard::Lease { release: true, .. } => Guarded::LeaseReleased,
            Guard::Row => Guarded::Row,
            Guard::Version(_) => Guarded::Version,
            Guard::UnlessLocked(_) => Guarded::UnlessLocked,
        }
    }

    pub(crate) fn generation(&self) -> Option<i64> {
        match self {
            Guard::Lease { generation, .. } => Some(*generation),
            _ => None,
        }
    }
}

/// A write that was acknowledged.
#[derive(Debug, Clone, Default)]
pub(crate) struct Appended {
    /// The version that it made; none for several ledgers.
    pub(crate) version: Option<i64>,
    /// Between which moments the row was surely locked.
    pub(crate) row_ns: Option<(u64, u64)>,
    /// The versions of the ledgers that a transfer found unchanged.
    pub(crate) saw: Vec<(String, i64)>,
}

impl Answered for Appended {
    fn args(&self) -> Args {
        Args { version: self.version, row_ns: self.row_ns, saw: self.saw.clone(), ..Args::default() }
    }
}

/// An amount that moves from the first ledger to each of the others. All of them note the operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer<'a> {
    /// The ledgers, in any order.
    pub(crate) ledgers: &'a [&'a str],
    /// Ledgers that are only read, and must not change before the commit.
    pub(crate) watched: &'a [&'a str],
    /// The operation's id.
    pub(crate) op: &'a str,
    /// Who writes.
    pub(crate) owner: &'a str,
    /// What each of the others gets.
    pub(crate) amount: i64,
    /// Whether the rows are locked, or only the versions compared.
    pub(crate) pessimistic: bool,
    /// How long it may wait for others.
    pub(crate) limit: Duration,
}

/// Ledgers and their locks.
pub(crate) trait Subject: Clone + Send + Sync + 'static {
    /// Requests the lease of a key. Repeated with the same lock id, it is the same lease.
    fn lock(&self, key: &str, owner: &str, lock: &LockId) -> impl Future<Output = Answer<Grant>> + Send;

    /// As [`lock`](Self::lock), and waits while somebody holds it.
    fn lock_within(
        &self,
        key: &str,
        owner: &str,
        lock: &LockId,
        wait: Duration,
    ) -> impl Future<Output = Answer<Grant>> + Send;

    /// Gives a lease its whole time to live again.
    fn keep_alive(&self, lock: &LockId) -> impl Future<Output = Answer<Grant>> + Send;

    /// Shortens the rest of a lease.
    fn shorten(&self, lock: &LockId, within: Duration) -> impl Future<Output = Answer<Grant>> + Send;

    /// Extends a lease.
    fn extend(&self, lock: &LockId, by: Duration) -> impl Future<Output = Answer<Grant>> + Send;

    /// Releases a lease.
    fn release(&self, lock: &LockId) -> impl Future<Output = Answer<()>> + Send;

    /// Whether a lock id holds a lease. It neither extends nor ends it.
    fn check(&self, lock: &LockId) -> impl Future<Output = Answer<Grant>> + Send;

    /// The generation of the lease that is held now, if one is.
    fn holder(&self, key: &str) -> impl Future<Output = Answer<Option<i64>>> + Send;

    /// Ends the lease of this generation.
    fn break_lock(&self, key: &str, generation: i64, by: &str) -> impl Future<Output = Answer<()>> + Send;

    /// Makes a ledger.
    fn insert(&self, ledger: &str, op: &str) -> impl Future<Output = Answer<Appended>> + Send;

    /// Reads a ledger.
    fn read(&self, ledger: &str) -> impl Future<Output = Answer<Seen>> + Send;

    /// Appends to a ledger.
    fn append(&self, append: &Append<'_>) -> impl Future<Output = Answer<Appended>> + Send;

    /// Moves an amount between ledgers.
    fn transfer(&self, transfer: &Transfer<'_>) -> impl Future<Output = Answer<Appended>> + Send;
}

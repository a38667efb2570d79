//! How a row is locked while its transaction runs, and how long to wait for it.

use std::time::Duration;

/// The lock modes of Jakarta Persistence, with their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LockMode {
    /// Load only. Saving still checks the version.
    None,
    /// The version is checked when the aggregate is saved, and at the commit where it was only read: the default.
    #[default]
    Optimistic,
    /// As `Optimistic`, and the version rises with the save, or at the commit where nothing was saved.
    OptimisticForceIncrement,
    /// Nobody changes the aggregate until the transaction ends; others may read it.
    PessimisticRead,
    /// Nobody changes the aggregate, or locks it, until the transaction ends; others may read it without a lock.
    PessimisticWrite,
    /// As `PessimisticWrite`, and the version rises with the save, or at the commit where nothing was saved.
    PessimisticForceIncrement,
}

impl LockMode {
    /// Whether the version rises even when nothing changed.
    pub fn forces_increment(self) -> bool {
        matches!(self, LockMode::OptimisticForceIncrement | LockMode::PessimisticForceIncrement)
    }

    /// Whether others are kept from changing the aggregate while the transaction runs.
    pub fn is_pessimistic(self) -> bool {
        use LockMode::*;
        matches!(self, PessimisticRead | PessimisticWrite | PessimisticForceIncrement)
    }
}

/// How long a transaction may wait for others, in total: for a connection and for all the locks it takes. A database that does
/// not answer at all is waited for 250 ms longer, and for 1,000 ms after each statement at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// Fail at once if somebody else is in the way, or has the last connection.
    No,
    /// Wait at most this long, to the millisecond. What an hour cannot wait for is cut to an hour.
    Within(Duration),
}

impl Wait {
    /// The longest wait there is: an hour. A request that waits longer has nobody at the other end.
    pub const LONGEST: Duration = Duration::from_secs(3600);

    /// The budget: zero for [`Wait::No`].
    pub(crate) fn budget(self) -> Duration {
        match self {
            Wait::No => Duration::ZERO,
            Wait::Within(duration) => duration.min(Self::LONGEST),
        }
    }
}

/// 5,000 ms: longer than any unit of work should take, shorter than a person's patience.
impl Default for Wait {
    fn default() -> Self {
        Wait::Within(Duration::from_secs(5))
    }
}

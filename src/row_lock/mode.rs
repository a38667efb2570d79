//! The lock mode of a row, and the time limit of a wait for it.

use std::time::Duration;

/// The lock modes of Jakarta Persistence, with their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LockMode {
    /// Load only. Saving still checks the version.
    None,
    /// The version is checked when the aggregate is saved, or at the commit if it was only read: the default.
    #[default]
    Optimistic,
    /// As `Optimistic`, and the version rises with the save, or at the commit if nothing was saved.
    OptimisticForceIncrement,
    /// Nobody changes the aggregate until the transaction ends; others may read it.
    PessimisticRead,
    /// Nobody changes the aggregate, or locks it, until the transaction ends; others may read it without a lock.
    PessimisticWrite,
    /// As `PessimisticWrite`, and the version rises with the save, or at the commit if nothing was saved.
    PessimisticForceIncrement,
}

impl LockMode {
    /// Whether the version rises even when nothing changed.
    pub fn forces_increment(self) -> bool {
        matches!(self, LockMode::OptimisticForceIncrement | LockMode::PessimisticForceIncrement)
    }

    /// Whether others cannot change the aggregate while the transaction runs.
    pub fn is_pessimistic(self) -> bool {
        use LockMode::*;
        matches!(self, PessimisticRead | PessimisticWrite | PessimisticForceIncrement)
    }
}

/// How long a transaction may wait for others, in total: for a connection and for all locks that it takes. If the database does
/// not answer at all, the wait is 250 ms longer, and at least 1,000 ms after each statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// Fail at once if another transaction holds the row, or if no connection is free.
    No,
    /// Wait at most this long, to the millisecond. The maximum is an hour; longer values are cut to it.
    Within(Duration),
}

impl Wait {
    /// The longest wait: an hour. The caller of a request that waits longer is gone.
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

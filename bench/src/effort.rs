//! How much is done to get a figure.

use std::time::Duration;

/// How many samples, for how long, on how much.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Rounds of every comparison; a ratio is made per round. Five at least.
    pub(crate) rounds: usize,
    /// Samples of each side in a round, where there is one caller.
    pub(crate) samples: usize,
    /// Turns before the first that counts.
    pub(crate) warm_up: usize,
    /// How long each side runs in a round, where there are many callers.
    pub(crate) slice: Duration,
    /// How many leases beat together.
    pub(crate) leases: usize,
    /// How many rows a lock table has that has grown.
    pub(crate) rows: u64,
}

impl Effort {
    /// For figures.
    pub(crate) const FULL: Effort = Effort {
        rounds: 7,
        samples: 100,
        warm_up: 60,
        slice: Duration::from_millis(1500),
        leases: 10_000,
        rows: 5_000_000,
    };

    /// To see that it works.
    pub(crate) const QUICK: Effort =
        Effort { rounds: 5, samples: 10, warm_up: 20, slice: Duration::from_millis(250), leases: 500, rows: 200_000 };
}

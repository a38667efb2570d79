//! The amount of work for a figure.

use std::time::Duration;

/// The number of samples, their duration and their size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Rounds of every comparison; a ratio is computed per round. At least five.
    pub(crate) rounds: usize,
    /// Samples of each side in a round with one caller.
    pub(crate) samples: usize,
    /// Turns before the first that counts.
    pub(crate) warm_up: usize,
    /// The duration of each side in a round with many callers.
    pub(crate) slice: Duration,
    /// The number of leases with heartbeats.
    pub(crate) leases: usize,
    /// The number of rows in a grown lock table.
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

    /// To check that it works.
    pub(crate) const QUICK: Effort =
        Effort { rounds: 5, samples: 10, warm_up: 20, slice: Duration::from_millis(250), leases: 500, rows: 200_000 };
}

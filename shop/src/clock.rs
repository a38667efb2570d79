//! The clock of sessions and rate limits.

use std::time::{Duration, SystemTime};

use tenure::clock::ManualClock;

/// The system's clock, or a test's clock.
#[derive(Debug, Clone, Default)]
pub(crate) enum Clock {
    #[default]
    System,
    Given(ManualClock),
}

impl Clock {
    /// The time since 1970.
    pub(crate) fn now(&self) -> Duration {
        let now = match self {
            Clock::System => SystemTime::now(),
            Clock::Given(clock) => clock.now(),
        };
        now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
    }

    /// Seconds since 1970.
    pub(crate) fn seconds(&self) -> i64 {
        i64::try_from(self.now().as_secs()).unwrap_or(i64::MAX)
    }
}

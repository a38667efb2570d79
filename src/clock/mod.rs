//! Time comes from the database, never from the application: all sessions that compete for a lock use one clock.
//!
//! Durations cross the interface, instants don't. Tests have a clock that changes only when they move it, and the
//! database uses it instead of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A clock for tests. It changes only by [`advance`](ManualClock::advance) or [`set`](ManualClock::set). Clones
/// show the same time.
///
/// ```
/// # use std::time::Duration;
/// let clock = tenure::clock::ManualClock::new();
/// let before = clock.now();
/// clock.advance(Duration::from_secs(300));
/// assert_eq!(clock.now().duration_since(before).unwrap(), Duration::from_secs(300));
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that starts at the current time.
    pub fn new() -> Self {
        ManualClock(Arc::new(AtomicI64::new(to_micros(SystemTime::now()) / 1000)))
    }

    /// The time of the clock, to the millisecond.
    pub fn now(&self) -> SystemTime {
        from_millis(self.millis())
    }

    /// Moves it forward.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(millis(by), Ordering::SeqCst);
    }

    /// Sets it, forward or backward, to the millisecond, like a correction of the clock of a database's host.
    pub fn set(&self, to: SystemTime) {
        self.0.store(to_micros(to).div_euclid(1000), Ordering::SeqCst);
    }

    pub(crate) fn millis(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

/// Milliseconds of a duration, saturating.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// The instant that many milliseconds after 1970.
pub(crate) fn from_millis(millis: i64) -> SystemTime {
    from_micros(millis.saturating_mul(1000))
}

/// Times in JSON, in whole milliseconds: instants since 1970 by the database's clock, durations by themselves.
pub(crate) mod ms {
    use std::time::{Duration, SystemTime};

    use serde::Serializer;

    pub(crate) fn instant<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(super::to_micros(*time).div_euclid(1000))
    }

    pub(crate) fn duration<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(super::millis(*time))
    }
}

/// The time from `now` until then, both in milliseconds since 1970; zero if it has passed.
pub(crate) fn until(then: i64, now: i64) -> Duration {
    Duration::from_millis(u64::try_from(then.saturating_sub(now)).unwrap_or(0))
}

/// Microseconds since 1970, negative before: the microsecond in which the instant lies.
pub(crate) fn to_micros(time: SystemTime) -> i64 {
    let micros = |duration: Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
    let up = Duration::from_nanos(999);
    time.duration_since(UNIX_EPOCH).map_or_else(|before| -micros(before.duration().saturating_add(up)), micros)
}

/// The instant that many microseconds after 1970 (before, when negative).
pub(crate) fn from_micros(micros: i64) -> SystemTime {
    let distance = Duration::from_micros(micros.unsigned_abs());
    if micros < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}

//! The clock by which histories are ordered. It never steps, and all processes of one machine share it.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the monotonic clock.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or_default() * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or_default()
}

/// Milliseconds in the same unit.
pub(crate) const fn ms(milliseconds: u64) -> u64 {
    milliseconds * 1_000_000
}

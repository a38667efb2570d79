//! Grants after a failover. A standby may lack the newest leases, and their holders rely on them until they expire.

use std::time::Duration;

use crate::clock::millis;
use crate::lease::LockPolicy;

/// The shortest pause after a failover, unless the application declares its longest time to live: that of the default policy.
const DEFAULT_TTL: Duration = LockPolicy::exclusive().ttl;

/// The declarations of the application about failovers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Declared {
    /// A failover loses nothing that was acknowledged.
    pub lossless: bool,
    /// The longest time to live of all policies of all processes.
    pub longest_ttl: Option<Duration>,
}

impl Declared {
    /// No lease is granted before this time of the database's clock, in milliseconds since 1970, after a failover at `now`: every lost lease
    /// has expired by then. `former` is the end of an earlier pause, and `stored` the longest time to live in the lock table.
    pub(crate) fn no_grants_before(self, former: i64, now: i64, stored: Duration) -> i64 {
        match self.pause(stored) {
            Duration::ZERO => former,
            pause => former.max(now.saturating_add(millis(pause))),
        }
    }

    /// A lost lease of a type without a row in the lock table may have had another time to live, so the default is a lower bound.
    fn pause(self, stored: Duration) -> Duration {
        match self {
            Declared { lossless: true, .. } => Duration::ZERO,
            Declared { longest_ttl: Some(longest), .. } => longest,
            _ => stored.max(DEFAULT_TTL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_granted_for_the_longest_time_to_live() {
        let (none, hour) = (Declared::default(), Duration::from_secs(3600));
        let longest_ttl = Some(Duration::from_secs(3));
        let before = |declared: Declared, stored| declared.no_grants_before(7, 1_000, stored);
        assert_eq!(before(none, Duration::ZERO), 301_000, "the time to live of the default policy");
        assert_eq!(before(none, hour), 3_601_000);
        assert_eq!(before(Declared { longest_ttl, ..none }, hour), 4_000);
        assert_eq!(before(Declared { lossless: true, longest_ttl }, hour), 7, "an earlier pause goes on");
        assert_eq!(none.no_grants_before(400_000, 1_000, Duration::ZERO), 400_000, "an earlier pause is not cut short");
    }
}

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

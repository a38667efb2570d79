//! What locks of one aggregate type are like.

use std::time::Duration;

/// How the locks of one aggregate type behave: exclusive or advisory, how long without a sign of life, how long at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockPolicy {
    pub(crate) ttl: Duration,
    pub(crate) limit: Duration,
    pub(crate) exclusive: bool,
}

impl LockPolicy {
    /// The shortest time to live: three heartbeats of a tab that may beat once a second.
    pub const SHORTEST_TTL: Duration = Duration::from_secs(3);
    /// The longest time to live: a lock that outlives its tab by more than a day helps nobody.
    pub const LONGEST_TTL: Duration = Duration::from_secs(24 * 3600);

    /// One holder at a time, 5 minutes without a sign of life, 12 hours at most: the default of every type.
    ///
    /// Five minutes because browsers wake the timers of a hidden tab once a minute at best: a beat that is due every
    /// 60 s may come after 120 s, and one may be lost on the way.
    pub const fn exclusive() -> Self {
        LockPolicy { ttl: Duration::from_secs(300), limit: Duration::from_secs(12 * 3600), exclusive: true }
    }

    /// Everybody gets a lease, and everybody is told of the others; the version decides when they save.
    pub const fn advisory() -> Self {
        LockPolicy { exclusive: false, ..Self::exclusive() }
    }

    /// Whether there is one holder at a time.
    pub const fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Sets how long a lease lasts without a sign of life.
    ///
    /// # Errors
    /// [`InvalidPolicy`] outside 3 seconds to 24 hours.
    pub fn ttl(mut self, ttl: Duration) -> Result<Self, InvalidPolicy> {
        if !(Self::SHORTEST_TTL..=Self::LONGEST_TTL).contains(&ttl) {
            return Err(InvalidPolicy(format!("a time to live of {ttl:?} is outside 3 s to 24 h")));
        }
        self.ttl = ttl;
        Ok(self)
    }

    /// Sets how long a lease can be kept alive at all, from when it was taken.
    ///
    /// # Errors
    /// [`InvalidPolicy`] when that is shorter than the time to live, or longer than 30 days.
    pub fn absolute_limit(mut self, limit: Duration) -> Result<Self, InvalidPolicy> {
        if limit < self.ttl || limit > Duration::from_secs(30 * 24 * 3600) {
            return Err(InvalidPolicy(format!(
                "an absolute limit of {limit:?} is outside the time to live to 30 days"
            )));
        }
        self.limit = limit;
        Ok(self)
    }
}

impl Default for LockPolicy {
    fn default() -> Self {
        Self::exclusive()
    }
}

/// A policy that would lock people out, or lock nobody out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}; choose a value inside")]
pub struct InvalidPolicy(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_times_to_live_are_refused() {
        for absurd in [Duration::ZERO, Duration::from_millis(2_999), Duration::from_secs(86_401), Duration::MAX] {
            assert!(LockPolicy::exclusive().ttl(absurd).is_err(), "{absurd:?}");
        }
        assert_eq!(
            LockPolicy::exclusive().ttl(Duration::from_secs(3)).map(|policy| policy.ttl),
            Ok(Duration::from_secs(3))
        );
    }

    #[test]
    fn a_limit_below_the_time_to_live_is_refused() {
        assert!(LockPolicy::exclusive().absolute_limit(Duration::from_secs(299)).is_err());
    }
}

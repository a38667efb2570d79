//! The lock policy of one aggregate type.

use std::time::Duration;

/// How the locks of one aggregate type behave: exclusive or advisory; their time to live, idle limit and absolute limit;
/// when a form acquires them; and the visibility of the holder.
///
/// ```
/// use std::time::Duration;
/// use tenure::lease::Acquire;
/// use tenure::LockPolicy;
///
/// const MINUTE: Duration = Duration::from_secs(60);
/// // The lease ends three minutes after the tab was closed, fifteen after the last input, two hours after it was acquired.
/// let orders = LockPolicy::exclusive()
///     .ttl(3 * MINUTE)?
///     .idle_limit(15 * MINUTE)?
///     .absolute_limit(120 * MINUTE)?
///     .acquiring(Acquire::OnFirstEdit);
/// assert!(orders.ttl(Duration::from_secs(1)).is_err()); // shorter than a browser can keep alive
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockPolicy {
    pub(crate) ttl: Duration,
    pub(crate) limit: Duration,
    pub(crate) idle: Option<Duration>,
    pub(crate) exclusive: bool,
    pub(crate) acquire: Acquire,
    pub(crate) shown: ShowOwner,
}

/// When a form acquires the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Acquire {
    /// When it is opened, for a form that is opened to change something.
    #[default]
    OnOpen,
    /// With the first change, for a form that most people open to read.
    OnFirstEdit,
}

/// The visibility of a holder to other people. Holders always see themselves, and operators see everybody, see
/// [`LockManager::list`](crate::LockManager::list).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ShowOwner {
    /// Id and name.
    #[default]
    ByName,
    /// Only the role, see [`Owner::in_role`](crate::Owner::in_role); nothing if there is none.
    ByRole,
    /// Only that the lock is held.
    Anonymous,
}

impl LockPolicy {
    /// The shortest time to live: three heartbeats of a tab at one per second.
    pub const SHORTEST_TTL: Duration = Duration::from_secs(3);
    /// The longest time to live: a lock that outlives its tab by more than a day has no use.
    pub const LONGEST_TTL: Duration = Duration::from_secs(24 * 3600);

    /// One holder at a time, 5 minutes without a heartbeat, 12 hours at most: the default of every type.
    ///
    /// Five minutes, because browsers wake the timers of a hidden tab once a minute at best: a heartbeat that is due every
    /// 60 s may come after 120 s, and one may be lost.
    pub const fn exclusive() -> Self {
        LockPolicy {
            ttl: Duration::from_secs(300),
            limit: Duration::from_secs(12 * 3600),
            idle: None,
            exclusive: true,
            acquire: Acquire::OnOpen,
            shown: ShowOwner::ByName,
        }
    }

    /// Everybody gets a lease and sees the other holders; the version decides at the save.
    pub const fn advisory() -> Self {
        LockPolicy { exclusive: false, ..Self::exclusive() }
    }

    /// Whether there is one holder at a time.
    pub const fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// When a form acquires the lock.
    pub const fn acquire(&self) -> Acquire {
        self.acquire
    }

    /// How long a lease can be kept alive without the person's input, see [`idle_limit`](Self::idle_limit); `None` for as long as with
    /// it.
    pub const fn longest_idle(&self) -> Option<Duration> {
        self.idle
    }

    /// How long a lease can be kept alive at all, see [`absolute_limit`](Self::absolute_limit).
    pub const fn longest_held(&self) -> Duration {
        self.limit
    }

    /// The interval of heartbeats of an open form: 60 s, or a fifth of the time to live if that is shorter.
    pub fn heartbeat_interval(&self) -> Duration {
        heartbeat_interval(self.ttl)
    }

    /// Sets the time to live of a lease without a heartbeat.
    ///
    /// # Errors
    /// [`InvalidPolicy`] outside 3 seconds to 24 hours, or above the idle or the absolute limit.
    pub fn ttl(mut self, ttl: Duration) -> Result<Self, InvalidPolicy> {
        self.ttl = ttl;
        self.checked()
    }

    /// Sets how long a lease can be kept alive without the person's input, though the form is open: by default as long as
    /// with it. See [`Heartbeat`](crate::lease::Heartbeat).
    ///
    /// # Errors
    /// [`InvalidPolicy`] when that is shorter than the time to live, or longer than the absolute limit.
    pub fn idle_limit(mut self, limit: Duration) -> Result<Self, InvalidPolicy> {
        self.idle = Some(limit);
        self.checked()
    }

    /// Sets how long a lease can be kept alive at all, from its acquisition.
    ///
    /// # Errors
    /// [`InvalidPolicy`] when that is shorter than the time to live or the idle limit, or longer than 30 days.
    pub fn absolute_limit(mut self, limit: Duration) -> Result<Self, InvalidPolicy> {
        self.limit = limit;
        self.checked()
    }

    /// Sets when a form acquires the lock: a value that pages read, see [`acquire`](Self::acquire).
    pub const fn acquiring(mut self, acquire: Acquire) -> Self {
        self.acquire = acquire;
        self
    }

    /// Sets the visibility of a holder to other people.
    pub const fn showing(mut self, owner: ShowOwner) -> Self {
        self.shown = owner;
        self
    }

    /// Validates each value, and its relation to the others; they may be set in any order.
    fn checked(self) -> Result<Self, InvalidPolicy> {
        let LockPolicy { ttl, limit, idle, .. } = self;
        let problem = if !(Self::SHORTEST_TTL..=Self::LONGEST_TTL).contains(&ttl) {
            format!("a time to live of {ttl:?} is outside 3 s to 24 h")
        } else if limit < ttl || limit > Duration::from_secs(30 * 24 * 3600) {
            format!("an absolute limit of {limit:?} is outside the time to live, {ttl:?}, to 30 days")
        } else if let Some(idle) = idle.filter(|idle| !(ttl..=limit).contains(idle)) {
            format!("an idle limit of {idle:?} is outside the time to live, {ttl:?}, to the absolute limit, {limit:?}")
        } else {
            return Ok(self);
        };
        Err(InvalidPolicy(problem))
    }
}

/// The interval of heartbeats. (Three of them fit into the shortest time to live: one may be late and one lost.)
pub(crate) fn heartbeat_interval(ttl: Duration) -> Duration {
    (ttl / 5).clamp(Duration::from_secs(1), Duration::from_secs(60))
}

impl ShowOwner {
    /// The stored form.
    pub(crate) const fn stored(self) -> i64 {
        match self {
            ShowOwner::ByName => 0,
            ShowOwner::ByRole => 1,
            ShowOwner::Anonymous => 2,
        }
    }

    /// Parses the stored form. An unknown value of a later release hides everything.
    pub(crate) const fn from_stored(stored: i64) -> Self {
        match stored {
            0 => ShowOwner::ByName,
            1 => ShowOwner::ByRole,
            _ => ShowOwner::Anonymous,
        }
    }
}

impl Default for LockPolicy {
    fn default() -> Self {
        Self::exclusive()
    }
}

/// An invalid policy: it would lock people out, or lock nobody out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}; choose a value inside")]
pub struct InvalidPolicy(String);

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn absurd_times_to_live_are_refused() {
        for absurd in [Duration::ZERO, Duration::from_millis(2_999), 86_401 * SECOND, Duration::MAX] {
            assert!(LockPolicy::exclusive().ttl(absurd).is_err(), "{absurd:?}");
        }
        assert_eq!(LockPolicy::exclusive().ttl(3 * SECOND).map(|policy| policy.ttl), Ok(3 * SECOND));
    }

    #[test]
    fn heartbeat_is_a_minute_or_less_for_a_short_ttl() {
        let beats = |ttl| LockPolicy::exclusive().ttl(ttl).expect("a valid policy").heartbeat_interval();
        assert_eq!((beats(3 * SECOND), beats(300 * SECOND), beats(3_600 * SECOND)), (SECOND, 60 * SECOND, 60 * SECOND));
    }

    #[test]
    fn limits_below_the_ttl_are_refused_in_any_order() {
        let policy = LockPolicy::exclusive();
        assert!(policy.absolute_limit(299 * SECOND).is_err());
        assert!(policy.idle_limit(299 * SECOND).is_err());
        assert!(policy.absolute_limit(600 * SECOND).expect("a valid policy").idle_limit(601 * SECOND).is_err());
        assert!(policy.idle_limit(600 * SECOND).expect("a valid policy").ttl(601 * SECOND).is_err());
        assert!(policy.absolute_limit(600 * SECOND).expect("a valid policy").ttl(601 * SECOND).is_err());
    }
}

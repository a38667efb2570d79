//! A rate limiter per key with a burst and a steady rate: the generic cell rate algorithm.
//!
//! The crate `governor` has the same arithmetic. It cannot undo an event, and it keeps an entry
//! for each invented key until a cleanup. Here keys share a table of a fixed size, by a hash with a
//! random key of this process; two colliding keys share a limit, and an attacker cannot choose keys that collide.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A table of 128 KiB.
const SLOTS: usize = 1 << 14;

/// A rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    /// The burst size.
    pub(crate) at_once: u32,
    /// The interval of the steady rate.
    pub(crate) then_each: Duration,
}

/// The limits of all keys.
#[derive(Debug)]
pub(crate) struct Limiter {
    rate: Rate,
    /// For each slot, the microsecond at which its limit is fully restored.
    slots: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl Limiter {
    pub(crate) fn new(rate: Rate) -> Limiter {
        let slots = (0..SLOTS).map(|_| AtomicU64::new(0)).collect();
        Limiter { rate, slots, hasher: RandomState::new() }
    }

    /// Counts an event; or returns how long it has to wait, and counts nothing. `now` is the time since 1970.
    pub(crate) fn take(&self, key: &impl Hash, now: Duration) -> Result<(), Duration> {
        let (now, each) = (micros(now), micros(self.rate.then_each));
        let most = each.saturating_mul(self.rate.at_once.into());
        let next = |even: u64| even.max(now).saturating_add(each);
        let taken = self
            .slot(key)
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |even| (next(even) - now <= most).then(|| next(even)));
        taken.map(drop).map_err(|even| Duration::from_micros(next(even) - now - most))
    }

    /// Undoes it.
    pub(crate) fn give_back(&self, key: &impl Hash) {
        let each = micros(self.rate.then_each);
        let back = |even: u64| Some(even.saturating_sub(each));
        // The closure never refuses.
        let _ = self.slot(key).fetch_update(Ordering::Relaxed, Ordering::Relaxed, back);
    }

    fn slot(&self, key: &impl Hash) -> &AtomicU64 {
        let hash = usize::try_from(self.hasher.hash_one(key) % SLOTS as u64).unwrap_or_default();
        &self.slots[hash]
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    #[test]
    fn limiter_allows_a_burst_then_a_steady_rate() {
        let limiter = Limiter::new(Rate { at_once: 3, then_each: Duration::from_secs(10) });
        let take = |after| limiter.take(&"minji", NOW + Duration::from_secs(after));
        assert_eq!((take(0), take(0), take(0)), (Ok(()), Ok(()), Ok(())));
        assert_eq!(take(4), Err(Duration::from_secs(6)));
        assert_eq!((take(10), take(10)), (Ok(()), Err(Duration::from_secs(10))));
        assert_eq!((0..5).filter(|_| take(1_000).is_ok()).count(), 3);
    }

    #[test]
    fn refused_attempts_do_not_extend_the_wait() {
        let limiter = Limiter::new(Rate { at_once: 1, then_each: Duration::from_secs(10) });
        assert_eq!(limiter.take(&"minji", NOW), Ok(()));
        for _ in 0..1_000 {
            assert_eq!(limiter.take(&"minji", NOW), Err(Duration::from_secs(10)));
        }
        assert_eq!(limiter.take(&"minji", NOW + Duration::from_secs(10)), Ok(()));
    }

    #[test]
    fn a_table_of_a_fixed_size_is_enough_for_every_key() {
        let limiter = Limiter::new(Rate { at_once: 1, then_each: Duration::from_secs(10) });
        let through = (0..1_000_000).filter(|key| limiter.take(key, NOW).is_ok()).count();
        assert!(through <= SLOTS && limiter.slots.len() == SLOTS, "{through}");
    }
}

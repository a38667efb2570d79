//! The last heartbeat of each lease that this process has seen, to compute the lateness of the next one.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use crate::lease::operations::LockHash;

/// The maximum number of remembered leases. The lateness of others is not measured.
const MOST: usize = 20_000;

#[derive(Default)]
pub(super) struct Heartbeats(HashMap<LockHash, SystemTime>);

impl Heartbeats {
    /// Records a heartbeat, by the database's clock, and returns the time since the previous one.
    pub(super) fn note(&mut self, lock: &LockHash, at: SystemTime, ttl: Duration) -> Option<Duration> {
        if self.0.len() >= MOST && !self.0.contains_key(lock) {
            // A holder that has been silent for longer than its ttl is gone.
            self.0.retain(|_, last| at.duration_since(*last).is_ok_and(|silent| silent < ttl));
            if self.0.len() >= MOST {
                return None;
            }
        }
        let last = self.0.insert(*lock, at)?;
        at.duration_since(last).ok()
    }

    pub(super) fn forget(&mut self, lock: &LockHash) {
        self.0.remove(lock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembered_heartbeats_are_bounded_and_evicted() {
        let (mut beats, start, ttl) = (Heartbeats::default(), SystemTime::UNIX_EPOCH, Duration::from_secs(300));
        let lock = |at: usize| {
            let mut lock = LockHash::default();
            lock[..8].copy_from_slice(&at.to_le_bytes());
            lock
        };
        for at in 0..MOST + 100 {
            assert_eq!(beats.note(&lock(at), start, ttl), None);
        }
        assert_eq!(beats.0.len(), MOST);
        assert_eq!(beats.note(&lock(0), start + ttl / 3, ttl), Some(ttl / 3));
        assert_eq!(beats.note(&lock(MOST + 1), start + ttl, ttl), None);
        assert_eq!(beats.0.len(), 2);
    }
}

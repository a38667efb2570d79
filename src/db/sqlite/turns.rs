//! How processes share one file.
//!
//! SQLite has no queue: a process that tries to write while another one writes is refused, and retries. A process that writes all the time
//! would return before the others have retried; so it leaves a gap while there are others, and they retry often enough to find one.
//! Heartbeats leave no gap, and retry the most often, because their leases expire.

use std::time::{Duration, Instant};

/// The gap after a write of this process. It is longer than the pause of any waiter.
const GAP: Duration = Duration::from_millis(2);
/// How long gaps are left after another process was seen writing.
const LATELY: Duration = Duration::from_secs(2);

/// The priority of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    Normal,
    Heartbeat,
}

impl Priority {
    /// The pause before the next attempt: random, so that no process is always too late.
    pub(crate) fn pause(self) -> Duration {
        let (least, most) = match self {
            Priority::Normal => (500, 1_800),
            Priority::Heartbeat => (200, 600),
        };
        Duration::from_micros(least + u64::from(getrandom::u32().unwrap_or(0)) % (most - least))
    }
}

/// The state of this process about the others.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    wrote: Option<Instant>,
    met: Option<Instant>,
}

impl Turns {
    /// Another process was writing.
    pub(crate) fn met_others(&mut self) {
        self.met = Some(Instant::now());
    }

    /// This process has written, and may write again soon.
    pub(crate) fn has_written(&mut self) {
        self.wrote = Some(Instant::now());
    }

    /// The rest of the gap, if there is one.
    pub(crate) fn pause(&self, priority: Priority) -> Option<Duration> {
        let (wrote, met) = (self.wrote?, self.met?);
        if priority == Priority::Heartbeat || met.elapsed() > LATELY {
            return None;
        }
        Some(GAP.saturating_sub(wrote.elapsed())).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_writer_and_heartbeats_leave_no_gap() {
        let mut turns = Turns::default();
        turns.has_written();
        assert_eq!(turns.pause(Priority::Normal), None, "nobody else was met");
        turns.met_others();
        turns.has_written();
        assert!(turns.pause(Priority::Normal).is_some_and(|left| left <= GAP));
        assert_eq!(turns.pause(Priority::Heartbeat), None);
    }

    #[test]
    fn every_waiter_retries_once_per_gap() {
        for _ in 0..1_000 {
            assert!(Priority::Normal.pause() < GAP && Priority::Heartbeat.pause() < GAP / 2);
        }
    }
}

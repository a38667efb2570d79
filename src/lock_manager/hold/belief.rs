//! The time for which a process may rely on its lease, by its own clocks. No I/O here.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// The share of the confirmed time that the process relies on. The rest covers clocks of different speed, and the time that the work needs
/// to stop.
const NINE_TENTHS: (u32, u32) = (9, 10);

/// A time by both clocks of the process.
#[derive(Debug, Clone, Copy)]
pub(in crate::lock_manager) struct Moment {
    /// It is never adjusted, but it stops while the machine is suspended.
    monotonic: Instant,
    /// It continues while the machine is suspended, but it may be adjusted.
    wall: SystemTime,
}

impl Moment {
    pub(in crate::lock_manager) fn now() -> Self {
        Moment { monotonic: Instant::now(), wall: wall_clock() }
    }

    /// The time since an earlier moment: the longer of the two, so that neither a suspended machine nor a clock that is set back
    /// makes a lease last longer.
    fn since(self, earlier: Moment) -> Duration {
        let by_wall = self.wall.duration_since(earlier.wall).unwrap_or_default();
        self.monotonic.saturating_duration_since(earlier.monotonic).max(by_wall)
    }
}

/// The result of the last heartbeat.
#[derive(Debug, Clone, Copy)]
pub(super) struct Belief {
    /// Before the heartbeat was sent: the database counts from a later time.
    sent: Moment,
    relied_upon: Duration,
}

impl Belief {
    /// The database confirmed a heartbeat that was sent at this time, with this time to live.
    pub(super) fn confirmed(sent: Moment, remaining: Duration) -> Self {
        Belief { sent, relied_upon: remaining * NINE_TENTHS.0 / NINE_TENTHS.1 }
    }

    /// The time for which the process may still rely on the lease; `None` when it is over.
    pub(super) fn left(&self, now: Moment) -> Option<Duration> {
        self.relied_upon.checked_sub(now.since(self.sent)).filter(|left| !left.is_zero())
    }

    /// The pause before the next heartbeat. It is short enough that after a lost answer there is time for another one.
    pub(super) fn pause(&self, now: Moment, interval: Duration) -> Duration {
        interval.min(self.left(now).unwrap_or_default() / 3).max(SHORTEST_PAUSE)
    }
}

/// The pause between two attempts while the database does not answer.
pub(super) const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

#[cfg(not(test))]
fn wall_clock() -> SystemTime {
    SystemTime::now()
}

/// In the simulation the wall clock follows the simulated time, as the monotonic clock does.
#[cfg(test)]
fn wall_clock() -> SystemTime {
    static START: std::sync::LazyLock<(Instant, SystemTime)> =
        std::sync::LazyLock::new(|| (Instant::now(), SystemTime::now()));
    START.1 + START.0.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn after(moment: Moment, monotonic: u32, wall: i64) -> Moment {
        let by = SECOND * u32::try_from(wall.unsigned_abs()).expect("a few");
        let wall = if wall < 0 { moment.wall - by } else { moment.wall + by };
        Moment { monotonic: moment.monotonic + SECOND * monotonic, wall }
    }

    #[test]
    fn lease_is_believed_in_for_less_than_was_confirmed() {
        let sent = Moment::now();
        let belief = Belief::confirmed(sent, SECOND * 30);
        assert_eq!(belief.left(sent), Some(SECOND * 27));
        assert_eq!(belief.left(after(sent, 26, 26)), Some(SECOND));
        assert_eq!(belief.left(after(sent, 27, 27)), None);
    }

    #[test]
    fn suspended_machine_does_not_extend_the_belief() {
        let sent = Moment::now();
        let belief = Belief::confirmed(sent, SECOND * 30);
        assert_eq!(belief.left(after(sent, 1, 3600)), None);
    }

    #[test]
    fn wall_clock_set_back_does_not_extend_the_belief() {
        let sent = Moment::now();
        let belief = Belief::confirmed(sent, SECOND * 30);
        assert_eq!(belief.left(after(sent, 26, -3600)), Some(SECOND));
        assert_eq!(belief.left(after(sent, 28, -3600)), None);
    }

    #[test]
    fn heartbeats_come_often_enough_for_a_lost_answer() {
        let sent = Moment::now();
        let belief = Belief::confirmed(sent, SECOND * 30);
        assert_eq!(belief.pause(sent, SECOND * 6), SECOND * 6);
        assert_eq!(belief.pause(sent, SECOND * 60), SECOND * 9);
        assert_eq!(belief.pause(after(sent, 27, 27), SECOND * 6), SHORTEST_PAUSE);
    }
}

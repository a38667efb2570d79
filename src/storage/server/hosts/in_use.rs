//! The writer in use. No I/O.

use std::time::{Duration, Instant};

use super::choice::{Answer, Seat};
use super::epoch::Origin;
use crate::clock::{ManualClock, millis, until};

/// A connection that was checked just before a change counts its age from just after it. So those of this time count as former ones;
/// they are opened again.
const MARGIN: Duration = Duration::from_millis(100);

/// The writer, since when, and how long nothing is granted.
#[derive(Debug)]
pub(super) struct InUse {
    at: usize,
    seat: Seat,
    switched: Option<Instant>,
    pause: Option<Pause>,
}

/// The end of the time without grants.
#[derive(Debug, Clone, Copy)]
enum Pause {
    /// By a clock that does not go backwards, from a moment at which the database's clock was read.
    Until(Instant),
    /// By the clock of a test, in milliseconds since 1970.
    ByTest(i64),
}

impl Pause {
    fn lasting(time: Duration, clock: Option<&ManualClock>) -> Option<Self> {
        match clock {
            _ if time.is_zero() => None,
            Some(clock) => Some(Pause::ByTest(clock.millis().saturating_add(millis(time)))),
            None => Instant::now().checked_add(time).map(Pause::Until),
        }
    }
}

impl InUse {
    pub(super) fn new(at: usize, seat: Seat) -> Self {
        InUse { at, seat, switched: None, pause: None }
    }

    pub(super) fn seat(&self) -> (usize, Seat) {
        (self.at, self.seat.clone())
    }

    /// The epoch is stored now.
    pub(super) fn settle(&mut self, seat: Seat, pause: Duration, clock: Option<&ManualClock>) {
        self.seat = seat;
        self.pause = Pause::lasting(pause, clock);
    }

    pub(super) fn switch(&mut self, at: usize, seat: Seat, pause: Duration, clock: Option<&ManualClock>) {
        self.settle(seat, pause, clock);
        self.at = at;
        self.switched = Some(Instant::now());
    }

    /// The time without grants that is left.
    pub(super) fn pause(&self, clock: Option<&ManualClock>) -> Option<Duration> {
        let left = match (self.pause?, clock) {
            (Pause::Until(end), _) => end.saturating_duration_since(Instant::now()),
            (Pause::ByTest(end), Some(clock)) => until(end, clock.millis()),
            (Pause::ByTest(_), None) => Duration::ZERO,
        };
        (!left.is_zero()).then_some(left)
    }

    /// Whether a connection of this age was opened after the last change.
    pub(super) fn is_current(&self, age: Duration) -> bool {
        self.switched.is_none_or(|switched| switched.elapsed() > age.saturating_add(MARGIN))
    }

    /// Whether this writer is the one in use, in the same epoch. A server that restarted still is. Where tenure counts the epochs, another
    /// server behind the same name is a new epoch.
    pub(super) fn is(&self, seat: &Seat, origin: Origin) -> bool {
        let same_server = seat.several || origin == Origin::Engine || seat.instance == self.seat.instance;
        seat.cluster == self.seat.cluster && seat.epoch == self.seat.epoch && same_server
    }

    /// # Errors
    /// The reason that a new connection may not be used.
    pub(super) fn accepts(&self, answer: &Answer, origin: Origin) -> Result<(), String> {
        match answer {
            Answer::Writer(seat) if self.is(seat, origin) => Ok(()),
            Answer::Writer(seat) => Err(format!(
                "the server accepts writes in epoch {}, and epoch {} is in use; the hosts are asked again",
                seat.epoch, self.seat.epoch
            )),
            Answer::Standby { reason, .. } | Answer::Silent(reason) => Err(reason.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(cluster: &str, instance: &str, epoch: i64) -> Seat {
        Seat { cluster: cluster.into(), instance: instance.into(), epoch, several: false }
    }

    #[test]
    fn connection_to_another_epoch_or_cluster_is_not_used() {
        use Origin::{Engine, Writers};
        let in_use = InUse::new(0, seat("c", "a", 2));
        for (found, origin, accepted) in [
            (seat("c", "a", 2), Engine, true),
            (seat("c", "restarted", 2), Engine, true),
            (seat("c", "b", 2), Writers, false),
            (seat("c", "a", 1), Engine, false),
            (seat("c", "a", 3), Engine, false),
            (seat("d", "a", 2), Engine, false),
            (Seat { several: true, ..seat("c", "b", 2) }, Writers, true),
        ] {
            assert_eq!(in_use.accepts(&Answer::Writer(found.clone()), origin).is_ok(), accepted, "{found:?}");
        }
        let standby = Answer::Standby { cluster: "c".into(), epoch: 2, reason: "it is a standby".into() };
        assert_eq!(in_use.accepts(&standby, Engine), Err("it is a standby".into()));
    }

    #[test]
    fn connections_opened_before_a_change_are_former_ones() {
        let mut in_use = InUse::new(0, seat("c", "a", 2));
        let day = Duration::from_secs(24 * 3600);
        assert!(in_use.is_current(day));
        in_use.switch(1, seat("c", "b", 3), Duration::ZERO, None);
        assert!(!in_use.is_current(day) && !in_use.is_current(Duration::ZERO));
        in_use.switched = Instant::now().checked_sub(3 * MARGIN);
        assert!(in_use.is_current(MARGIN) && !in_use.is_current(3 * MARGIN));
    }

    #[test]
    fn pause_ends_by_the_clock_of_a_test() {
        let (clock, second) = (ManualClock::new(), Duration::from_secs(1));
        let mut in_use = InUse::new(0, seat("c", "a", 2));
        assert_eq!(in_use.pause(Some(&clock)), None);
        in_use.switch(1, seat("c", "b", 3), 2 * second, Some(&clock));
        clock.advance(second);
        assert_eq!(in_use.pause(Some(&clock)), Some(second));
        clock.advance(second);
        assert_eq!(in_use.pause(Some(&clock)), None);
    }
}

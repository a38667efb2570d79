//! How processes take turns at one file.
//!
//! SQLite has no queue: whoever asks while another process writes is refused, and asks again. A process that writes all the time
//! comes back before those who pause have asked again; so it leaves a gap as long as there are others, and everybody else asks
//! often enough to find one. Signs of life leave none, and ask the most often: what waits for them runs out.

use std::time::{Duration, Instant};

/// The gap after what this process wrote. Longer than anybody pauses who waits.
const GAP: Duration = Duration::from_millis(2);
/// For how long gaps are left after another process was in the way.
const LATELY: Duration = Duration::from_secs(2);

/// Whether others can wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hurry {
    None,
    /// A sign of life.
    Beat,
}

impl Hurry {
    /// How long to pause before the file is asked for again: never the same, so that nobody is always a moment too late.
    pub(super) fn pause(self) -> Duration {
        let (least, most) = match self {
            Hurry::None => (500, 1_800),
            Hurry::Beat => (200, 600),
        };
        Duration::from_micros(least + u64::from(getrandom::u32().unwrap_or(0)) % (most - least))
    }
}

/// What this process knows of the others.
#[derive(Debug, Default)]
pub(super) struct Turns {
    wrote: Option<Instant>,
    met: Option<Instant>,
}

impl Turns {
    /// Another process was in the way.
    pub(super) fn met_others(&mut self) {
        self.met = Some(Instant::now());
    }

    /// This process has written, and may be about to again.
    pub(super) fn has_written(&mut self) {
        self.wrote = Some(Instant::now());
    }

    /// What is left of the gap, if one is to be left.
    pub(super) fn pause(&self, hurry: Hurry) -> Option<Duration> {
        let (wrote, met) = (self.wrote?, self.met?);
        if hurry == Hurry::Beat || met.elapsed() > LATELY {
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
        assert_eq!(turns.pause(Hurry::None), None, "nobody else was met");
        turns.met_others();
        turns.has_written();
        assert!(turns.pause(Hurry::None).is_some_and(|left| left <= GAP));
        assert_eq!(turns.pause(Hurry::Beat), None);
    }

    #[test]
    fn every_waiter_retries_once_per_gap() {
        for _ in 0..1_000 {
            assert!(Hurry::None.pause() < GAP && Hurry::Beat.pause() < GAP / 2);
        }
    }
}

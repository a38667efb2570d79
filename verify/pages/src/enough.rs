//! What went on in the rounds, and whether it was enough to say anything.

use std::collections::BTreeMap;

use super::check::{Fate, fates};
use super::evidence::Evidence;
use super::fault::Fault;
use super::gesture::Gesture;
use super::history::{Answer, Place, What};

/// What went on.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub(super) gestures: u64,
    /// Faults of browsers, by name.
    pub(super) of_browsers: BTreeMap<&'static str, u64>,
    /// Faults of the network and the server, and those that met what they were meant for.
    pub(super) faults: BTreeMap<&'static str, (u64, u64)>,
    pub(super) sent: u64,
    pub(super) answers: BTreeMap<Answer, u64>,
    pub(super) fates: BTreeMap<Fate, u64>,
    /// Where texts were found that are not saved. A text may be counted in several places.
    pub(super) places: BTreeMap<Place, u64>,
    /// Texts that had been typed in a browser before it was killed, and were offered afterwards all the same.
    pub(super) survived: u64,
    pub(super) versions: u64,
}

impl Tally {
    /// Adds a round.
    pub(super) fn add(&mut self, evidence: &Evidence) {
        for fault in &evidence.faults {
            let (all, hit) = self.faults.entry(fault.kind).or_default();
            (*all, *hit) = (*all + 1, *hit + u64::from(fault.hit));
        }
        let mut chosen_kills = 0;
        for event in &evidence.events {
            match &event.what {
                What::Does(gesture) => {
                    self.gestures += 1;
                    if let Some(name) = name(*gesture) {
                        *self.of_browsers.entry(name).or_default() += 1;
                    }
                    chosen_kills += u64::from(matches!(gesture, Gesture::Die | Gesture::SaveAndDie));
                }
                What::Sent { .. } => self.sent += 1,
                What::Told { answer, .. } => *self.answers.entry(*answer).or_default() += 1,
                What::Offered { place, markers } => *self.places.entry(*place).or_default() += markers.len() as u64,
                _ => {}
            }
        }
        let kills = evidence.events.iter().filter(|event| event.what == What::Killed).count() as u64;
        *self.of_browsers.entry(UNEXPECTED).or_default() += kills.saturating_sub(chosen_kills);
        let fates = fates(evidence);
        for fate in fates.values() {
            *self.fates.entry(*fate).or_default() += 1;
        }
        self.survived += evidence
            .events
            .iter()
            .enumerate()
            .filter(|(at, event)| {
                let What::Typed { marker, .. } = &event.what else { return false };
                let mut later = evidence.events[*at..].iter();
                fates.get(marker) == Some(&Fate::Offered)
                    && later.any(|later| later.browser == event.browser && later.what == What::Killed)
            })
            .count() as u64;
        self.versions += evidence.revisions.values().map(|revisions| revisions.len() as u64 - 1).sum::<u64>();
    }

    fn answer(&self, answer: Answer) -> u64 {
        self.answers.get(&answer).copied().unwrap_or_default()
    }
}

/// A browser that did not answer any more, without a fault of its own.
pub(super) const UNEXPECTED: &str = "browser restarted by the test";

/// The name of a fault of a browser.
fn name(gesture: Gesture) -> Option<&'static str> {
    match gesture {
        Gesture::SaveOffline => Some("browser offline"),
        Gesture::SaveAndDie => Some("browser killed at a save"),
        Gesture::Die => Some("browser killed"),
        Gesture::Sleep => Some("machine asleep"),
        Gesture::Crash => Some("tab crashed"),
        _ => None,
    }
}

/// A run with less shows nothing. It is invalid, not passed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Least {
    /// Saves that were acknowledged.
    pub(super) saves: u64,
    /// Saves that met another one, or a lock.
    pub(super) refused: u64,
    /// Texts that were found afterwards without having been saved.
    pub(super) offered: u64,
    /// Faults of the network and the server that met something.
    pub(super) faults: u64,
    /// Of each kind of them.
    pub(super) of_each: u64,
    /// Faults of browsers.
    pub(super) of_browsers: u64,
}

impl Least {
    /// In proportion to the time.
    pub(super) fn of(minutes: f64, has_faults: bool) -> Self {
        let scaled = |of_a_minute: f64| ((of_a_minute * minutes) as u64).max(1);
        let faults = |of_a_minute: f64| if has_faults { scaled(of_a_minute) } else { 0 };
        Least {
            saves: scaled(4.0),
            refused: scaled(2.0),
            offered: scaled(2.0),
            faults: faults(6.0),
            of_each: u64::from(has_faults),
            of_browsers: scaled(1.0),
        }
    }

    /// What there was too little of.
    pub(super) fn missing(&self, tally: &Tally) -> Vec<String> {
        let refused = [Answer::Conflict, Answer::Locked, Answer::LeaseLost, Answer::Kept];
        let hit: u64 = tally.faults.values().map(|(_, hit)| hit).sum();
        let figures = [
            ("acknowledged saves", tally.answer(Answer::Saved), self.saves),
            (
                "saves that met another one or a lock",
                refused.map(|answer| tally.answer(answer)).iter().sum(),
                self.refused,
            ),
            ("texts offered afterwards", tally.fates.get(&Fate::Offered).copied().unwrap_or_default(), self.offered),
            ("faults that met something", hit, self.faults),
            (
                "faults of browsers",
                tally.of_browsers.iter().filter(|(name, _)| **name != UNEXPECTED).map(|(_, count)| count).sum(),
                self.of_browsers,
            ),
        ];
        let all = figures.into_iter().map(|(name, found, least)| (name.to_owned(), found, least));
        let kinds = Fault::ALL.map(|fault| {
            let (all, _) = tally.faults.get(fault.name()).copied().unwrap_or_default();
            (format!("faults `{}`", fault.name()), all, self.of_each)
        });
        let lacks = all.chain(kinds).filter(|(_, found, least)| found < least);
        lacks.map(|(name, found, least)| format!("{name}: {found} of {least}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_without_saves_and_faults_lacks_them() {
        let missing = Least::of(1.0, true).missing(&Tally::default());
        assert_eq!(missing.len(), 5 + Fault::ALL.len(), "{missing:?}");
        assert_eq!(missing[0], "acknowledged saves: 0 of 4");
    }

    #[test]
    fn run_with_enough_of_everything_lacks_nothing() {
        let mut tally = Tally {
            faults: Fault::ALL.map(|fault| (fault.name(), (2, 2))).into(),
            answers: [(Answer::Saved, 4), (Answer::Conflict, 1), (Answer::Locked, 1)].into(),
            fates: [(Fate::Offered, 2)].into(),
            of_browsers: [("tab crashed", 1)].into(),
            ..Tally::default()
        };
        assert_eq!(Least::of(1.0, true).missing(&tally), [""; 0]);
        tally.faults.remove(Fault::Silence.name());
        assert_eq!(Least::of(1.0, true).missing(&tally), ["faults `network silent`: 0 of 1"]);
        tally.of_browsers = [(UNEXPECTED, 1)].into();
        assert_eq!(Least::of(1.0, true).missing(&tally).len(), 2);
    }
}

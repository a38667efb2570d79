//! What is printed: one table of a run.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write};
use std::time::Duration;

use super::check::{CHECKS, Violation};
use super::enough::Tally;
use super::evidence::Evidence;

/// The result of all rounds of a run.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) tally: Tally,
    pub(super) violations: Vec<Violation>,
    rounds: u64,
    time: Duration,
}

/// How many violations of a check are printed.
const SHOWN: usize = 8;

impl Report {
    /// Adds a round.
    pub(super) fn add(&mut self, evidence: &Evidence, found: Vec<Violation>, time: Duration) {
        self.tally.add(evidence);
        self.violations.extend(found);
        self.rounds += 1;
        self.time += time;
    }

    /// The table.
    pub(super) fn text(&self) -> String {
        let tally = &self.tally;
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "  {name:<30} {value}");
        };
        line("time under load", format!("{:.0} s in {} rounds", self.time.as_secs_f64(), self.rounds));
        line("gestures; forms sent", format!("{}; {}", tally.gestures, tally.sent));
        line("answers", counts(&tally.answers));
        line("versions saved", tally.versions.to_string());
        line("texts typed, by what became", format!("{}: {}", tally.fates.values().sum::<u64>(), counts(&tally.fates)));
        line("texts found afterwards in", counts(&tally.places));
        line("offered after a killed browser", tally.survived.to_string());
        let (all, hit) = tally.faults.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        line("faults", format!("{all}, of which {hit} met something"));
        for (kind, (injected, hit)) in &tally.faults {
            line(&format!("  {kind}"), format!("{injected} ({hit})"));
        }
        for (kind, count) in &tally.of_browsers {
            line(&format!("  {kind}"), count.to_string());
        }
        for check in CHECKS {
            let found: Vec<_> = self.violations.iter().filter(|violation| violation.check == check.name).collect();
            let is_clean = found.is_empty();
            line(check.name, if is_clean { "nothing found".to_owned() } else { format!("{} VIOLATIONS", found.len()) });
            for violation in found.iter().take(SHOWN) {
                line("", violation.what.clone());
            }
        }
        text
    }
}

fn counts<K: Debug>(counts: &BTreeMap<K, u64>) -> String {
    counts.iter().map(|(key, count)| format!("{key:?} {count}")).collect::<Vec<_>>().join(", ")
}

/// The whole history of a round, for a person who looks for the cause of a violation.
pub(super) fn history(evidence: &Evidence) -> String {
    let mut text = String::new();
    for event in &evidence.events {
        let (at, who) = (event.at.as_secs_f64(), &event.person);
        let _ = writeln!(text, "{at:>8.2} {}/{who}: {:?}", event.browser, event.what);
    }
    for (order, revisions) in &evidence.revisions {
        for revision in revisions {
            let _ = writeln!(text, "{order} version {} by {}: {:?}", revision.version, revision.by, revision.markers);
        }
    }
    text
}

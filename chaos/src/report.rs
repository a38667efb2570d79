//! What is printed: one table of a run, for one database.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::check::{Judged, Tally, Violation, pauses};
use crate::clock::ms;
use crate::evidence::Evidence;
use crate::nemesis::Fault;

/// The result of all rounds of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) tally: Tally,
    /// What each check found; none of it in a run that passed.
    pub(crate) violations: Vec<Violation>,
    pub(crate) requested: u64,
    pub(crate) ledgers: u64,
    pub(crate) seconds: f64,
    /// Recovery of the server after each kill, in milliseconds.
    pub(crate) recovery: Vec<u64>,
    /// The pauses of all writes around faults that stop a server or a node, in milliseconds.
    pub(crate) pauses: BTreeMap<&'static str, Vec<u64>>,
    pub(crate) described: String,
}

/// How many violations of a check are printed.
const SHOWN: usize = 8;

impl Report {
    /// Adds a round.
    pub(crate) fn add(&mut self, evidence: &Evidence, found: Vec<Violation>, described: String, time: Duration) {
        self.tally.add(Tally::of(evidence));
        self.violations.extend(found);
        self.requested += evidence.aftermath.requested;
        self.ledgers += evidence.ledgers.len() as u64;
        self.seconds += time.as_secs_f64();
        let kills = evidence.faults.iter().filter(|fault| fault.kind == Fault::KillServer.name());
        self.recovery.extend(kills.map(|fault| (fault.to_ns - fault.from_ns) / ms(1)));
        for (kind, times) in pauses::of(evidence) {
            self.pauses.entry(kind).or_default().extend(times);
        }
        self.described = described;
    }

    /// The table.
    pub(crate) fn text(&self, checks: &[&'static str]) -> String {
        let Tally { ok, fail, info, committed, not_committed, contended, contestable, taken_over, broken, .. } =
            &self.tally;
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "  {name:<28} {value}");
        };
        line("database", self.described.clone());
        line("time", format!("{:.0} s", self.seconds));
        line("operations", format!("{} (ok {ok}, fail {fail}, unknown {info})", ok + fail + info));
        line("writes of unknown outcome", format!("{committed} committed, {not_committed} not"));
        let writes = self.tally.writes.iter().map(|(workload, count)| format!("{workload:?} {count}"));
        line("acknowledged writes", writes.collect::<Vec<_>>().join(", "));
        line("contended requests", format!("{contended} of {contestable}"));
        line("leases", format!("{taken_over} taken over after they expired, {broken} broken"));
        let forms = self.tally.gestures.iter().map(|(gesture, count)| format!("{gesture:?} {count}"));
        line("forms", forms.collect::<Vec<_>>().join(", "));
        line(
            "transfers that only read some",
            format!("{}; {} edges between transfers", self.tally.watching, self.tally.edges),
        );
        if self.tally.unflushed > 0 {
            line(
                "reads of lost writes",
                format!("{}, unacknowledged and not flushed when the server ended", self.tally.unflushed),
            );
        }
        let Judged { keys, undecided } = self.tally.ordered;
        line("keys with ordered calls", format!("{} of {keys}", keys - undecided));
        line("ledgers", format!("{}; {} keys requested afterwards", self.ledgers, self.requested));
        let (all, met) = self.tally.faults.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        line("faults", format!("{all}, of which {met} met an operation"));
        for (kind, (injected, met)) in &self.tally.faults {
            line(&format!("  {kind}"), format!("{injected} ({met})"));
        }
        if !self.recovery.is_empty() {
            line("server back after a kill", spread(&self.recovery));
        }
        for (kind, times) in self.pauses.iter().filter(|(_, times)| !times.is_empty()) {
            line(&format!("no write around {kind}"), spread(times));
        }
        let codes = self.tally.codes.iter().map(|(code, count)| format!("{code} {count}"));
        line("refusals", codes.collect::<Vec<_>>().join(", "));
        for check in checks {
            let found: Vec<_> = self.violations.iter().filter(|violation| violation.check == *check).collect();
            let result =
                if found.is_empty() { "nothing found".to_owned() } else { format!("{} VIOLATIONS", found.len()) };
            line(check, result);
            for violation in found.iter().take(SHOWN) {
                line("", violation.what.clone());
            }
        }
        text
    }
}

/// The median and the maximum.
fn spread(times: &[u64]) -> String {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    format!("median {} ms, at most {} ms", sorted[sorted.len() / 2], sorted[sorted.len() - 1])
}

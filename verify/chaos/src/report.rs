//! What is printed: one table of a run, for one database.

use std::fmt::Write;
use std::time::Duration;

use crate::check::pauses::{self, Pauses};
use crate::check::{Asked, Judged, LATE_MS, Tally, Violation};
use crate::clock::ms;
use crate::evidence::Evidence;
use crate::history::Operation;
use crate::nemesis::Fault;

/// The result of all rounds of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) tally: Tally,
    /// What each check found; none of it in a run that passed.
    pub(crate) violations: Vec<Violation>,
    pub(crate) requested: u64,
    /// Leases that a node that only applies has shown.
    pub(crate) shown: u64,
    pub(crate) ledgers: u64,
    pub(crate) seconds: f64,
    /// How long the machine itself stood still each time, in milliseconds.
    pub(crate) standstills: Vec<u64>,
    /// Recovery of the server after each kill, in milliseconds.
    pub(crate) recovery: Vec<u64>,
    /// The pauses of all writes, and of all grants of leases, around faults that stop a server or a node, in milliseconds.
    pub(crate) pauses: [Pauses; 2],
    /// From the beginning of the load to the first call that a check names.
    pub(crate) first_found: Option<Duration>,
    pub(crate) described: String,
}

/// How many violations of a check are printed.
const SHOWN: usize = 8;

impl Report {
    /// Adds a round.
    pub(crate) fn add(&mut self, evidence: &Evidence, found: Vec<Violation>, described: String, time: Duration) {
        self.tally.add(Tally::of(evidence));
        if self.first_found.is_none()
            && let Some(first) = found.iter().filter_map(|violation| violation.at_ns).min()
        {
            let begun = evidence.operations.first().map_or(first, Operation::called_at);
            self.first_found =
                Some(Duration::from_secs_f64(self.seconds) + Duration::from_nanos(first.saturating_sub(begun)));
        }
        self.violations.extend(found);
        self.shown += evidence.shown.len() as u64;
        self.requested += evidence.aftermath.requested;
        self.ledgers += evidence.ledgers.len() as u64;
        self.seconds += time.as_secs_f64();
        let kills = evidence.faults.iter().filter(|fault| fault.kind == Fault::KillServer.name());
        let stood = evidence.standstills.iter().map(|stood| (stood.to_ns - stood.from_ns) / ms(1));
        self.standstills.extend(stood);
        self.recovery.extend(kills.map(|fault| (fault.to_ns - fault.from_ns) / ms(1)));
        for (all, one) in self.pauses.iter_mut().zip([pauses::of_writes(evidence), pauses::of_grants(evidence)]) {
            for (kind, times) in one {
                all.entry(kind).or_default().extend(times);
            }
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
        let dropped = self.tally.dropped.iter();
        let dropped = dropped.map(|(kind, (all, ready))| format!("{kind:?} {all} ({ready} were ready before)"));
        line("dropped calls", dropped.collect::<Vec<_>>().join(", "));
        let Asked { leases, gone, undecided, undone } = self.tally.asked;
        line(
            "leases of dropped calls",
            format!("{leases} asked for: {gone} gone in time, {undecided} undecided; {undone} grants undone"),
        );
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
        if met > 0 {
            // A fault hits many operations at once, which are not independent of each other: so it is the unit.
            line("a violation per fault", format!("in at most {:.2} % (95 %, rule of three)", 300.0 / met as f64));
        }
        let late = self.tally.late.iter().enumerate().map(|(at, count)| match LATE_MS.get(at) {
            Some(bound) => format!("{bound} ms {count}"),
            None => format!("later {count}"),
        });
        line("answers after their limit by", late.collect::<Vec<_>>().join(", "));
        if !self.standstills.is_empty() {
            let (times, sum) = (self.standstills.len(), self.standstills.iter().sum::<u64>());
            line("standstills of the machine", format!("{times}, {sum} ms in all"));
        }
        if !self.recovery.is_empty() {
            line("server back after a kill", spread(&self.recovery));
        }
        for (what, pauses) in ["write", "lease granted"].iter().zip(&self.pauses) {
            for (kind, times) in pauses.iter().filter(|(_, times)| !times.is_empty()) {
                line(&format!("no {what} around {kind}"), spread(times));
            }
        }
        if self.shown > 0 {
            line("leases seen where nobody writes", self.shown.to_string());
        }
        if let Some(first) = self.first_found {
            line("first violation", format!("{:.1} s after the load began", first.as_secs_f64()));
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

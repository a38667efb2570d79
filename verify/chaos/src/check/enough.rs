//! C10: a run without enough faults, contention, take-overs or unknown outcomes shows nothing. It is invalid, not passed.

use std::collections::{BTreeMap, HashSet};

use super::{answers, appends, cycles, dropped, mutex};
use crate::clock::ms;
use crate::evidence::Evidence;
use crate::history::{Function, Gesture, Outcome};
use crate::nemesis::Fault;
use crate::workload::Workload;

/// What was going on in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) ok: u64,
    pub(crate) fail: u64,
    pub(crate) info: u64,
    /// Writes of unknown outcome that were there after all, and those that were not.
    pub(crate) committed: u64,
    pub(crate) not_committed: u64,
    /// Acknowledged writes of each workload.
    pub(crate) writes: BTreeMap<Workload, u64>,
    /// Requests that met somebody else, of all that could have.
    pub(crate) contended: u64,
    pub(crate) contestable: u64,
    /// Leases that expired, and were then granted to somebody else.
    pub(crate) taken_over: u64,
    /// Leases that somebody else ended.
    pub(crate) broken: u64,
    /// Faults by kind, and how many of them hit and met an operation under way.
    pub(crate) faults: BTreeMap<&'static str, (u64, u64)>,
    /// Forms, by how they were sent.
    pub(crate) gestures: BTreeMap<Gesture, u64>,
    /// Calls that were dropped, by kind, and those of them that were ready before.
    pub(crate) dropped: BTreeMap<Function, (u64, u64)>,
    /// What became of their leases.
    pub(crate) asked: dropped::Asked,
    /// Reads of a write that a crash undid, before it was acknowledged to anybody.
    pub(crate) unflushed: u64,
    /// Keys whose calls were put in order, and those with too many possible orders.
    pub(crate) ordered: mutex::Judged,
    /// Transfers that depend on a ledger which they do not write, and edges between transfers.
    pub(crate) watching: u64,
    pub(crate) edges: u64,
    /// The answers that were refusals, by code.
    pub(crate) codes: BTreeMap<String, u64>,
    /// Answers that came after the limit of their calls, by how late they were at most: the last ones were later than all of [`LATE_MS`].
    pub(crate) late: [u64; LATE_MS.len() + 1],
}

/// The bounds of the histogram of late answers, in milliseconds.
pub(crate) const LATE_MS: [u64; 6] = [10, 50, 250, 1_000, 2_500, 5_000];

/// Refusals that come from others who want the same at the same time.
const CONTENDED: [&str; 9] = [
    "lock-timeout",
    "already-locked",
    "locking-failed",
    "version-conflict",
    "lost-race",
    "lock-expired",
    "lock-broken",
    "already-exists",
    "holder-changed",
];

impl Tally {
    pub(crate) fn of(evidence: &Evidence) -> Self {
        let mut tally = Tally::default();
        let noted: HashSet<&str> = evidence.notes.iter().map(|note| note.op.as_str()).collect();
        for operation in &evidence.operations {
            let outcome = operation.outcome();
            match outcome {
                Outcome::Ok => tally.ok += 1,
                Outcome::Fail => tally.fail += 1,
                Outcome::Info => tally.info += 1,
            }
            if let Some(late) = answers::late_by(operation, evidence) {
                let bucket = LATE_MS.iter().position(|bound| late <= ms(*bound));
                tally.late[bucket.unwrap_or(LATE_MS.len())] += 1;
            }
            if let Some(code) = operation.code() {
                *tally.codes.entry(code.to_owned()).or_default() += 1;
            }
            // On a lost file no call waits.
            if operation.call.args.drop_after.is_some() && operation.code() != Some("file-lost") {
                let (all, ready) = tally.dropped.entry(operation.call.f).or_default();
                *all += 1;
                *ready += u64::from(!operation.is_dropped());
            }
            if operation.appends() && outcome == Outcome::Info && !operation.is_dropped() {
                match noted.contains(operation.id()) {
                    true => tally.committed += 1,
                    false => tally.not_committed += 1,
                }
            }
            if let Some(workload) =
                Workload::of(operation.key()).filter(|_| operation.appends() && outcome == Outcome::Ok)
            {
                *tally.writes.entry(workload).or_default() += 1;
            }
            if let Some(gesture) = operation.call.args.gesture {
                *tally.gestures.entry(gesture).or_default() += 1;
            }
            // On a lost file, on a node that accepts no writes, and without a connection nobody can meet anybody.
            let could_meet = !matches!(operation.code(), Some("file-lost" | "read-only" | "connection-lost"));
            if could_meet && (operation.appends() || operation.requests()) {
                tally.contestable += 1;
                tally.contended += u64::from(operation.code().is_some_and(|code| CONTENDED.contains(&code)));
            }
        }
        let succeeded =
            |how: &str| evidence.leases.iter().filter(|lease| lease.how.as_deref() == Some(how)).count() as u64;
        (tally.taken_over, tally.broken) = (succeeded("expired"), succeeded("broken"));
        tally.unflushed = appends::unflushed(evidence);
        tally.ordered = mutex::judge(evidence).1;
        tally.asked = dropped::judge(evidence).1;
        (tally.watching, tally.edges) = cycles::size(evidence);
        tally.count_faults(evidence);
        tally
    }

    /// Adds what was going on in another round.
    pub(crate) fn add(&mut self, other: Tally) {
        self.ok += other.ok;
        self.fail += other.fail;
        self.info += other.info;
        self.committed += other.committed;
        self.not_committed += other.not_committed;
        self.contended += other.contended;
        self.contestable += other.contestable;
        self.taken_over += other.taken_over;
        self.broken += other.broken;
        self.ordered.keys += other.ordered.keys;
        self.ordered.undecided += other.ordered.undecided;
        self.unflushed += other.unflushed;
        self.asked.add(other.asked);
        for (function, (all, ready)) in other.dropped {
            let sum = self.dropped.entry(function).or_default();
            *sum = (sum.0 + all, sum.1 + ready);
        }
        self.watching += other.watching;
        self.edges += other.edges;
        for (gesture, count) in other.gestures {
            *self.gestures.entry(gesture).or_default() += count;
        }
        for (workload, count) in other.writes {
            *self.writes.entry(workload).or_default() += count;
        }
        for (kind, (injected, met)) in other.faults {
            let sum = self.faults.entry(kind).or_default();
            *sum = (sum.0 + injected, sum.1 + met);
        }
        for (sum, count) in self.late.iter_mut().zip(other.late) {
            *sum += count;
        }
        for (code, count) in other.codes {
            *self.codes.entry(code).or_default() += count;
        }
    }

    /// How many operations there were.
    pub(crate) fn operations(&self) -> u64 {
        self.ok + self.fail + self.info
    }

    fn count_faults(&mut self, evidence: &Evidence) {
        for fault in &evidence.faults {
            let (injected, met) = self.faults.entry(fault.kind).or_default();
            *injected += 1;
            let under_way = || {
                let called = evidence.operations.partition_point(|operation| operation.called_at() <= fault.to_ns);
                // Nothing is under way for longer than a minute.
                let recent = evidence.operations[..called].iter().rev();
                recent
                    .take_while(|operation| operation.called_at() + ms(60_000) > fault.from_ns)
                    .any(|operation| operation.answered_at() >= fault.from_ns)
            };
            *met += u64::from(fault.hit && under_way());
        }
    }
}

/// How much there must have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Least {
    /// Acknowledged writes of each workload.
    pub(crate) writes: u64,
    /// Percent of the requests that could meet somebody.
    pub(crate) contention: u64,
    pub(crate) taken_over: u64,
    /// Leases of dropped calls that were gone in time.
    pub(crate) gone: u64,
    /// Writes of unknown outcome.
    pub(crate) unknown: u64,
    /// Faults that met an operation, of each kind that was asked for.
    pub(crate) of_each_fault: u64,
}

impl Least {
    /// What this run lacks. Nothing: it is valid.
    pub(crate) fn missing(&self, tally: &Tally, workloads: &[Workload], faults: &[Fault]) -> Vec<String> {
        let mut missing = Vec::new();
        let mut want = |what: String, least: u64, is: u64| {
            if is < least {
                missing.push(format!("{what}: {is} of {least}"));
            }
        };
        for workload in workloads {
            let writes = tally.writes.get(workload).copied().unwrap_or(0);
            want(format!("acknowledged writes of the workload {workload:?}"), self.writes, writes);
        }
        let share = (tally.contended * 100).checked_div(tally.contestable).unwrap_or(0);
        want("percent of contended requests".to_owned(), self.contention, share);
        if workloads.contains(&Workload::Lease) {
            want("leases that expired and were taken by others".to_owned(), self.taken_over, tally.taken_over);
            want("leases of dropped calls that were gone in time".to_owned(), self.gone, tally.asked.gone);
        }
        if workloads.contains(&Workload::Transfer) {
            want("transfers that depend on ledgers that they do not write".to_owned(), self.writes, tally.watching);
        }
        if workloads.contains(&Workload::Form) {
            let again: u64 =
                tally.gestures.iter().filter(|(way, _)| **way != Gesture::Click).map(|(_, count)| count).sum();
            want("forms that were stopped, or sent again".to_owned(), self.writes, again);
        }
        // A check that gives up on many keys has checked nothing.
        let decided = (tally.ordered.keys - tally.ordered.undecided) * 100;
        want(
            "percent of keys whose calls could be ordered".to_owned(),
            95,
            decided.checked_div(tally.ordered.keys).unwrap_or(100),
        );
        want("writes of unknown outcome".to_owned(), self.unknown, tally.committed + tally.not_committed);
        for fault in faults {
            let (_, met) = tally.faults.get(fault.name()).copied().unwrap_or_default();
            let least = if fault.is_rare() { self.of_each_fault.min(1) } else { self.of_each_fault };
            want(format!("faults `{}` that met an operation", fault.name()), least, met);
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;
    use crate::clock::ms;
    use crate::evidence::Injected;
    use crate::history::Function;

    const LEAST: Least = Least { writes: 1, contention: 20, taken_over: 1, gone: 0, unknown: 1, of_each_fault: 1 };

    fn enough() -> Evidence {
        let fault =
            Injected { kind: Fault::Reset.name(), from_ns: ms(5), to_ns: ms(6), hit: true, stands_still: false };
        Evidence {
            operations: vec![
                append("1", "w1-a", (0, 10), 2),
                failed(Function::Lock, "2", "w1-a", (20, 30), "already-locked"),
                lost(Function::Append, "3", "w1-a", 40),
            ],
            notes: vec![note("3", "w1-a", 3, None, 0)],
            leases: vec![granted("w1-a", 1, 0, 1, Some("expired"))],
            faults: vec![fault],
            ..Evidence::default()
        }
    }

    fn missing(evidence: &Evidence) -> Vec<String> {
        LEAST.missing(&Tally::of(evidence), &[Workload::Lease], &[Fault::Reset])
    }

    #[test]
    fn run_with_everything_is_valid() {
        assert_eq!(missing(&enough()), Vec::<String>::new());
        let tally = Tally::of(&enough());
        assert_eq!((tally.ok, tally.fail, tally.info, tally.committed, tally.not_committed), (1, 1, 1, 1, 0));
    }

    #[test]
    fn requests_that_reach_no_database_with_writes_are_not_contested() {
        for why in ["read-only", "connection-lost"] {
            let mut run = enough();
            let refused = |at| failed(Function::Lock, "4", "w1-a", (at, at + 1), why);
            run.operations.extend((50..70).map(refused));
            assert_eq!(Tally::of(&run).contestable, Tally::of(&enough()).contestable, "{why}");
        }
    }

    #[test]
    fn each_lack_is_named() {
        let mut run = enough();
        run.leases.clear();
        assert_eq!(missing(&run), ["leases that expired and were taken by others: 0 of 1"]);
        let mut run = enough();
        run.faults[0].hit = false;
        assert_eq!(missing(&run), ["faults `reset` that met an operation: 0 of 1"]);
        let mut run = enough();
        run.operations.pop();
        assert_eq!(missing(&run), ["writes of unknown outcome: 0 of 1"]);
        assert_eq!(missing(&Evidence::default()).len(), 5);
    }
}

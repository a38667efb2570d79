//! C4: every acknowledged operation is in its ledgers once, every refused one never, an unknown one once or never; every read is a
//! beginning of the final list, and has what was acknowledged before it.
//!
//! InnoDB shows a commit to others before it is flushed. Where a crash follows at once, a read may have seen a write that is lost, and that
//! nobody was told of as done. Those reads are counted, not judged; the writes are judged as all others.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Violation;
use crate::evidence::{Evidence, Final};
use crate::history::{Function, Operation, Outcome};
use crate::subject::tenure::ledger::BALANCE;
use crate::subject::{EMPTY, digest};
use crate::workload::Workload;

pub(super) const NAME: &str = "C4 appends and reads";
pub(super) const SUM: &str = "C4 sums of transfers";

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let mut found = writes(evidence);
    found.extend(reads(evidence, |read| is_unflushed(read, evidence)));
    found
}

fn violation(what: String, at_ns: Option<u64>) -> Violation {
    Violation { check: NAME, what, at_ns }
}

fn writes(evidence: &Evidence) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut times: HashMap<(&str, &str), u64> = HashMap::new();
    for (ledger, last) in &evidence.ledgers {
        for op in &last.entries {
            *times.entry((ledger, op)).or_default() += 1;
        }
    }
    let mut known: HashSet<(&str, &str)> = HashSet::new();
    for operation in evidence.operations.iter().filter(|operation| operation.appends()) {
        let ledgers: Vec<&str> = operation.call.agg.iter().map(String::as_str).collect();
        known.extend(ledgers.iter().map(|ledger| (*ledger, operation.id())));
        let counts: Vec<u64> =
            ledgers.iter().map(|ledger| times.get(&(*ledger, operation.id())).copied().unwrap_or(0)).collect();
        if let Some(wrong) = wrong(operation.outcome(), &counts) {
            let (op, code) = (operation.id(), operation.code().unwrap_or("no answer"));
            found.push(violation(format!("{op} ({code}) in {ledgers:?}: {wrong}"), Some(operation.called_at())));
        }
    }
    for (ledger, op) in times.keys().filter(|entry| !known.contains(*entry)) {
        found.push(violation(format!("{ledger} has {op}, which nobody appended to it"), None));
    }
    found
}

/// What is wrong with an operation that is in its ledgers so many times.
fn wrong(outcome: Outcome, counts: &[u64]) -> Option<String> {
    let (all, none) = (counts.iter().all(|count| *count == 1), counts.iter().all(|count| *count == 0));
    match outcome {
        Outcome::Ok if !all => Some(format!("acknowledged, and it is there {counts:?} times")),
        Outcome::Fail if !none => Some(format!("refused, and it is there {counts:?} times")),
        Outcome::Info if !all && !none => Some(format!("unknown, and it is there {counts:?} times")),
        _ => None,
    }
}

fn reads(evidence: &Evidence, is_excused: impl Fn(&Operation) -> bool) -> Vec<Violation> {
    // When each version was acknowledged, in the order of the answers.
    let mut acknowledged: HashMap<&str, Vec<(u64, i64)>> = HashMap::new();
    for operation in &evidence.operations {
        if let Some(version) = operation.ok().filter(|_| operation.appends()).and_then(|args| args.version) {
            acknowledged.entry(operation.key()).or_default().push((operation.answered_at(), version));
        }
    }
    for answers in acknowledged.values_mut() {
        answers.sort_unstable();
        let mut highest = 0;
        for (_, version) in answers {
            highest = highest.max(*version);
            *version = highest;
        }
    }
    let digests: BTreeMap<&str, Vec<u64>> =
        evidence.ledgers.iter().map(|(id, last)| (id.as_str(), digests(last))).collect();
    let mut found = Vec::new();
    for read in evidence.operations.iter().filter(|operation| operation.is(Function::Read)) {
        let Some(args) = read.ok() else { continue };
        let (len, version) = (args.len.unwrap_or(0), args.version.unwrap_or(0));
        let there = digests.get(read.key()).and_then(|digests| digests.get(len as usize)).copied();
        if i64::try_from(len + 1) != Ok(version) {
            let what = format!("{} read version {version} of {} with {len} operations", read.id(), read.key());
            found.push(violation(what, Some(read.called_at())));
        }
        if there != args.digest && !is_excused(read) {
            let what =
                format!("{} read {len} operations of {}, which are no beginning of its list", read.id(), read.key());
            found.push(violation(what, Some(read.called_at())));
        }
        let answers = acknowledged.get(read.key()).map(Vec::as_slice).unwrap_or_default();
        let before = answers.partition_point(|(at, _)| *at < read.called_at());
        let least = before.checked_sub(1).map_or(0, |last| answers[last].1);
        if version < least {
            let what = format!("{} read version {version} of {} after {least} was acknowledged", read.id(), read.key());
            found.push(violation(what, Some(read.called_at())));
        }
    }
    found
}

/// Whether a read may have seen a write that was not flushed yet when the server ended.
fn is_unflushed(read: &Operation, evidence: &Evidence) -> bool {
    evidence.may_be_undone(read.called_at(), read.answered_at())
}

/// How many reads saw a write that a crash undid.
pub(super) fn unflushed(evidence: &Evidence) -> u64 {
    if !evidence.shows_unflushed {
        return 0;
    }
    (reads(evidence, |_| false).len() - reads(evidence, |read| is_unflushed(read, evidence)).len()) as u64
}

/// The digest of each beginning of a list, the empty one first.
fn digests(last: &Final) -> Vec<u64> {
    std::iter::once(EMPTY).chain(digest(last.entries.iter().map(String::as_str))).collect()
}

/// Transfers move amounts, and neither make nor lose them.
pub(super) fn check_sum(evidence: &Evidence) -> Vec<Violation> {
    let of_transfers = evidence.ledgers.iter().filter(|(id, _)| Workload::of(id) == Some(Workload::Transfer));
    let balances: Vec<i64> = of_transfers.map(|(_, last)| last.balance).collect();
    let (sum, expected) = (balances.iter().sum::<i64>(), BALANCE * i64::try_from(balances.len()).unwrap_or(0));
    match sum == expected {
        true => Vec::new(),
        false => vec![Violation { check: SUM, what: format!("the sum is {sum} instead of {expected}"), at_ns: None }],
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;
    use crate::clock::ms;
    use crate::evidence::Injected;
    use crate::history::Args;
    use crate::nemesis::Fault;

    #[test]
    fn lost_and_doubled_appends_are_found() {
        let written = || vec![append("1", "a", (0, 10), 2)];
        assert_eq!(check(&ledger(&["1"], written())), []);
        assert_eq!(check(&ledger(&[], written())).len(), 1);
        assert_eq!(check(&ledger(&["1", "1"], written())).len(), 1);
    }

    #[test]
    fn refused_append_that_is_there_is_found() {
        let refused = || vec![failed(Function::Append, "1", "a", (0, 10), "connection-lost")];
        assert_eq!(check(&ledger(&[], refused())), []);
        assert_eq!(check(&ledger(&["1"], refused())).len(), 1);
    }

    #[test]
    fn unknown_append_may_be_there_once() {
        let unknown = || vec![lost(Function::Append, "1", "a", 0)];
        assert_eq!(check(&ledger(&[], unknown())), []);
        assert_eq!(check(&ledger(&["1"], unknown())), []);
        assert_eq!(check(&ledger(&["1", "1"], unknown())).len(), 1);
        assert_eq!(check(&ledger(&["2"], unknown())).len(), 1, "nobody appended 2");
    }

    #[test]
    fn half_a_transfer_is_found() {
        let mut transfer = lost(Function::Transfer, "1", "a", 0);
        transfer.call.agg.push("b".to_owned());
        assert_eq!(check(&ledger(&["1"], vec![transfer])).len(), 1);
    }

    fn read(at: (u64, u64), version: i64, operations: &[&str]) -> Operation {
        let args = Args {
            version: Some(version),
            len: Some(operations.len() as u64),
            digest: Some(digest(operations.iter().copied()).last().unwrap_or(EMPTY)),
            ..Args::default()
        };
        ok(Function::Read, "r", "a", at, Args::default(), args)
    }

    #[test]
    fn stale_and_torn_reads_are_found() {
        let run = |read| {
            let written = vec![append("1", "a", (0, 10), 2), append("2", "a", (0, 20), 3), read];
            check(&ledger(&["1", "2"], written)).len()
        };
        assert_eq!(run(read((30, 40), 3, &["1", "2"])), 0);
        assert_eq!(run(read((15, 40), 2, &["1"])), 0);
        assert_eq!(run(read((30, 40), 2, &["1"])), 1, "2 was acknowledged before");
        assert_eq!(run(read((15, 40), 2, &["2"])), 1, "no beginning of the list");
        assert_eq!(run(read((15, 40), 2, &[])), 1, "another version than the list");
    }

    #[test]
    fn read_of_what_a_crash_undid_is_counted_on_innodb_only() {
        let written = vec![append("1", "a", (0, 10), 2), read((30, 40), 3, &["1", "9"])];
        let kill = |from| {
            let kind = Fault::KillServer.name();
            vec![Injected { kind, from_ns: ms(from), to_ns: ms(from + 500), hit: true, stands_still: false }]
        };
        let run = |from, shows_unflushed| {
            let evidence = Evidence { faults: kill(from), shows_unflushed, ..ledger(&["1"], written.clone()) };
            (check(&evidence).len(), unflushed(&evidence))
        };
        assert_eq!(run(50, true), (0, 1));
        assert_eq!(run(50, false), (1, 0));
        assert_eq!(run(1_050, true), (1, 0), "it had been flushed by then");
    }

    #[test]
    fn sum_that_changed_is_found() {
        let mut evidence = Evidence::default();
        for (id, balance) in [("w5-hot0.0", BALANCE - 3), ("w5-hot1.0", BALANCE + 3)] {
            evidence.ledgers.insert(id.to_owned(), Final { version: 1, balance, entries: vec![] });
        }
        assert_eq!(check_sum(&evidence), []);
        evidence.ledgers.insert("w5-hot2.0".to_owned(), Final { version: 1, balance: 1, entries: vec![] });
        assert_eq!(check_sum(&evidence).len(), 1);
    }
}

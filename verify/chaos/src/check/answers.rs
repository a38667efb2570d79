//! C9: every answer is one that its caller can act upon, and comes in time; no granted lease is forgotten. (That refusals have no effect, C4 checks.)

use std::collections::HashSet;

use super::Violation;
use crate::clock::ms;
use crate::evidence::{Evidence, Injected};
use crate::history::Operation;
use crate::nemesis::Fault;

pub(super) const NAME: &str = "C9 answers";

/// Codes that no fault here is a reason for: the database failed in a way that the library has no name for, or it was closed.
const UNEXPECTED: [&str; 23] = [
    "failed",
    "constraint",
    "guard-limit",
    "mapping",
    "not-permitted",
    "schema",
    "closed",
    "transaction-ended",
    "child-gone",
    "unsupported",
    "read-only",
    "disk-full",
    "file-lost",
    "unreachable",
    "other-spelling",
    "foreign-version",
    "invalid-key",
    "invalid-owner",
    "lock-not-yours",
    "lock-of-another",
    // Of forms: the application's promise, that each is saved once, rests on the library's.
    "two-versions",
    "saved-form-refused",
    "bad-form",
];

/// What a call may take without a limit of its own: five seconds for each of a few statements.
const DEFAULT_MS: u64 = 5_000;

/// And what else may pass on a busy machine, until the answer is written down.
const SLACK_MS: u64 = 15_000;

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let mut found = Vec::new();
    let granted = evidence.operations.iter().filter(|operation| operation.requests() && operation.ok().is_some());
    let granted: HashSet<&str> = granted.filter_map(|operation| operation.call.args.lock.as_deref()).collect();
    for operation in &evidence.operations {
        let at_ns = Some(operation.called_at());
        let lock = operation.call.args.lock.as_deref().unwrap_or_default();
        if operation.code() == Some("lock-unknown") && granted.contains(lock) {
            let what = format!("{} ({:?}) knows nothing of the granted lease {lock}", operation.id(), operation.call.f);
            found.push(Violation { check: NAME, what, at_ns });
        }
        if let Some(code) = operation.code().filter(|code| UNEXPECTED.contains(code))
            && !is_expected(code, operation, evidence)
        {
            let text = operation.answer.as_ref().and_then(|answer| answer.args.text.as_deref()).unwrap_or_default();
            let what = format!("{} ({:?}) was answered `{code}`: {text}", operation.id(), operation.call.f);
            found.push(Violation { check: NAME, what, at_ns });
        }
        if late_by(operation, evidence).is_some_and(|late| late > ms(SLACK_MS)) {
            let took = duration(operation, evidence) / ms(1);
            let what = format!("{} ({:?}) took {took} ms", operation.id(), operation.call.f);
            found.push(Violation { check: NAME, what, at_ns });
        }
    }
    found
}

/// What is the answer of no other run: the disk was full, the file was replaced, or a server of a cluster was no writer.
fn is_expected(code: &str, operation: &Operation, evidence: &Evidence) -> bool {
    let met = |kinds: &[Fault]| {
        let during =
            |fault: &&Injected| operation.called_at() <= fault.to_ns && fault.from_ns <= operation.answered_at();
        evidence.faults.iter().filter(during).any(|fault| kinds.iter().any(|kind| kind.name() == fault.kind))
    };
    match code {
        "failed" | "disk-full" => met(&[Fault::FillDisk]),
        "read-only" => {
            evidence.leads_to_readers && met(&[Fault::KillServer, Fault::StopNode, Fault::StopOthers, Fault::Isolate])
        }
        "file-lost" => evidence.replaced_ns.is_some_and(|at| at <= operation.answered_at()),
        _ => false,
    }
}

/// How long after the limit of its call an answer came, in nanoseconds; `None`: in time.
pub(super) fn late_by(operation: &Operation, evidence: &Evidence) -> Option<u64> {
    let limit = ms(operation.call.args.limit_ms.unwrap_or(DEFAULT_MS));
    duration(operation, evidence).checked_sub(limit).filter(|late| *late > 0)
}

/// How long an answer took, without the time in which the client, the database or the machine was stopped.
fn duration(operation: &Operation, evidence: &Evidence) -> u64 {
    if operation.answer.is_none() {
        return 0;
    }
    let (from, to) = (operation.called_at(), operation.answered_at());
    let stopped = evidence.faults.iter().filter(|fault| fault.stands_still).map(|fault| (fault.from_ns, fault.to_ns));
    let machine = evidence.standstills.iter().map(|stood| (stood.from_ns, stood.to_ns));
    let mut stopped: Vec<(u64, u64)> = stopped.chain(machine).collect();
    stopped.sort_unstable();
    // Each moment counts once, also if both stopped.
    let (mut worked, mut at) = (0, from);
    for (begin, end) in stopped {
        worked += begin.min(to).saturating_sub(at);
        at = at.max(end);
    }
    worked + to.saturating_sub(at)
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;
    use crate::history::Function;
    use crate::standstill::Standstill;

    fn found(operation: Operation, faults: Vec<Injected>) -> usize {
        check(&Evidence { operations: vec![operation], faults, ..Evidence::default() }).len()
    }

    #[test]
    fn unexpected_code_is_found() {
        assert_eq!(found(failed(Function::Append, "1", "a", (0, 10), "failed"), vec![]), 1);
        assert_eq!(found(failed(Function::Append, "1", "a", (0, 10), "version-conflict"), vec![]), 0);
    }

    #[test]
    fn forgotten_lease_is_found() {
        let mut release = failed(Function::Release, "2", "a", (20, 30), "lock-unknown");
        release.call.args = of_lock("1");
        let run = |first| check(&Evidence { operations: vec![first, release.clone()], ..Evidence::default() }).len();
        assert_eq!(run(lock("1", "a", (0, 10), 1)), 1);
        assert_eq!(run(lost(Function::Lock, "1", "a", 0)), 0, "it may never have been granted");
    }

    #[test]
    fn full_disk_and_replaced_file_explain_their_codes() {
        let full = |from, to| {
            let kind = Fault::FillDisk.name();
            vec![Injected { kind, from_ns: ms(from), to_ns: ms(to), hit: true, stands_still: false }]
        };
        assert_eq!(found(failed(Function::Append, "1", "a", (0, 10), "failed"), full(5, 20)), 0);
        assert_eq!(found(failed(Function::Append, "1", "a", (0, 10), "failed"), full(11, 20)), 1);
        let lost = |replaced_ns| {
            let operations = vec![failed(Function::Append, "1", "a", (0, 10), "file-lost")];
            check(&Evidence { operations, replaced_ns, ..Evidence::default() }).len()
        };
        assert_eq!((lost(Some(ms(5))), lost(Some(ms(11))), lost(None)), (0, 1, 1));
    }

    #[test]
    fn only_a_server_of_a_cluster_is_read_only_while_it_is_replaced() {
        let read_only = |kind: Fault, (from, to), leads_to_readers| {
            let operations = vec![failed(Function::Append, "1", "a", (0, 10), "read-only")];
            let faults =
                vec![Injected { kind: kind.name(), from_ns: ms(from), to_ns: ms(to), hit: true, stands_still: false }];
            check(&Evidence { operations, faults, leads_to_readers, ..Evidence::default() }).len()
        };
        assert_eq!(read_only(Fault::KillServer, (5, 20), true), 0);
        assert_eq!(read_only(Fault::KillServer, (11, 20), true), 1);
        assert_eq!(read_only(Fault::KillServer, (5, 20), false), 1, "there is one server");
        assert_eq!(read_only(Fault::Reset, (5, 20), true), 1);
    }

    #[test]
    fn answer_that_took_too_long_is_found_unless_all_stood_still() {
        let late = || append("1", "a", (0, 30_000), 2);
        assert_eq!(found(late(), vec![]), 1);
        let stop = Injected { kind: "stop", from_ns: ms(1_000), to_ns: ms(25_000), hit: true, stands_still: true };
        assert_eq!(found(late(), vec![stop]), 0);
    }

    #[test]
    fn time_in_which_the_machine_stood_still_counts_once() {
        let took = |standstills: &[(u64, u64)]| {
            let standstills = standstills.iter().map(|(from, to)| Standstill { from_ns: ms(*from), to_ns: ms(*to) });
            let stop = Injected { kind: "stop", from_ns: ms(4_000), to_ns: ms(9_000), hit: true, stands_still: true };
            let evidence = Evidence { standstills: standstills.collect(), faults: vec![stop], ..Evidence::default() };
            duration(&append("1", "a", (1_000, 31_000), 2), &evidence) / ms(1)
        };
        assert_eq!(took(&[]), 25_000);
        assert_eq!(took(&[(0, 2_000), (5_000, 12_000), (30_000, 40_000)]), 20_000);
        assert_eq!(took(&[(0, 500), (32_000, 40_000)]), 25_000, "before and after the call");
        assert_eq!(took(&[(0, 40_000)]), 0);
    }
}

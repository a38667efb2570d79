//! C11: a call that was dropped leaves no lease that nobody knows: a grant is undone, a release runs to its end.
//!
//! After the drop, and before the lease expires by itself, the client asks several times whether the lock id holds the lease, and changes
//! nothing by that. A lease was not ended if it is alive a second after its process could do its work: after the answer to another change,
//! which the process asked for when it had seen the lease alive. (One writer may pause, and SQLite has no other meanwhile.) While anything
//! else goes wrong, the end may have to be tried again, until the lease expires: then it is counted, and not judged.

use std::collections::{BTreeMap, HashSet};

use super::Violation;
use crate::clock::ms;
use crate::evidence::Evidence;
use crate::history::{Function, Operation, Outcome};

pub(super) const NAME: &str = "C11 leases of dropped calls";

/// How long an end in the background may take.
const BOUND_NS: u64 = ms(1_000);

/// Until then no lease has expired by itself: the last one was granted when the call was dropped.
const LIVES_NS: u64 = ms(2_900);

/// What became of the leases of dropped calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Leases that were asked for.
    pub(crate) leases: u64,
    pub(crate) gone: u64,
    /// Something else went wrong, or the client did not get to ask for long enough.
    pub(crate) undecided: u64,
    /// Leases that no client was told of, and that were released all the same.
    pub(crate) undone: u64,
}

impl Asked {
    pub(super) fn add(&mut self, other: Asked) {
        self.leases += other.leases;
        self.gone += other.gone;
        self.undecided += other.undecided;
        self.undone += other.undone;
    }
}

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    judge(evidence).0
}

/// Judges each lock id by itself.
pub(super) fn judge(evidence: &Evidence) -> (Vec<Violation>, Asked) {
    let mut by_lock: BTreeMap<&str, Vec<&Operation>> = BTreeMap::new();
    for operation in &evidence.operations {
        if let Some(lock) = operation.call.args.lock.as_deref() {
            by_lock.entry(lock).or_default().push(operation);
        }
    }
    let (mut found, mut asked) = (Vec::new(), Asked { undone: undone(evidence), ..Asked::default() });
    for (lock, operations) in by_lock {
        let (checks, others): (Vec<&Operation>, Vec<&Operation>) =
            operations.into_iter().partition(|operation| operation.is(Function::Check));
        let is_meant = |it: &&&Operation| it.is_dropped() && (it.requests() || it.is(Function::Release));
        let dropped: Vec<_> = others.iter().filter(is_meant).collect();
        let [first, ..] = dropped[..] else { continue };
        let last = dropped[dropped.len() - 1];
        if checks.is_empty() {
            continue;
        }
        asked.leases += 1;
        let lost = others.iter().any(|it| it.requests() && it.outcome() == Outcome::Info && !it.is_dropped());
        match outlived(&checks, evidence) {
            Some(until) if !lost && !went_wrong(evidence, first.called_at(), until) => {
                let (key, f, late) = (last.key(), last.call.f, (until - last.answered_at()) / ms(1));
                let what = format!("{} ({f:?}) was dropped, and {lock} held {key} {late} ms later", last.id());
                found.push(Violation { check: NAME, what, at_ns: Some(last.answered_at()) });
            }
            None if is_gone(&checks, last) => asked.gone += 1,
            _ => asked.undecided += 1,
        }
    }
    (found, asked)
}

/// When a lease was seen alive that should have ended.
fn outlived(checks: &[&Operation], evidence: &Evidence) -> Option<u64> {
    let generation = |check: &Operation| check.ok().and_then(|args| args.generation);
    let first = checks.iter().find(|check| generation(check).is_some())?;
    let process = |operation: &Operation| operation.id().split_once('.').map(|(process, _)| process.to_owned());
    let is_change = |it: &&Operation| {
        let changes = !matches!(it.call.f, Function::Read | Function::Check | Function::Form);
        changes && it.ok().is_some() && it.called_at() > first.answered_at() && process(it) == process(first)
    };
    let worked = evidence.operations.iter().filter(is_change).map(Operation::answered_at).min()?;
    let late = |check: &&&Operation| check.called_at() >= worked + BOUND_NS && generation(check) == generation(first);
    checks.iter().find(late).map(|check| check.called_at())
}

/// Whether the lease had ended before it would have expired.
fn is_gone(checks: &[&Operation], dropped: &Operation) -> bool {
    let is_held =
        |check: &&&Operation| check.ok().is_some() || check.code().is_some_and(|code| code.starts_with("lock-"));
    let last = checks.iter().rfind(is_held);
    last.is_some_and(|last| last.ok().is_none() && last.answered_at() < dropped.answered_at() + LIVES_NS)
}

/// Whether there was a fault, or the machine stood still.
fn went_wrong(evidence: &Evidence, from: u64, to: u64) -> bool {
    let faults = evidence.faults.iter().map(|fault| (fault.from_ns, fault.to_ns));
    let mut wrong = faults.chain(evidence.standstills.iter().map(|stood| (stood.from_ns, stood.to_ns)));
    wrong.any(|(begin, end)| begin <= to && from <= end)
}

fn undone(evidence: &Evidence) -> u64 {
    let granted = evidence.operations.iter().filter(|operation| operation.requests());
    let told: HashSet<_> = granted.filter_map(|it| Some((it.key(), it.ok()?.generation?))).collect();
    let released = evidence.leases.iter().filter(|lease| lease.how.as_deref() == Some("released"));
    released.filter(|lease| !told.contains(&(lease.key.as_str(), lease.generation))).count() as u64
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;
    use crate::evidence::Injected;
    use crate::history::{Args, Stage};
    use crate::subject::DROPPED;

    /// A call about the lease of `1.1` that was dropped after 10 ms.
    fn dropped(f: Function, op: &str, at: u64) -> Operation {
        let mut call = failed(f, op, "a", (at, at + 10), DROPPED);
        call.answer.as_mut().expect("it has an answer").stage = Stage::Info;
        call.call.args = of_lock("1.1");
        call
    }

    fn alive(op: &str, at: u64) -> Operation {
        ok(Function::Check, op, "a", (at, at + 5), of_lock("1.1"), Args { generation: Some(1), ..Args::default() })
    }

    fn gone(op: &str, at: u64) -> Operation {
        let mut check = failed(Function::Check, op, "a", (at, at + 5), "lock-unknown");
        check.call.args = of_lock("1.1");
        check
    }

    /// How many are found, gone and undecided. The process, and another one, write something else.
    fn judged(mut operations: Vec<Operation>, faults: Vec<Injected>) -> (usize, u64, u64) {
        operations.extend([append("1.9", "b", (600, 700), 2), append("2.9", "b", (410, 420), 1)]);
        operations.sort_by_key(Operation::called_at);
        let (found, asked) = judge(&Evidence { operations, faults, ..Evidence::default() });
        (found.len(), asked.gone, asked.undecided)
    }

    #[test]
    fn lease_that_lives_on_after_the_drop_is_found() {
        for f in [Function::Lock, Function::Wait, Function::Release] {
            let run = |last| judged(vec![dropped(f, "1.1", 0), alive("1.2", 400), last], vec![]);
            assert_eq!(run(alive("1.3", 1_700)), (1, 0, 0), "{f:?}");
            assert_eq!(run(gone("1.3", 1_700)), (0, 1, 0), "{f:?}");
            assert_eq!(run(alive("1.3", 1_699)), (0, 0, 1), "its process wrote at 700 ms");
        }
        // It was granted after the first question.
        let late = |last| vec![dropped(Function::Lock, "1.1", 0), gone("1.2", 400), alive("1.3", 500), last];
        assert_eq!(judged(late(alive("1.4", 1_700)), vec![]), (1, 0, 0));
        assert_eq!(judged(late(gone("1.4", 1_700)), vec![]), (0, 1, 0));
    }

    #[test]
    fn lease_is_not_judged_before_its_process_could_work() {
        let late = vec![dropped(Function::Lock, "1.1", 0), alive("1.2", 650), alive("1.3", 2_400)];
        assert_eq!(judged(late, vec![]), (0, 0, 1), "the other change was asked for before");
    }

    #[test]
    fn lease_that_another_request_received_is_not_asked_for() {
        let mut again = lock("1.2", "a", (20, 30), 1);
        again.call.args = of_lock("1.1");
        assert_eq!(judged(vec![dropped(Function::Lock, "1.1", 0), again], vec![]), (0, 0, 0));
    }

    #[test]
    fn lease_is_not_judged_while_something_else_goes_wrong() {
        let run = |from, to| {
            let fault = Injected { kind: "reset", from_ns: ms(from), to_ns: ms(to), hit: true, stands_still: false };
            judged(vec![dropped(Function::Lock, "1.1", 100), alive("1.2", 510), alive("1.3", 2_000)], vec![fault])
        };
        assert_eq!(run(1_000, 1_100), (0, 0, 1));
        assert_eq!((run(0, 99), run(2_001, 2_600)), ((1, 0, 0), (1, 0, 0)), "before the call, and after the answer");
        let lost = Operation { answer: None, ..dropped(Function::Lock, "1.0", 0) };
        let operations = vec![lost, dropped(Function::Lock, "1.1", 100), alive("1.2", 510), alive("1.3", 2_000)];
        assert_eq!(judged(operations, vec![]), (0, 0, 1), "the first request was not dropped");
    }

    #[test]
    fn late_or_missing_answers_decide_nothing() {
        let run = |check| judged(vec![dropped(Function::Lock, "1.1", 0), check], vec![]);
        assert_eq!(run(gone("1.2", 3_000)), (0, 0, 1), "it may have expired");
        assert_eq!(run(alive("1.2", 2_000)), (0, 0, 1));
        let unanswered = Operation { answer: None, ..gone("1.2", 400) };
        assert_eq!(run(unanswered), (0, 0, 1));
    }
}

//! C7: the calls about one lease fit a mutex with a rising number, in one order in which each call happens between its request and its
//! answer. So refusals are judged too: "held by another" needs a holder, and "lost" needs an end.
//!
//! The search is that of Wing and Gong, with the states that Lowe remembers. What a call of unknown outcome did is left open.

mod calls;
mod search;
mod state;

use std::collections::BTreeMap;

use super::Violation;
use crate::evidence::Evidence;
use crate::history::Operation;

use self::calls::Calls;
use self::search::{Found, search};

pub(super) const NAME: &str = "C7 order of the calls about a lease";

/// How many keys were judged, and how many have too many possible orders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) keys: u64,
    pub(crate) undecided: u64,
}

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    judge(evidence).0
}

/// Judges each key by itself.
pub(super) fn judge(evidence: &Evidence) -> (Vec<Violation>, Judged) {
    let mut by_key: BTreeMap<&str, Vec<&Operation>> = BTreeMap::new();
    for operation in &evidence.operations {
        by_key.entry(operation.key()).or_default().push(operation);
    }
    let (mut found, mut judged) = (Vec::new(), Judged::default());
    for (key, operations) in by_key {
        if !operations.iter().any(|operation| operation.requests()) {
            continue;
        }
        let calls = Calls::of(&operations, clock_stepped(evidence, &operations), |call| {
            evidence.may_be_undone(call.called_at(), call.answered_at())
        });
        judged.keys += 1;
        match search(&calls) {
            Found::Order => {}
            Found::TooMany => judged.undecided += 1,
            Found::None { at } => {
                let what = format!("{key}: no order of the calls explains {}", calls.describe(at));
                found.push(Violation { check: NAME, what, at_ns: Some(calls.sure[at].from) });
            }
        }
    }
    (found, judged)
}

/// Whether the database's clock stepped while these calls were made. Then times say nothing about the end of a lease.
fn clock_stepped(evidence: &Evidence, operations: &[&Operation]) -> bool {
    let from = operations.iter().map(|operation| operation.called_at()).min().unwrap_or(0);
    let answers = operations.iter().filter(|operation| operation.answer.is_some());
    let to = answers.map(|operation| operation.answered_at()).max().unwrap_or(u64::MAX);
    evidence.steps.near(from, to)
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;
    use crate::clock::ms;
    use crate::evidence::Injected;
    use crate::history::{Args, Function, Guarded, Stage};
    use crate::nemesis::Fault;
    use crate::steps::{Step, Steps};
    use crate::subject::DROPPED;

    fn found(operations: Vec<Operation>) -> usize {
        check(&Evidence { operations, ..Evidence::default() }).len()
    }

    fn under(op: &str, lock: &str, at: (u64, u64)) -> Operation {
        let call = Args { guard: Some(Guarded::Lease), ..of_lock(lock) };
        ok(Function::Append, op, "a", at, call, Args::default())
    }

    #[test]
    fn lease_after_lease_is_an_order() {
        let release = ok(Function::Release, "3", "a", (400, 405), of_lock("1"), Args::default());
        assert_eq!(found(vec![lock("1", "a", (0, 10), 1), release, lock("2", "a", (401, 410), 2)]), 0);
        assert_eq!(found(vec![lock("1", "a", (0, 10), 1), lock("2", "a", (2_000, 2_010), 2)]), 0, "it has expired");
    }

    #[test]
    fn two_holders_at_once_are_found() {
        assert_eq!(found(vec![lock("1", "a", (0, 10), 1), lock("2", "a", (500, 510), 2)]), 1);
    }

    #[test]
    fn refusal_without_a_holder_is_found() {
        let refused = |at| failed(Function::Lock, "2", "a", at, "already-locked");
        let release = || ok(Function::Release, "3", "a", (40, 45), of_lock("1"), Args::default());
        assert_eq!(found(vec![lock("1", "a", (0, 10), 1), refused((20, 30))]), 0);
        assert_eq!(
            found(vec![lock("1", "a", (0, 10), 1), refused((20, 42)), release()]),
            0,
            "refused before the release"
        );
        assert_eq!(found(vec![lock("1", "a", (0, 10), 1), release(), refused((50, 60))]), 1);
        assert_eq!(found(vec![lock("1", "a", (0, 10), 1), refused((2_500, 2_510))]), 1, "it had expired");
    }

    #[test]
    fn lease_that_is_called_lost_while_it_lives_is_found() {
        let lost = |at| {
            let mut refused = failed(Function::Release, "3", "a", at, "lock-expired");
            refused.call.args = of_lock("1");
            refused
        };
        assert_eq!(found(vec![lock("1", "a", (0, 10), 1), lost((500, 510))]), 1);
        assert_eq!(found(vec![lock("1", "a", (0, 10), 1), lost((1_990, 2_010))]), 0);
    }

    #[test]
    fn write_after_the_surely_last_moment_is_found() {
        assert_eq!(found(vec![lock("1", "a", (0, 10), 1), under("2", "1", (1_900, 2_500))]), 0, "checked in time");
        assert_eq!(found(vec![lock("1", "a", (0, 10), 1), under("2", "1", (2_100, 2_200))]), 1);
        assert_eq!(
            found(vec![lock("1", "a", (0, 10), 1), lock("2", "a", (2_005, 2_010), 2), under("3", "1", (2_020, 2_030))]),
            1
        );
    }

    #[test]
    fn unknown_calls_may_have_done_what_others_show() {
        let unknown = |f, op: &str, lock: &str, at| {
            let mut call = lost(f, op, "a", at);
            call.call.args = of_lock(lock);
            call
        };
        // The generation shows that somebody had the lease in between.
        let gap = || vec![lock("1", "a", (0, 10), 1), lock("2", "a", (4_000, 4_010), 3)];
        assert_eq!(found(gap()), 1);
        let mut explained = gap();
        explained.insert(1, unknown(Function::Lock, "9", "9", 2_500));
        assert_eq!(found(explained), 0);
        let early = || vec![lock("1", "a", (0, 10), 1), lock("2", "a", (500, 510), 2)];
        let mut explained = early();
        explained.insert(1, unknown(Function::Release, "9", "1", 100));
        assert_eq!(found(explained), 0);
    }

    #[test]
    fn lock_id_of_a_dropped_request_may_be_granted_anew() {
        let run = |code, second| {
            let mut first = failed(Function::Lock, "1", "a", (0, 10), code);
            (first.call.args, first.answer.as_mut().expect("it has an answer").stage) = (of_lock("1"), Stage::Info);
            let again = Operation { call: lock("1", "a", (20, 30), 2).call, ..lock("2", "a", (20, 30), second) };
            found(vec![first, again])
        };
        assert_eq!((run(DROPPED, 1), run(DROPPED, 2), run(DROPPED, 3)), (0, 0, 1), "undone once at most");
        assert_eq!((run("outcome-unknown", 1), run("outcome-unknown", 2)), (0, 1));
    }

    #[test]
    fn dropped_request_may_keep_the_lease_of_its_repetition_alive() {
        let run = |code| {
            let mut first = failed(Function::Lock, "1", "a", (0, 10), code);
            (first.call.args, first.answer.as_mut().expect("it has an answer").stage) = (of_lock("1"), Stage::Info);
            let again = Operation { call: lock("1", "a", (20, 30), 1).call, ..lock("2", "a", (20, 30), 1) };
            found(vec![first, again, under("3", "1", (2_100, 2_200))])
        };
        assert_eq!((run(DROPPED), run("outcome-unknown")), (0, 1));
    }

    #[test]
    fn saved_form_may_have_ended_its_lease() {
        let form = |answer| {
            let call = Args { guard: Some(Guarded::Form), ..of_lock("1") };
            let mut refused = failed(Function::Form, "3", "a", (100, 200), "version-conflict");
            refused.call.args = call.clone();
            if answer { ok(Function::Form, "3", "a", (100, 200), call, Args::default()) } else { refused }
        };
        let run = |answer| found(vec![lock("1", "a", (0, 10), 1), form(answer), lock("2", "a", (300, 310), 2)]);
        assert_eq!((run(true), run(false)), (0, 1));
    }

    #[test]
    fn step_of_the_clock_leaves_the_end_of_a_lease_open() {
        let operations = vec![lock("1", "a", (0, 10), 1), lock("2", "a", (500, 510), 2)];
        let steps = Steps(vec![Step { from_ns: ms(100), to_ns: ms(110), before_ms: 5_000, after_ms: 9_000 }]);
        let mut evidence = Evidence { operations, steps, ..Evidence::default() };
        assert_eq!(check(&evidence).len(), 0);
        // Set back, the clock makes a lease live again that had expired.
        let call = Args { guard: Some(Guarded::UnlessLocked), ..Args::default() };
        evidence.operations.push(ok(Function::Append, "4", "a", (520, 530), call, Args::default()));
        evidence.operations.push(failed(Function::Lock, "5", "a", (540, 550), "already-locked"));
        assert_eq!(check(&evidence).len(), 0);
        evidence.operations.push(lock("3", "a", (600, 610), 2));
        assert_eq!(check(&evidence).len(), 1, "no step makes a number twice");
    }

    #[test]
    fn refusal_by_an_unflushed_lease_is_left_open_on_innodb_only() {
        let operations =
            vec![failed(Function::Lock, "1", "a", (0, 10), "already-locked"), lock("2", "a", (2_000, 2_010), 1)];
        let kind = Fault::KillServer.name();
        let kill = Injected { kind, from_ns: ms(20), to_ns: ms(500), hit: true, stands_still: false };
        let evidence = Evidence { operations, faults: vec![kill], ..Evidence::default() };
        assert_eq!(check(&evidence).len(), 1);
        assert_eq!(check(&Evidence { shows_unflushed: true, ..evidence }).len(), 0);
    }

    #[test]
    fn many_calls_at_once_are_judged() {
        let mut operations = vec![lock("1", "a", (0, 10), 1)];
        operations
            .extend((0..300).map(|n| failed(Function::Lock, &format!("r{n}"), "a", (20, 1_000), "already-locked")));
        assert_eq!(judge(&Evidence { operations, ..Evidence::default() }), (vec![], Judged { keys: 1, undecided: 0 }));
    }
}

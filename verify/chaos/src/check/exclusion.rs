//! C1: two clients never surely hold one lock at the same time.
//!
//! A client surely holds a lease from the answer until it sends the release, or until the rest of the lease has passed since the
//! request was *sent*. So an overlap is no matter of opinion. The same is asked of row locks, and of writes that say that nobody
//! held the lease. Where the database's clock stepped forward, leases may have ended then: nobody surely holds one any more.

use std::collections::{BTreeMap, HashMap};

use super::Violation;
use crate::clock::ms;
use crate::evidence::Evidence;
use crate::history::{Function, Guarded, Operation, Outcome};
use crate::steps::Steps;

pub(super) const NAME: &str = "C1 exclusion as clients see it";

/// Times of the database are whole milliseconds.
const MARGIN: u64 = ms(2);

/// A time in which somebody surely held something.
#[derive(Debug, Clone)]
struct Hold {
    op: String,
    from: u64,
    to: u64,
}

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let leases = leases(&evidence.operations, &evidence.steps);
    let mut found = overlaps("the lease of", &leases);
    found.extend(overlaps("the row of", &rows(&evidence.operations)));
    found.extend(inside(&leases, &evidence.operations));
    found
}

fn leases(operations: &[Operation], steps: &Steps) -> BTreeMap<String, Vec<Hold>> {
    let mut breaks: HashMap<(&str, Option<i64>), u64> = HashMap::new();
    for operation in operations.iter().filter(|operation| operation.is(Function::Break)) {
        let sent = breaks.entry((operation.key(), operation.call.args.generation)).or_insert(u64::MAX);
        *sent = operation.called_at().min(*sent);
    }
    let mut holds: HashMap<&str, (String, Hold)> = HashMap::new();
    let mut former = Vec::new();
    for operation in operations {
        let Some(lock) = operation.call.args.lock.as_deref() else { continue };
        let sent = operation.called_at();
        let granted = operation.ok().and_then(|args| {
            let until = sent + ms(args.remaining_ms?);
            Some((args.generation, until.min(steps.next_forward(sent))))
        });
        match operation.call.f {
            Function::Lock | Function::Wait => {
                let Some((generation, until)) = granted else { continue };
                let broken = breaks.get(&(operation.key(), generation)).copied().unwrap_or(u64::MAX);
                let to = until.saturating_sub(MARGIN).min(broken);
                let hold = Hold { op: operation.id().to_owned(), from: operation.answered_at(), to };
                holds.insert(lock, (operation.key().to_owned(), hold));
            }
            Function::Shorten => {
                let within = sent + ms(operation.call.args.within_ms.unwrap_or(0));
                end(&mut holds, lock, within.saturating_sub(MARGIN));
            }
            Function::Extend => {
                if let (Some((generation, until)), Some((key, hold))) = (granted, holds.get_mut(lock)) {
                    let broken = breaks.get(&(key, generation)).copied().unwrap_or(u64::MAX);
                    // It may have been expired in between, until the clock was set back, or right again.
                    if steps.near(hold.from, operation.answered_at()) {
                        former.push((key.clone(), Hold { to: hold.to.min(sent), ..hold.clone() }));
                        (hold.from, hold.to) = (operation.answered_at(), 0);
                    }
                    hold.to = hold.to.max(until.saturating_sub(MARGIN)).min(broken);
                }
            }
            Function::Release => end(&mut holds, lock, sent),
            // Released with the commit, whenever that is.
            _ if matches!(operation.call.args.guard, Some(Guarded::LeaseReleased | Guarded::Form)) => {
                end(&mut holds, lock, sent);
            }
            _ => {}
        }
    }
    let mut by_key: BTreeMap<String, Vec<Hold>> = BTreeMap::new();
    for (key, hold) in holds.into_values().chain(former).filter(|(_, hold)| hold.from < hold.to) {
        by_key.entry(key).or_default().push(hold);
    }
    by_key
}

fn end(holds: &mut HashMap<&str, (String, Hold)>, lock: &str, at: u64) {
    if let Some((_, hold)) = holds.get_mut(lock) {
        hold.to = hold.to.min(at);
    }
}

fn rows(operations: &[Operation]) -> BTreeMap<String, Vec<Hold>> {
    let mut by_key: BTreeMap<String, Vec<Hold>> = BTreeMap::new();
    for operation in operations {
        if let Some((from, to)) = operation.ok().and_then(|args| args.row_ns) {
            let hold = Hold { op: operation.id().to_owned(), from, to };
            by_key.entry(operation.key().to_owned()).or_default().push(hold);
        }
    }
    by_key
}

fn overlaps(what: &str, holds: &BTreeMap<String, Vec<Hold>>) -> Vec<Violation> {
    let mut found = Vec::new();
    for (key, holds) in holds {
        let mut holds: Vec<_> = holds.iter().collect();
        holds.sort_by_key(|hold| hold.from);
        let mut longest: Option<&Hold> = None;
        for hold in holds {
            if let Some(before) = longest.filter(|before| before.to > hold.from) {
                let both = (before.to.min(hold.to) - hold.from) / ms(1);
                let what = format!("{what} {key} was held by {} and by {} for {both} ms", before.op, hold.op);
                found.push(Violation { check: NAME, what, at_ns: Some(hold.from) });
            }
            longest = longest.filter(|before| before.to >= hold.to).or(Some(hold));
        }
    }
    found
}

/// Writes that were to happen only while nobody held the lease, and happened while somebody surely did.
fn inside(leases: &BTreeMap<String, Vec<Hold>>, operations: &[Operation]) -> Vec<Violation> {
    let written = operations.iter().filter(|operation| {
        operation.call.args.guard == Some(Guarded::UnlessLocked) && operation.outcome() == Outcome::Ok
    });
    let mut found = Vec::new();
    for write in written {
        let holds = leases.get(write.key()).into_iter().flatten();
        for hold in holds.filter(|hold| hold.from < write.called_at() && write.answered_at() < hold.to) {
            let what = format!("{} wrote {} while {} held its lease", write.id(), write.key(), hold.op);
            found.push(Violation { check: NAME, what, at_ns: Some(write.called_at()) });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;
    use crate::history::Args;
    use crate::steps::Step;

    fn found(operations: Vec<Operation>) -> usize {
        check(&Evidence { operations, ..Evidence::default() }).len()
    }

    #[test]
    fn overlapping_leases_are_found() {
        assert_eq!(found(vec![lock("1", "a", (0, 10), 1), lock("2", "a", (500, 510), 2)]), 1);
        assert_eq!(found(vec![lock("1", "a", (0, 10), 1), lock("2", "b", (500, 510), 1)]), 0);
    }

    #[test]
    fn released_or_expired_lease_overlaps_nothing() {
        let release = ok(Function::Release, "3", "a", (400, 405), of_lock("1"), Args::default());
        assert_eq!(found(vec![lock("1", "a", (0, 10), 1), release, lock("2", "a", (401, 410), 2)]), 0);
        assert_eq!(found(vec![lock("1", "a", (0, 10), 1), lock("2", "a", (1990, 2000), 2)]), 0);
    }

    #[test]
    fn late_answer_counts_from_the_request() {
        // Answered after 1.9 s: of the two seconds, a tenth is left.
        assert_eq!(found(vec![lock("1", "a", (0, 1900), 1), lock("2", "a", (1990, 2001), 2)]), 0);
    }

    #[test]
    fn extended_lease_is_held_longer_and_a_broken_one_shorter() {
        let args = Args { generation: Some(1), remaining_ms: Some(2000), ..Args::default() };
        let extend = ok(Function::Extend, "3", "a", (1000, 1010), of_lock("1"), args);
        let locks = || vec![lock("1", "a", (0, 10), 1), extend.clone(), lock("2", "a", (2500, 2510), 2)];
        assert_eq!(found(locks()), 1);
        let call = Args { generation: Some(1), ..Args::default() };
        let mut broken = locks();
        broken.insert(2, ok(Function::Break, "4", "a", (2400, 2410), call, Args::default()));
        assert_eq!(found(broken), 0);
    }

    #[test]
    fn lease_is_not_surely_held_after_a_step_forward() {
        let operations = || vec![lock("1", "a", (0, 10), 1), lock("2", "a", (500, 510), 2)];
        let found = |at, before_ms, after_ms| {
            let steps = Steps(vec![Step { from_ns: ms(at), to_ns: ms(at), before_ms, after_ms }]);
            check(&Evidence { operations: operations(), steps, ..Evidence::default() }).len()
        };
        assert_eq!(found(400, 5_000, 9_000), 0);
        assert_eq!(found(400, 9_000, 5_000), 1, "set back, it lives longer");
        assert_eq!(found(520, 5_000, 9_000), 1, "both held it before");
    }

    #[test]
    fn lease_that_a_step_interrupted_is_held_again_once_it_is_extended() {
        let args = Args { generation: Some(1), remaining_ms: Some(2000), ..Args::default() };
        let extend = ok(Function::Extend, "3", "a", (1000, 1010), of_lock("1"), args);
        let steps = [(400, 5_000, 9_000), (800, 9_400, 5_400)];
        let step = |(at, before_ms, after_ms)| Step { from_ns: ms(at), to_ns: ms(at), before_ms, after_ms };
        let found = |write| {
            let call = Args { guard: Some(Guarded::UnlessLocked), ..Args::default() };
            let write = ok(Function::Append, "2", "a", write, call, Args::default());
            let operations = vec![lock("1", "a", (0, 10), 1), extend.clone(), write];
            let steps = Steps(steps.map(step).into());
            check(&Evidence { operations, steps, ..Evidence::default() }).len()
        };
        assert_eq!(found((500, 510)), 0, "it was expired");
        assert_eq!(found((200, 210)), 1);
        assert_eq!(found((1200, 1210)), 1);
    }

    #[test]
    fn overlapping_row_locks_are_found() {
        let row = |op, from: u64, to: u64| {
            let answer = Args { row_ns: Some((ms(from), ms(to))), ..Args::default() };
            ok(Function::Append, op, "a", (from, to), Args::default(), answer)
        };
        assert_eq!(found(vec![row("1", 0, 10), row("2", 5, 20)]), 1);
        assert_eq!(found(vec![row("1", 0, 10), row("2", 10, 20)]), 0);
    }

    #[test]
    fn write_inside_the_lease_of_another_is_found() {
        let call = || Args { guard: Some(Guarded::UnlessLocked), ..Args::default() };
        let write = |at| ok(Function::Append, "2", "a", at, call(), Args::default());
        assert_eq!(found(vec![lock("1", "a", (0, 10), 1), write((100, 110))]), 1);
        assert_eq!(found(vec![lock("1", "a", (0, 10), 1), write((5, 15))]), 0);
    }
}

//! C3: the generation of a lease rises with every grant, and no write is accepted under a lease that has a successor. The order of the
//! calls and of the versions decides, whatever the clock shows; readings of the clock are compared where it was not set back.

use std::collections::{BTreeMap, HashMap};

use super::Violation;
use crate::clock::ms;
use crate::evidence::{Evidence, Granted, Noted};
use crate::history::{Guarded, Operation};
use crate::steps::Steps;

pub(super) const NAME: &str = "C3 fencing";

/// Times of the database are whole milliseconds, rounded.
const ROUNDING_MS: i64 = 1;

/// A call without an answer is taken to have ended after this time: its deadlines are below it.
const LONGEST_NS: u64 = ms(15_000);

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let mut found = grants(&evidence.operations);
    found.extend(writes(evidence));
    found
}

/// One grant, as its client was told of it.
struct Told<'a> {
    lock: &'a str,
    generation: i64,
    called: u64,
    answered: u64,
}

/// A grant that was requested after another one was answered has a higher generation, and no two have the same.
fn grants(operations: &[Operation]) -> Vec<Violation> {
    let mut by_key: BTreeMap<&str, Vec<Told<'_>>> = BTreeMap::new();
    for operation in operations.iter().filter(|operation| operation.requests()) {
        let generation = operation.ok().and_then(|args| args.generation);
        if let (Some(generation), Some(lock)) = (generation, operation.call.args.lock.as_deref()) {
            let (called, answered) = (operation.called_at(), operation.answered_at());
            by_key.entry(operation.key()).or_default().push(Told { lock, generation, called, answered });
        }
    }
    let mut found = Vec::new();
    let mut violation = |what, at| found.push(Violation { check: NAME, what, at_ns: Some(at) });
    for (key, told) in &by_key {
        let mut owner: HashMap<i64, &str> = HashMap::new();
        for grant in told {
            let first = *owner.entry(grant.generation).or_insert(grant.lock);
            if first != grant.lock {
                let what =
                    format!("{key}: generation {} was granted to {first} and to {}", grant.generation, grant.lock);
                violation(what, grant.answered);
            }
        }
        // In the order of the requests, with the answers that came before each of them.
        let mut answered: Vec<&Told<'_>> = told.iter().collect();
        answered.sort_by_key(|grant| grant.answered);
        let (mut next, mut highest) = (0, None::<&Told<'_>>);
        for grant in told {
            while let Some(before) = answered.get(next).filter(|before| before.answered < grant.called) {
                highest = highest.filter(|highest| highest.generation >= before.generation).or(Some(before));
                next += 1;
            }
            if let Some(before) =
                highest.filter(|before| before.generation > grant.generation && before.lock != grant.lock)
            {
                let what = format!("{key}: generation {} was granted after {}", grant.generation, before.generation);
                violation(what, grant.answered);
            }
        }
    }
    found
}

/// What was written under leases, by the rows that were written along with it.
fn writes(evidence: &Evidence) -> Vec<Violation> {
    let times: HashMap<&str, (u64, u64)> = evidence
        .operations
        .iter()
        .map(|operation| (operation.id(), operation.called_at(), operation.answered_at()))
        .map(|(id, called, answered)| (id, (called, answered.min(called + LONGEST_NS))))
        .collect();
    let called = |note: &Noted| times.get(note.op.as_str()).map(|(called, _)| *called);
    let violation = |note: &Noted, what| Violation { check: NAME, what, at_ns: called(note) };
    let mut found = Vec::new();
    let mut last: HashMap<&str, i64> = HashMap::new();
    for note in &evidence.notes {
        let Some(generation) = note.generation else { continue };
        let before = last.entry(&note.ledger).or_insert(generation);
        if *before > generation {
            let what =
                format!("{}: {} wrote under generation {generation} after {before} had written", note.ledger, note.op);
            found.push(violation(note, what));
        }
        *before = generation.max(*before);
    }
    let told = told(&evidence.operations);
    for note in &evidence.notes {
        found.extend(late(note, told.get(note.ledger.as_str()), &evidence.steps).map(|what| violation(note, what)));
    }
    let by_key: BTreeMap<&str, &[Granted]> = evidence
        .leases
        .chunk_by(|one, other| one.key == other.key)
        .map(|leases| (leases[0].key.as_str(), leases))
        .collect();
    for note in &evidence.notes {
        let leases = by_key.get(note.ledger.as_str()).copied().unwrap_or_default();
        let times = times.get(note.op.as_str()).copied();
        found.extend(against(note, times, leases, &evidence.steps).map(|what| violation(note, what)));
    }
    found
}

/// The grants that clients were told of: generation, and when by the database's clock.
fn told(operations: &[Operation]) -> HashMap<&str, Vec<(i64, i64)>> {
    let mut told: HashMap<&str, Vec<(i64, i64)>> = HashMap::new();
    for operation in operations.iter().filter(|operation| operation.requests()) {
        if let Some(grant) = operation.ok().and_then(|args| Some((args.generation?, args.since_ms?))) {
            told.entry(operation.key()).or_default().push(grant);
        }
    }
    told
}

/// Whether a write under a lease comes after a higher generation was granted.
fn late(note: &Noted, told: Option<&Vec<(i64, i64)>>, steps: &Steps) -> Option<String> {
    let Noted { op, ledger, at_ms, .. } = note;
    let generation = note.generation?;
    let higher = |(other, since): &&(i64, i64)| *other > generation && steps.surely_before(since + ROUNDING_MS, *at_ms);
    let (other, since) = told?.iter().find(higher)?;
    Some(format!("{op} wrote {ledger} under {generation}, {} ms after {other} was granted to a client", at_ms - since))
}

/// A write beside the leases of its ledger, on the database's clock. `times`: between which moments it was called and answered.
fn against(note: &Noted, times: Option<(u64, u64)>, leases: &[Granted], steps: &Steps) -> Option<String> {
    let Noted { op, ledger, at_ms, .. } = note;
    if let Some(generation) = note.generation {
        let Some(at) = leases.iter().position(|lease| lease.generation == generation) else {
            return (!leases.is_empty())
                .then(|| format!("{op} wrote {ledger} under generation {generation}, which is unknown"));
        };
        if steps.surely_before(at_ms + ROUNDING_MS, leases[at].since_ms) {
            return Some(format!("{op} wrote {ledger} before its lease {generation} was granted"));
        }
        let next = leases.get(at + 1).filter(|next| steps.surely_before(next.since_ms + ROUNDING_MS, *at_ms))?;
        let late = at_ms - next.since_ms;
        return Some(format!(
            "{op} wrote {ledger} under {generation}, {late} ms after {} was granted",
            next.generation
        ));
    }
    if note.guard != Some(Guarded::UnlessLocked) {
        return None;
    }
    // A lease that a step forward ended has a successor. Its time may come again, when the clock is right again.
    let held = |(lease, next): &(&Granted, Option<&Granted>)| {
        steps.surely_before(lease.since_ms + ROUNDING_MS, *at_ms)
            && steps.surely_before(at_ms + ROUNDING_MS, lease.ended_ms)
            && next.is_none_or(|next| steps.surely_before(*at_ms, next.since_ms))
            // It looked for a lease before its own time was read, and the clock may have been set back in between.
            && !times.is_some_and(|times| steps.set_back_from(times, lease.ended_ms))
            // The lease had expired, then the clock was set back, and a heartbeat prolonged it.
            && !times.is_some_and(|(called, _)| steps.set_back_before(called, *at_ms, lease.ended_ms))
    };
    let nexts = leases.iter().skip(1).map(Some).chain([None]);
    let (lease, _) = leases.iter().zip(nexts).find(held)?;
    Some(format!("{op} wrote {ledger} unless it is locked, while {} held it", lease.generation))
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;
    use crate::steps::Step;

    fn found(operations: Vec<Operation>, notes: Vec<Noted>, leases: Vec<Granted>) -> usize {
        check(&Evidence { operations, notes, leases, ..Evidence::default() }).len()
    }

    fn two() -> Vec<Granted> {
        vec![granted("a", 1, 0, 100, Some("expired")), granted("a", 2, 150, 400, None)]
    }

    #[test]
    fn generation_that_falls_or_repeats_is_found() {
        let first = || lock("1", "a", (0, 10), 2);
        assert_eq!(found(vec![first(), lock("2", "a", (20, 30), 3)], vec![], vec![]), 0);
        assert_eq!(found(vec![first(), lock("2", "a", (20, 30), 1)], vec![], vec![]), 1);
        assert_eq!(found(vec![first(), lock("2", "a", (20, 30), 2)], vec![], vec![]), 1);
        // At the same time, either may have been first.
        assert_eq!(found(vec![first(), lock("2", "a", (5, 30), 1)], vec![], vec![]), 0);
    }

    #[test]
    fn write_under_an_older_generation_is_found() {
        let notes = |second| vec![note("1", "a", 2, Some(2), 0), note("2", "a", 3, Some(second), 0)];
        assert_eq!(found(vec![], notes(1), vec![]), 1);
        assert_eq!(found(vec![], notes(2), vec![]), 0);
    }

    #[test]
    fn write_after_a_grant_that_a_client_was_told_of_is_found() {
        let mut next = lock("1", "a", (0, 10), 2);
        next.answer.as_mut().expect("it was answered").args.since_ms = Some(150);
        assert_eq!(found(vec![next.clone()], vec![note("1", "a", 2, Some(1), 149)], vec![]), 0);
        assert_eq!(found(vec![next], vec![note("1", "a", 2, Some(1), 160)], vec![]), 1);
    }

    #[test]
    fn write_after_the_next_grant_is_found() {
        assert_eq!(found(vec![], vec![note("1", "a", 2, Some(1), 149)], two()), 0, "late, and nobody else had it");
        assert_eq!(found(vec![], vec![note("1", "a", 2, Some(1), 160)], two()), 1);
        assert_eq!(found(vec![], vec![note("1", "a", 2, Some(3), 160)], two()), 1, "no such lease");
    }

    #[test]
    fn step_of_the_clock_excuses_no_order_of_writes() {
        let steps = Steps(vec![Step { from_ns: 0, to_ns: 0, before_ms: 5_000, after_ms: 100 }]);
        let evidence = |notes| Evidence { notes, leases: two(), steps: steps.clone(), ..Evidence::default() };
        // By the clock after the second lease began, and yet before the clock was set back.
        assert_eq!(check(&evidence(vec![note("1", "a", 2, Some(1), 4_000)])).len(), 0);
        let under = |op, version, generation| note(op, "a", version, Some(generation), 4_000);
        assert_eq!(check(&evidence(vec![under("1", 2, 2), under("2", 3, 1)])).len(), 1);
    }

    #[test]
    fn lease_that_a_step_forward_ended_stays_ended() {
        // 100 ms of the lease have passed, then the clock is 3 s ahead for a second. Its second holder releases it.
        let steps = [(1_100, 4_100), (5_100, 2_100)];
        let step = |(before_ms, after_ms)| Step { from_ns: 0, to_ns: 0, before_ms, after_ms };
        let first = granted("a", 1, 1_000, 3_000, Some("expired"));
        let second = granted("a", 2, 4_200, 5_000, Some("released"));
        let write = Noted { guard: Some(Guarded::UnlessLocked), ..note("1", "a", 2, None, 2_300) };
        let evidence = |leases| {
            let steps = Steps(steps.map(step).into());
            Evidence { notes: vec![write.clone()], leases, steps, ..Evidence::default() }
        };
        assert_eq!(check(&evidence(vec![first.clone(), second])).len(), 0);
        assert_eq!(check(&evidence(vec![first])).len(), 1, "it was live again");
    }

    #[test]
    fn write_that_saw_an_expired_lease_before_a_step_back_is_none() {
        // The lease expires at 3,000. The clock is set ahead, shows 4,000 when the write looks for the lease, and 2,000 when it writes.
        let lease = granted("a", 1, 1_000, 3_000, Some("expired"));
        let step = |at, before_ms, after_ms| Step { from_ns: ms(at), to_ns: ms(at) + 1, before_ms, after_ms };
        let write = Noted { guard: Some(Guarded::UnlessLocked), ..note("1", "a", 2, None, 2_050) };
        let found = |at| {
            let steps = Steps(vec![step(1, 1_500, 3_500), step(at, 4_000, 2_000)]);
            let operations = vec![append("1", "a", (10, 20), 2)];
            let (notes, leases) = (vec![write.clone()], vec![lease.clone()]);
            check(&Evidence { operations, notes, leases, steps, ..Evidence::default() }).len()
        };
        assert_eq!((found(15), found(5)), (0, 1), "during the write, and before it");
    }

    #[test]
    fn write_beside_an_expired_lease_that_a_step_back_revives_is_none() {
        // The lease expires at 3,000; the clock is set ahead, and shows 4,010 when the write looks for the lease. Then the clock is right
        // again, and the holder prolongs and releases the lease.
        let lease = granted("a", 1, 1_000, 5_000, Some("released"));
        let step = |at, before_ms, after_ms| Step { from_ns: ms(at), to_ns: ms(at) + 1, before_ms, after_ms };
        let write = Noted { guard: Some(Guarded::UnlessLocked), ..note("1", "a", 2, None, 4_010) };
        let found = |later: &[Step]| {
            let steps = Steps([&[step(1, 2_000, 4_000)], later].concat());
            let operations = vec![append("1", "a", (10, 20), 2)];
            let (notes, leases) = (vec![write.clone()], vec![lease.clone()]);
            check(&Evidence { operations, notes, leases, steps, ..Evidence::default() }).len()
        };
        assert_eq!(found(&[step(30, 4_030, 2_030)]), 0);
        assert_eq!(found(&[step(30, 4_900, 4_500)]), 1, "not to before the write");
        assert_eq!(found(&[step(2_000, 6_000, 3_000), step(2_100, 3_100, 9_000)]), 1, "the lease had ended");
    }

    #[test]
    fn write_beside_a_lease_is_found_unless_it_does_not_ask() {
        let write = |at_ms, guard| Noted { guard: Some(guard), ..note("1", "a", 2, None, at_ms) };
        assert_eq!(found(vec![], vec![write(200, Guarded::UnlessLocked)], two()), 1);
        assert_eq!(found(vec![], vec![write(120, Guarded::UnlessLocked)], two()), 0);
        assert_eq!(found(vec![], vec![write(200, Guarded::Version)], two()), 0);
    }
}

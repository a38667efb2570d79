//! C2: on the database's own clock no two leases of a key overlap, and the history has each of them once. Where the clock was set back,
//! its readings do not say which of two came first.

use super::Violation;
use crate::evidence::{Evidence, Granted};
use crate::steps::Steps;

pub(super) const NAME: &str = "C2 leases as the database sees them";

/// Times of the database are whole milliseconds, rounded.
const ROUNDING_MS: i64 = 1;

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let violation = |what| Violation { check: NAME, what, at_ns: None };
    let mut found = Vec::new();
    for leases in evidence.leases.chunk_by(|one, other| one.key == other.key) {
        if let Some(first) = leases.first().filter(|first| first.generation != 1) {
            found.push(violation(format!("the first lease of {} is generation {}", first.key, first.generation)));
        }
        for pair in leases.windows(2) {
            found.extend(problem(&pair[0], &pair[1], &evidence.steps).map(violation));
        }
    }
    found
}

fn problem(before: &Granted, after: &Granted, steps: &Steps) -> Option<String> {
    let Granted { key, generation, ended_ms, .. } = before;
    if after.generation != generation + 1 {
        return Some(format!("{key}: generation {} follows {generation}", after.generation));
    }
    if before.how.is_none() {
        return Some(format!("{key}: generation {generation} is live, and so is its successor"));
    }
    let early = ended_ms - after.since_ms;
    steps
        .surely_before(after.since_ms + ROUNDING_MS, *ended_ms)
        .then(|| format!("{key}: generation {} began {early} ms before {generation} ended", after.generation))
}

#[cfg(test)]
mod tests {
    use super::super::samples::granted;
    use super::*;
    use crate::steps::Step;

    fn found(leases: Vec<Granted>) -> usize {
        check(&Evidence { leases, ..Evidence::default() }).len()
    }

    #[test]
    fn lease_that_begins_before_the_last_one_ends_is_found() {
        let first = || granted("a", 1, 0, 100, Some("expired"));
        assert_eq!(found(vec![first(), granted("a", 2, 100, 200, None)]), 0);
        assert_eq!(found(vec![first(), granted("a", 2, 98, 200, None)]), 1);
    }

    #[test]
    fn lease_that_begins_after_the_clock_was_set_back_passes() {
        let leases = vec![granted("a", 1, 0, 5_000, Some("released")), granted("a", 2, 2_000, 4_000, None)];
        let found = |before_ms, after_ms| {
            let steps = Steps(vec![Step { from_ns: 0, to_ns: 0, before_ms, after_ms }]);
            check(&Evidence { leases: leases.clone(), steps, ..Evidence::default() }).len()
        };
        assert_eq!(found(5_500, 1_500), 0);
        assert_eq!(found(5_500, 4_500), 1, "it was not set back that far");
        assert_eq!(found(1_500, 5_500), 1, "it was set forward");
    }

    #[test]
    fn missing_and_doubled_generations_are_found() {
        let first = || granted("a", 1, 0, 100, Some("released"));
        assert_eq!(found(vec![first(), granted("a", 3, 200, 300, None)]), 1);
        assert_eq!(found(vec![first(), granted("a", 1, 200, 300, None)]), 1);
        assert_eq!(found(vec![granted("a", 2, 200, 300, None)]), 1);
        assert_eq!(found(vec![first(), granted("b", 1, 50, 300, None)]), 0);
    }
}

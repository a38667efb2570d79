//! C2: on the database's own clock no two leases of a key overlap, and the history has each of them once.

use super::Violation;
use crate::evidence::{Evidence, Granted};

pub(super) const NAME: &str = "C2 leases as the database sees them";

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let violation = |what| Violation { check: NAME, what, at_ns: None };
    let mut found = Vec::new();
    for leases in evidence.leases.chunk_by(|one, other| one.key == other.key) {
        if let Some(first) = leases.first().filter(|first| first.generation != 1) {
            found.push(violation(format!("the first lease of {} is generation {}", first.key, first.generation)));
        }
        for pair in leases.windows(2) {
            found.extend(problem(&pair[0], &pair[1]).map(violation));
        }
    }
    found
}

fn problem(before: &Granted, after: &Granted) -> Option<String> {
    let Granted { key, generation, ended_ms, .. } = before;
    if after.generation != generation + 1 {
        return Some(format!("{key}: generation {} follows {generation}", after.generation));
    }
    if before.how.is_none() {
        return Some(format!("{key}: generation {generation} is live, and so is its successor"));
    }
    let early = ended_ms - after.since_ms;
    (early > 0).then(|| format!("{key}: generation {} began {early} ms before {generation} ended", after.generation))
}

#[cfg(test)]
mod tests {
    use super::super::samples::granted;
    use super::*;

    fn found(leases: Vec<Granted>) -> usize {
        check(&Evidence { leases, ..Evidence::default() }).len()
    }

    #[test]
    fn lease_that_begins_before_the_last_one_ends_is_found() {
        let first = || granted("a", 1, 0, 100, Some("expired"));
        assert_eq!(found(vec![first(), granted("a", 2, 100, 200, None)]), 0);
        assert_eq!(found(vec![first(), granted("a", 2, 99, 200, None)]), 1);
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

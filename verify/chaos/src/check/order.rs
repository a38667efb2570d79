//! C3, as a node sees it that only applies what others write: once it has shown a lease, no more writes under earlier leases of its key
//! appear there. That is the order in which the cluster applies, whatever the versions and the clocks say.

use std::collections::HashMap;

use super::Violation;
use crate::evidence::Evidence;

pub(super) const NAME: &str = "C3 order on a node that only applies";

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let mut writes: HashMap<&str, Vec<i64>> = HashMap::new();
    for note in &evidence.notes {
        writes.entry(&note.ledger).or_default().extend(note.generation);
    }
    let mut found = Vec::new();
    for shown in &evidence.shown {
        let under = writes.get(shown.key.as_str()).map(Vec::as_slice).unwrap_or_default();
        let earlier = under.iter().filter(|generation| **generation < shown.generation).count();
        let late = i64::try_from(earlier).unwrap_or(i64::MAX) - shown.earlier_writes;
        if late != 0 {
            let (key, generation) = (&shown.key, shown.generation);
            let what =
                format!("{key}: {late} writes under earlier leases came after generation {generation} was there");
            found.push(Violation { check: NAME, what, at_ns: Some(shown.at_ns) });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::samples::note;
    use super::*;
    use crate::evidence::Shown;

    #[test]
    fn write_that_appears_after_a_later_lease_is_found() {
        let shown = |earlier_writes| vec![Shown { key: "a".into(), generation: 2, earlier_writes, at_ns: 7 }];
        let notes = vec![note("1", "a", 2, Some(1), 0), note("2", "a", 3, Some(1), 0), note("3", "a", 4, Some(2), 0)];
        let run =
            |earlier_writes| Evidence { notes: notes.clone(), shown: shown(earlier_writes), ..Evidence::default() };
        assert_eq!(check(&run(2)), []);
        assert_eq!(check(&run(1)).len(), 1, "the second write under generation 1 came later");
        assert_eq!(check(&run(3)).len(), 1, "a write has disappeared");
    }
}

//! P5: the history of an order has every version from the first to the last. Without that the other checks would miss texts.

use super::super::evidence::Evidence;
use super::Violation;

pub(super) const NAME: &str = "P5 history is whole";

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let mut found = Vec::new();
    for (order, revisions) in &evidence.revisions {
        let gap = (1..).zip(revisions).find(|(expected, revision)| revision.version != *expected);
        if let Some((expected, revision)) = gap {
            let what = format!("{order} has version {} where {expected} should be", revision.version);
            found.push(Violation { check: NAME, what });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

    #[test]
    fn gap_in_the_history_is_found() {
        let mut evidence = Story::default().saves("seed", &[]).saves("park", &[]).saves("park", &[]).evidence();
        assert_eq!(check(&evidence), []);
        evidence.revisions.get_mut(ORDER).expect("it was saved").remove(1);
        assert_eq!(check(&evidence).len(), 1);
    }
}

//! C4 on a file that was replaced: from then on nothing succeeds, and every call says that the file was lost. What was acknowledged before
//! is judged on the file that was lost.

use super::Violation;
use crate::evidence::Evidence;
use crate::history::Outcome;

pub(super) const NAME: &str = "C4 calls after the file was replaced";

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let Some(replaced) = evidence.replaced_ns else { return Vec::new() };
    let mut found = Vec::new();
    for operation in evidence.operations.iter().filter(|operation| operation.called_at() > replaced) {
        // An application that is not there has no answer at all.
        let answer = match (operation.outcome(), operation.code()) {
            (Outcome::Info, _) | (_, Some("file-lost" | "unavailable")) => continue,
            (Outcome::Ok, _) => "success",
            (Outcome::Fail, code) => code.unwrap_or_default(),
        };
        let what = format!("{} ({:?}) was answered `{answer}`", operation.id(), operation.call.f);
        found.push(Violation { check: NAME, what, at_ns: Some(operation.called_at()) });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;
    use crate::clock::ms;
    use crate::history::{Function, Operation};

    fn found(operation: Operation) -> usize {
        check(&Evidence { operations: vec![operation], replaced_ns: Some(ms(100)), ..Evidence::default() }).len()
    }

    #[test]
    fn success_after_the_replacement_is_found() {
        assert_eq!(found(append("1", "a", (110, 120), 2)), 1);
        assert_eq!(found(append("1", "a", (90, 120), 2)), 0, "it may have been done before");
    }

    #[test]
    fn other_reason_than_the_lost_file_is_found() {
        let refused = |code| failed(Function::Append, "1", "a", (110, 120), code);
        assert_eq!((found(refused("version-conflict")), found(refused("file-lost"))), (1, 0));
        assert_eq!(found(lost(Function::Append, "1", "a", 110)), 0);
    }
}

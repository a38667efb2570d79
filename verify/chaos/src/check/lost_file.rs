//! C4 on a file that was replaced: from then on no change succeeds, and 10 ms later every call says that the file was lost. What was
//! acknowledged before is judged on the file that was lost.

use super::Violation;
use crate::clock::ms;
use crate::evidence::Evidence;
use crate::history::{Function, Operation, Outcome};

/// For so long what changes nothing may rely on the last look at the file (`docs/databases.md`): 10 ms, counted in whole milliseconds.
const LATELY_NS: u64 = ms(11);

pub(super) const NAME: &str = "C4 calls after the file was replaced";

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let Some(replaced) = evidence.replaced_ns else { return Vec::new() };
    let mut found = Vec::new();
    for operation in evidence.operations.iter().filter(|operation| operation.called_at() > replaced) {
        if operation.called_at() < replaced + LATELY_NS && !has_changed(operation) {
            continue;
        }
        // An application that is not there has no answer at all.
        let answer = match (operation.outcome(), operation.code()) {
            (Outcome::Info, _) | (_, Some("file-lost" | "connection-lost")) => continue,
            (Outcome::Ok, _) => "success",
            (Outcome::Fail, code) => code.unwrap_or_default(),
        };
        let what = format!("{} ({:?}) was answered `{answer}`", operation.id(), operation.call.f);
        found.push(Violation { check: NAME, what, at_ns: Some(operation.called_at()) });
    }
    found
}

/// Whether a change was acknowledged.
fn has_changed(operation: &Operation) -> bool {
    operation.outcome() == Outcome::Ok && !operation.is(Function::Read)
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

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
        let refused = |code| failed(Function::Append, "1", "a", (112, 120), code);
        assert_eq!((found(refused("version-conflict")), found(refused("file-lost"))), (1, 0));
        assert_eq!(found(lost(Function::Append, "1", "a", 110)), 0);
    }

    #[test]
    fn read_may_succeed_for_ten_milliseconds_and_change_may_not() {
        let not_found = |at| failed(Function::Read, "1", "a", (at, 120), "not-found");
        assert_eq!((found(not_found(110)), found(not_found(111))), (0, 1));
        assert_eq!(found(append("1", "a", (101, 102), 2)), 1);
    }
}

//! C5: versions rise by one with each write, without gap or repetition; each write is at the place that its version says.

use std::collections::{BTreeMap, HashMap};

use super::Violation;
use crate::evidence::{Evidence, Final, Noted};
use crate::history::Function;

pub(super) const NAME: &str = "C5 versions";

pub(super) fn check(evidence: &Evidence) -> Vec<Violation> {
    let mut noted: BTreeMap<&str, Vec<&Noted>> = BTreeMap::new();
    for note in &evidence.notes {
        noted.entry(&note.ledger).or_default().push(note);
    }
    let mut found = Vec::new();
    let called: HashMap<&str, u64> =
        evidence.operations.iter().map(|operation| (operation.id(), operation.called_at())).collect();
    let empty = Final::default();
    for (ledger, notes) in &noted {
        let last = evidence.ledgers.get(*ledger).unwrap_or(&empty);
        if let Some((what, op)) = problem(ledger, last, notes) {
            let at_ns = op.and_then(|op| called.get(op).copied());
            found.push(Violation { check: NAME, what, at_ns });
        }
    }
    for ledger in evidence.ledgers.keys().filter(|ledger| !noted.contains_key(ledger.as_str())) {
        found.push(Violation { check: NAME, what: format!("{ledger} is there, and no insert was noted"), at_ns: None });
    }
    found.extend(answers(evidence, &noted));
    found
}

/// What is wrong with a ledger, and from which operation on.
fn problem<'a>(ledger: &str, last: &Final, notes: &[&'a Noted]) -> Option<(String, Option<&'a str>)> {
    for (expected, note) in (1..).zip(notes) {
        if note.version != expected {
            return Some((
                format!("{ledger}: {} made version {} instead of {expected}", note.op, note.version),
                Some(&note.op),
            ));
        }
        let entry = usize::try_from(expected - 2).ok().map(|at| last.entries.get(at));
        if entry.is_some_and(|entry| entry != Some(&note.op)) {
            let what = format!("{ledger}: {} made version {expected}, and is not at that place of the list", note.op);
            return Some((what, Some(&note.op)));
        }
    }
    let (noted, written) = (notes.len(), last.entries.len() + 1);
    if noted != written || usize::try_from(last.version) != Ok(written) {
        let what = format!("{ledger} has version {}, {written} writes and {noted} notes", last.version);
        return Some((what, None));
    }
    None
}

/// The version in each answer is the one that was written.
fn answers(evidence: &Evidence, noted: &BTreeMap<&str, Vec<&Noted>>) -> Vec<Violation> {
    let mut written: HashMap<(&str, &str), i64> = HashMap::new();
    for note in noted.values().flatten() {
        written.insert((&note.ledger, &note.op), note.version);
    }
    let mut found = Vec::new();
    for operation in &evidence.operations {
        let answers = matches!(operation.call.f, Function::Append | Function::Insert | Function::Form);
        let Some(version) = operation.ok().filter(|_| answers).and_then(|args| args.version) else { continue };
        let made = written.get(&(operation.key(), operation.id())).copied();
        if made != Some(version) {
            let what =
                format!("{} was told version {version} of {}, and made {made:?}", operation.id(), operation.key());
            found.push(Violation { check: NAME, what, at_ns: Some(operation.called_at()) });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::samples::*;
    use super::*;

    #[test]
    fn whole_ledger_passes() {
        let written = vec![append("1", "a", (0, 10), 2), append("2", "a", (20, 30), 3)];
        assert_eq!(check(&ledger(&["1", "2"], written)), []);
    }

    #[test]
    fn repeated_and_missing_versions_are_found() {
        let mut evidence = ledger(&["1", "2"], vec![]);
        evidence.notes[2].version = 2;
        assert_eq!(check(&evidence).len(), 1);
        evidence.notes[2].version = 4;
        assert_eq!(check(&evidence).len(), 1);
    }

    #[test]
    fn version_that_does_not_fit_the_list_is_found() {
        let mut evidence = ledger(&["1", "2"], vec![]);
        evidence.ledgers.get_mut("a").expect("it was made").version = 4;
        assert_eq!(check(&evidence).len(), 1);
        let mut evidence = ledger(&["1", "2"], vec![]);
        evidence.ledgers.get_mut("a").expect("it was made").entries.swap(0, 1);
        assert_eq!(check(&evidence).len(), 1);
    }

    #[test]
    fn write_without_its_note_is_found() {
        let mut evidence = ledger(&["1", "2"], vec![]);
        evidence.notes.pop();
        assert_eq!(check(&evidence).len(), 1);
    }

    #[test]
    fn wrong_version_in_an_answer_is_found() {
        assert_eq!(check(&ledger(&["1"], vec![append("1", "a", (0, 10), 3)])).len(), 1);
    }
}

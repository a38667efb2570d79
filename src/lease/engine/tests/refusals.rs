//! Refusals: which are found early, and which change nothing.

use super::*;

#[test]
fn a_conflict_is_found_before_rows_are_locked() {
    let request = lees();
    let found = |operation: &Operation<'_>, rows: &Rows| match conflict(operation, rows, NOW) {
        None => "none".to_owned(),
        Some(Answer::Taken(attempt)) => word(&attempt),
        other => panic!("{other:?}"),
    };
    for (rows, expected) in [(rows([kims(1)]), "held 4"), (rows([kims(0)]), "none")] {
        assert_eq!(found(&Operation::Take(&request), &rows), expected);
        assert_eq!(found(&Operation::Holders(&key()), &rows), "none");
    }
}

#[test]
fn operations_that_only_read_are_told_from_the_others() {
    let (proof, key, request) = (proof(KIMS, "kim"), key(), lees());
    for reads in [Operation::Check(&proof), Operation::KeyState(&key), Operation::Holders(&key)] {
        assert!(reads.only_reads(), "{reads:?}");
    }
    for writes in [Operation::Take(&request), Operation::Release(&proof), Operation::ReleaseAll { owner: "kim" }] {
        assert!(!writes.only_reads(), "{writes:?}");
    }
}

#[test]
fn a_refusal_records_no_expiry() {
    let used = Past { lock: LEES.to_vec(), owner: lee(), ..Past::ended(&kims(5), How::Released, None, None, NOW - 5) };
    let before = with_past(rows([anchor(), beside(-5)]), used);
    let (answer, after) = take(&before, &lees());
    assert!(answer.starts_with("used Released"), "{answer}");
    assert_eq!(after, before);
}

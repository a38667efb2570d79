//! Refusals: which are found early, and which change nothing.

use super::*;

#[test]
fn a_conflict_is_found_before_rows_are_locked() {
    let (request, set) = (lees(), [lees()]);
    let found = |operation: &Operation<'_>, rows: &Rows| match conflict(operation, rows, NOW) {
        None => "none".to_owned(),
        Some(Answer::Taken(attempt)) => word(&attempt),
        Some(Answer::TakenAll(AttemptAll::Refused(refused))) => format!("{} refused", refused.len()),
        other => panic!("{other:?}"),
    };
    for (rows, one, all) in [(rows([kims(1)]), "held 4", "1 refused"), (rows([kims(0)]), "none", "none")] {
        assert_eq!(found(&Operation::Take(&request), &rows), one);
        assert_eq!(found(&Operation::TakeAll(&set), &rows), all);
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
    let before = with_past(rows([anchor(true), beside(true, -5)]), used);
    let (answer, after) = take(&before, &lees());
    assert!(answer.starts_with("used Released"), "{answer}");
    assert_eq!(after, before);
}

#[test]
fn a_set_is_refused_for_other_holders_first() {
    let second = LockKey::new("Order", "2");
    let used = Past { lock: LEES.to_vec(), owner: lee(), ..Past::ended(&kims(5), How::Released, None, None, NOW - 5) };
    let held = with_past(rows([LeaseRow { place: Place::exclusive(&second), ..kims(5) }]), used);
    let request = LockRequest { key: second, lock: OTHER, ..lees() };
    let (answer, after) = run(Operation::TakeAll(&[lees(), request]), &held);
    let Answer::TakenAll(AttemptAll::Refused(refused)) = answer else { panic!("{answer:?}") };
    let refused: Vec<_> = refused.iter().map(|(at, attempt)| (*at, word(attempt))).collect();
    assert_eq!((refused, after), (vec![(1, "held 4".to_owned())], held));
}

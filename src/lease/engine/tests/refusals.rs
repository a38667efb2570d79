//! Refusals: which are found early, and which change nothing.

use super::*;

#[test]
fn operations_that_only_read_are_told_from_the_others() {
    let (proof, key, request) = (proof(KIMS, "kim"), key(), lees());
    for reads in [Operation::Check(proof.clone()), Operation::KeyState(key.clone()), Operation::Holders(key)] {
        assert!(reads.only_reads(), "{reads:?}");
    }
    for writes in [Operation::Take(request), Operation::Release(proof), Operation::ReleaseAll { owner: "kim".into() }] {
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

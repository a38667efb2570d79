//! Changes of a row in place agree with the decision on copied rows.

use super::*;
use crate::lease::operations::LockOp;

#[test]
fn change_in_place_agrees_with_decision_on_copies() {
    let (mut agreed, mut refused) = (0, 0);
    let ended = LeaseRow { ended: true, ..kims(5) };
    let idle = LeaseRow { idle_limit: Some(20_000), ..kims(5) };
    for before in [kims(5), kims(0), kims(-5), ended, idle, beside(5)] {
        for lock in [KIMS, LEES] {
            for owner in [Some("kim".to_owned()), Some("lee".to_owned()), None] {
                let (proof, by) = (Proof { lock, owner }, Duration::from_millis(7_000));
                let beat = [(proof.clone(), by)];
                for (op, operation) in [
                    (LockOp::KeepAlive(proof.clone(), by), Operation::Keep(&beat)),
                    (LockOp::Extend(proof.clone(), by), Operation::Extend(&proof, by)),
                    (LockOp::ExpireWithin(proof.clone(), by), Operation::ExpireWithin(&proof, by)),
                ] {
                    let mut row = before.clone();
                    let changed = change_row(&mut row, &op, NOW);
                    let (answer, after) = run(operation, &rows([before.clone()]));
                    let expected = match answer {
                        Answer::Kept(mut kept) => kept.remove(0).ok(),
                        Answer::Lease(lease) => lease.ok(),
                        other => panic!("{other:?}"),
                    };
                    assert_eq!((&changed, rows([row])), (&expected, after), "{op:?} on {before:?}");
                    *(if changed.is_some() { &mut agreed } else { &mut refused }) += 1;
                }
            }
        }
    }
    // Three live rows, under their lock id, for their owner or for nobody in particular.
    assert_eq!((agreed, refused), (3 * 2 * 3, 6 * 2 * 3 * 3 - 3 * 2 * 3));
}

#[test]
fn release_is_not_done_in_place() {
    let mut row = kims(5);
    assert_eq!(change_row(&mut row, &LockOp::Release(proof(KIMS, "kim")), NOW), None);
    assert_eq!(row, kims(5));
}

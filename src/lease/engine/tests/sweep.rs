//! Sweeping, up to [`NOW`].

use super::*;

fn swept(before: &Rows) -> Rows {
    let mut after = before.clone();
    sweep(before, NOW).apply(&mut after);
    after
}

#[test]
fn only_rows_that_expired_by_then_are_swept() {
    let ended = LeaseRow { ended: true, ..kims(-1) };
    let cases = [
        (kims(1), true, vec![]),
        (kims(0), false, vec![(How::Expired, 0, false, false)]),
        (kims(-1), false, vec![(How::Expired, -1, false, false)]),
        (ended, false, vec![]),
    ];
    for (row, stays, recorded) in cases {
        let after = swept(&rows([row.clone()]));
        assert_eq!((after.exclusive(&key()).is_some(), history(&after)), (stays, recorded), "{row:?}");
        assert_eq!(after.floors.get("Order"), (!stays).then_some(&4));
    }
}

#[test]
fn an_anchor_is_swept_beside_a_later_lease_and_leaves_its_generation() {
    let slot = |lock: LockHash, generation, expires_in| {
        let place = Place { key: key(), slot: lock.to_vec() };
        LeaseRow { place, lock: lock.to_vec(), generation, ..beside(expires_in) }
    };
    let (expired, other, live) = (slot(LEES, 4, -5), slot(OTHER, 3, -5), slot(KIMS, 2, 1));
    let after = swept(&rows([anchor(), expired, other, live.clone()]));
    assert_eq!(after.leases, rows([live]).leases);
    assert_eq!(history(&after), [(How::Expired, -5, false, false); 2]);
    assert_eq!(after.floors, [("Order".to_owned(), 5)].into(), "the highest of the swept ones");
    assert_eq!(take(&after, &request([4; 32], lee(), LockPolicy::advisory())).0, "granted 6");
}

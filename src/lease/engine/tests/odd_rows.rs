//! Rows that the engine does not write by itself: edited by hand, or after the database's clock was set back.

use super::*;

/// Kim's slot, with a lease of Lee.
fn swapped(shared: bool, expires_in: i64) -> LeaseRow {
    LeaseRow { lock: LEES.to_vec(), owner: lee(), ..beside(shared, expires_in) }
}

#[test]
fn a_lock_id_with_an_end_is_alive_if_its_row_is() {
    let request = request(KIMS, kim(), LockPolicy::exclusive(), false);
    let elsewhere = LeaseRow { place: Place::exclusive(&LockKey::new("Order", "2")), ..kims(5) };
    for (row, expected) in [(kims(5), "granted 4"), (elsewhere, "used OtherAggregate")] {
        let before = with_past(rows([row]), Past::expired(&kims(-5)));
        let (answer, after) = take(&before, &request);
        assert_eq!((&*answer, after), (expected, before));
    }
}

#[test]
fn a_slot_of_another_lock_id_is_not_overwritten() {
    let share = request(KIMS, kim(), LockPolicy::shared(), true);
    let advisory = request(KIMS, kim(), LockPolicy::advisory(), false);
    for (row, request, expected) in [
        (swapped(true, -5), &share, "lost"),
        (swapped(false, 5), &advisory, "lost"),
        (swapped(false, -5), &advisory, "granted 6"),
    ] {
        assert_eq!(take(&rows([anchor(row.shared), row]), request).0, expected);
    }
}

#[test]
fn shares_without_their_mark_hold_nothing() {
    let unmarked = rows([anchor(false), beside(true, 1)]);
    assert_eq!(take(&unmarked, &lees()).0, "granted 6");
    let (answer, _) = run(Operation::KeyState(&key()), &unmarked);
    assert!(matches!(answer, Answer::KeyState(KeyState::Free)), "{answer:?}");
}

#[test]
fn a_takeover_keeps_the_place_and_mark_of_the_row() {
    let marked = LeaseRow { shared: true, ..kims(5) };
    let request = request(LEES, lee(), LockPolicy::advisory(), false);
    let (_, after) = run(Operation::TakeOver { request: &request, generation: 4, reason: "ill" }, &rows([marked]));
    let row = after.exclusive(&key()).expect("the row stays");
    assert_eq!((row.generation, row.shared, after.leases.len()), (5, true, 1));
}

//! Rows that the engine does not write by itself: edited by hand, or after the database's clock was set back.

use super::*;

/// Kim's slot, with a lease of Lee.
fn swapped(expires_in: i64) -> LeaseRow {
    LeaseRow { lock: LEES.to_vec(), owner: lee(), ..beside(expires_in) }
}

#[test]
fn a_lock_id_with_an_end_is_alive_if_its_row_is() {
    let request = request(KIMS, kim(), LockPolicy::exclusive());
    let elsewhere = LeaseRow { place: Place::exclusive(&LockKey::new("Order", "2")), ..kims(5) };
    for (row, expected) in [(kims(5), "granted 4"), (elsewhere, "used OtherAggregate")] {
        let before = with_past(rows([row]), Past::expired(&kims(-5)));
        let (answer, after) = take(&before, &request);
        assert_eq!((&*answer, after), (expected, before));
    }
}

#[test]
fn a_slot_of_another_lock_id_is_not_overwritten() {
    let advisory = request(KIMS, kim(), LockPolicy::advisory());
    for (expires_in, expected) in [(5, "lost"), (-5, "granted 6")] {
        assert_eq!(take(&rows([anchor(), swapped(expires_in)]), &advisory).0, expected);
    }
}

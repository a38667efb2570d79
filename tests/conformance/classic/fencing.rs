//! The fencing number, lost responses, and leftover rows.

use std::time::Duration;

use tenure::{LockId, LockKey, Owner, error::LockError, lease::Holder};

use crate::conformance::support::{TTL, TestDb, key, kim, lee, random};
use crate::conformance::transactions::cancelled_after;

/// Row 19: the lock was granted, the response was lost, and a repeated request is locked out by itself.
pub async fn repeated_request_after_a_lost_response_gets_the_lock(t: &TestDb) {
    let mut cut_off = 0;
    for attempt in 0..24 {
        let (key, id) = (key(), LockId::random());
        let lost = cancelled_after(attempt % 12, t.locks.try_lock_as(&key, &kim(), id.clone())).await;
        cut_off += i32::from(lost.is_none());
        // Also while the first request is in flight.
        let lease = t.locks.try_lock_as(&key, &kim(), id.clone()).await.unwrap();
        // The first lease, or the next one: an unreceived lease may have been released by then.
        assert!(lease.id() == &id && lease.holder().generation <= 2, "{lease:?}");
        assert!(
            matches!(t.locks.try_lock(&key, &lee()).await, Err(LockError::AlreadyLocked(holder)) if holder.owner == kim())
        );
        t.locks.release_lock(&id).await.unwrap();
        assert_eq!(t.locks.try_lock(&key, &lee()).await.unwrap().holder().generation, lease.holder().generation + 1);
    }
    assert!(cut_off > 0, "no request was cut off");
}

/// Row 21: without a number that rises with every holder, a downstream system cannot refuse a late one.
pub async fn fencing_number_rises_by_one_after_any_end(t: &TestDb) {
    let key = key();
    let locks = t.locks.clone().with_take_over_permission("Order", |_: &Owner, _: &Holder| true);
    let released = locks.try_lock(&key, &kim()).await.unwrap();
    locks.release_lock(released.id()).await.unwrap();
    let expired = locks.try_lock(&key, &lee()).await.unwrap();
    t.clock.advance(TTL);
    let broken = locks.try_lock(&key, &kim()).await.unwrap();
    locks.break_lock(&key, broken.holder().generation, &lee(), "stuck").await.unwrap();
    let taken_over = locks.try_lock(&key, &kim()).await.unwrap();
    let all_released =
        locks.take_over(&key, taken_over.holder().generation, &lee(), LockId::random(), "mine").await.unwrap();
    t.locks.release_lock(all_released.id()).await.unwrap();
    let parted = locks.try_lock(&key, &lee()).await.unwrap();
    locks.expire_within(parted.id(), Duration::ZERO).await.unwrap();
    let last = locks.try_lock(&key, &kim()).await.unwrap();
    let all = [&released, &expired, &broken, &taken_over, &all_released, &parted, &last];
    assert_eq!(all.map(|lease| lease.holder().generation), [1, 2, 3, 4, 5, 6, 7]);
}

/// Row 24: rows of ended leases remain, and every change of the holder deletes one and inserts another.
pub async fn key_has_one_row_over_many_holders(t: &TestDb) {
    let (kind, note) = (random(), LockKey::new("Note", random()));
    let key = LockKey::new(&kind, "1");
    for round in 0..6 {
        let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
        let advisory = t.locks.try_lock(&note, &kim()).await.unwrap();
        if round % 2 == 0 {
            t.clock.advance(TTL);
        } else {
            t.locks.release_lock(lease.id()).await.unwrap();
            t.locks.release_lock(advisory.id()).await.unwrap();
        }
    }
    let rows = |key: &LockKey| {
        format!("update tenure_lock set ttl = ttl where kind = '{}' and id = '{}'", key.kind(), key.id())
    };
    assert_eq!(t.by_hand(rows(&key)).await.unwrap(), 1);
    // A few ended advisory leases are kept until they are swept, for any number of them.
    t.locks.try_lock(&note, &lee()).await.unwrap();
    let kept = t.by_hand(rows(&note)).await.unwrap();
    assert!(kept <= 3, "{kept} rows after 7 leases");
}

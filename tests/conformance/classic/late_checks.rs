//! Late checks, and checks inside a transaction that has read before.

use std::sync::Arc;
use std::time::Duration;

use tenure::{
    LockKey,
    error::{LeaseError, LockError},
    lease::LeaseLossReason,
};
use tokio::sync::Barrier;

use crate::conformance::order::Order;
use crate::conformance::support::{MINUTE, TTL, TestDb, key, kim, lee, random, version};

/// Row 2: a check that finds its own lease expired deletes, by the key, the lease of the next holder.
pub async fn a_late_check_does_not_end_the_lease_of_the_next_holder(t: &TestDb) {
    for _ in 0..10 {
        let (key, barrier) = (key(), Arc::new(Barrier::new(2)));
        let old = t.locks.try_lock(&key, &kim()).await.unwrap();
        t.clock.advance(TTL);
        let (locks, place, meet) = (t.locks.clone(), key.clone(), barrier.clone());
        let taking = tokio::spawn(async move {
            meet.wait().await;
            locks.try_lock(&place, &lee()).await
        });
        barrier.wait().await;
        for _ in 0..3 {
            assert!(t.locks.check_lock(old.id()).await.is_err());
        }
        let new = taking.await.unwrap().unwrap();
        assert!(t.locks.check_lock(old.id()).await.is_err());
        assert_eq!(t.locks.check_lock(new.id()).await.unwrap().holder().generation, 2);
        let third = t.locks.try_lock(&key, &kim()).await;
        assert!(matches!(&third, Err(LockError::AlreadyLocked(holder)) if holder.owner == lee()), "{third:?}");
    }
}

/// Row 8: any late operation removes the lease although no other owner acquired it; or revives it without checking for
/// saves in between.
pub async fn expired_lease_stays_resumable_after_late_operations(t: &TestDb) {
    let no = t.order().await;
    let lease = t.locks.try_lock(&LockKey::of::<Order>(&no), &kim()).await.unwrap();
    let other = t.locks.try_lock(&LockKey::new("Order", random()), &kim()).await.unwrap();
    t.clock.advance(TTL + MINUTE);
    assert!(t.locks.check_lock(lease.id()).await.is_err());
    assert!(t.locks.extend_lock_expiration(lease.id(), MINUTE).await.is_err());
    assert!(t.locks.expire_within(lease.id(), MINUTE).await.is_err());
    assert!(t.locks.release_lock(lease.id()).await.is_err());
    let beats = t.locks.keep_alive(&[lease.id().clone(), other.id().clone()]).await.unwrap();
    assert!(beats.iter().all(Result::is_err), "{beats:?}");
    assert_eq!(t.locks.holders(&lease.holder().key).await.unwrap(), []);
    let resumed = t.locks.resume(&t.orders, &no, lease.id(), version(1)).await.unwrap();
    assert_eq!((resumed.holder().generation, resumed.holder().remaining), (1, TTL));
}

/// Row 10: a transaction that read anything before a heartbeat sees the old expiry in its snapshot, and treats its own
/// live lease as expired.
pub async fn a_heartbeat_during_a_transaction_counts_for_its_check(t: &TestDb) {
    let no = t.order().await;
    let lease = t.locks.try_lock(&LockKey::of::<Order>(&no), &kim()).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    let mut order = t.find(&mut tx, &no).await;
    let (locks, id) = (t.locks.clone(), lease.id().clone());
    t.clock.advance(TTL - Duration::from_secs(1));
    let mut beat = tokio::spawn(async move { locks.keep_alive(&[id]).await.unwrap().remove(0) });
    if t.has_one_writer() {
        // It can only happen before or after: it waits.
        let early = tokio::time::timeout(Duration::from_millis(150), &mut beat).await;
        assert!(early.is_err(), "{early:?}");
    } else {
        (&mut beat).await.unwrap().unwrap();
        t.clock.advance(MINUTE);
    }
    t.locks.guard(&mut tx, lease.id()).await.unwrap();
    order.send_to("checked late").unwrap();
    t.orders.save(&mut tx, &mut order).await.unwrap();
    tx.commit().await.unwrap();
    if !beat.is_finished() && t.has_one_writer() {
        beat.await.unwrap().unwrap();
    }
    assert!(t.locks.check_lock(lease.id()).await.is_ok());
}

/// Row 11, the reverse: the snapshot still shows an ended lease, and the save proceeds without it.
pub async fn a_break_during_a_transaction_is_seen_by_its_check(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    t.find(&mut tx, &no).await;
    let (locks, broken) = (t.locks.clone(), key.clone());
    let mut breaking = tokio::spawn(async move {
        locks.break_lock(&broken, 1, &lee(), "on holiday").await.unwrap();
        locks.try_lock(&broken, &lee()).await.unwrap()
    });
    if t.has_one_writer() {
        let early = tokio::time::timeout(Duration::from_millis(150), &mut breaking).await;
        assert!(early.is_err(), "{early:?}");
        t.locks.guard(&mut tx, lease.id()).await.unwrap();
        tx.commit().await.unwrap();
        return assert_eq!(breaking.await.unwrap().holder().generation, 2);
    }
    let next = breaking.await.unwrap();
    let refused = t.locks.guard(&mut tx, lease.id()).await;
    let Err(LeaseError::NoLock(no_lock)) = refused else { panic!("{refused:?}") };
    assert!(matches!(no_lock.why, LeaseLossReason::Broken { by, .. } if by == lee()));
    assert_eq!(no_lock.held_now.map(|holder| holder.generation), Some(next.holder().generation));
    tx.rollback().await.unwrap();
}

//! Resuming an expired lease.

use std::sync::Arc;
use std::time::Duration;

use tenure::{
    Error, Lease, LockKey, LockPolicy, VersionToken,
    error::LockError,
    lease::{LeaseLossReason, NoLock},
};
use tokio::sync::Barrier;

use super::order::{Note, Order};
use super::support::{MINUTE, TTL, TestDb, key, kim, lee, version};

/// An order, Kim's lease on it, and the version that she saw.
async fn opened(t: &TestDb) -> (String, Lease, VersionToken<Order>) {
    let no = t.order().await;
    let lease = t.locks.try_lock(&LockKey::of::<Order>(&no), &kim()).await.unwrap();
    let seen = t.orders.get(&no).await.unwrap().unwrap().token();
    (no, lease, seen)
}

fn no_lock(answer: Result<Lease, Error>) -> NoLock {
    match answer {
        Err(Error::NoLock(no_lock)) => *no_lock,
        other => panic!("expected NoLock, found {other:?}"),
    }
}

pub async fn expired_lease_resumes_with_the_same_generation(t: &TestDb) {
    let (no, lease, seen) = opened(t).await;
    t.clock.advance(TTL + 60 * MINUTE);
    let resumed = t.locks.resume(&t.orders, &no, lease.id(), seen).await.unwrap();
    assert_eq!(
        (resumed.holder().generation, resumed.holder().remaining, resumed.holder().since),
        (1, TTL, t.clock.now()),
        "nobody held it meanwhile"
    );
    let last_active = t.locks.check_lock(lease.id()).await.unwrap().holder().last_active;
    assert_eq!(last_active, t.clock.now());
    let refused = t.locks.try_lock(&resumed.holder().key, &lee()).await;
    assert!(matches!(refused, Err(LockError::AlreadyLocked(holder)) if holder.owner == kim()));
    t.orders.update(&no).by(&kim()).expecting(seen).releasing(lease.id()).run(Order::ship).await.unwrap();
}

pub async fn a_used_lock_id_does_not_end_an_expired_lease(t: &TestDb) {
    let (no, lease, seen) = opened(t).await;
    t.clock.advance(TTL);
    let used = t.locks.try_lock(&key(), &lee()).await.unwrap();
    t.locks.release_lock(used.id()).await.unwrap();
    let late = t.locks.try_lock_as(&lease.holder().key, &lee(), used.id().clone()).await;
    assert!(matches!(late, Err(LockError::LockIdUsed(_))), "{late:?}");
    assert_eq!(
        t.locks.resume(&t.orders, &no, lease.id(), seen).await.unwrap().holder().generation,
        lease.holder().generation
    );
}

pub async fn resuming_a_lease_that_is_alive_keeps_it_alive(t: &TestDb) {
    let (no, lease, seen) = opened(t).await;
    t.clock.advance(MINUTE);
    for _ in 0..2 {
        let resumed = t.locks.resume(&t.orders, &no, lease.id(), seen).await.unwrap();
        let holder = resumed.holder();
        assert_eq!((holder.generation, holder.remaining, holder.since), (1, TTL, lease.holder().since));
    }
}

pub async fn resume_after_a_change_is_a_conflict_that_names_it(t: &TestDb) {
    let (no, lease, seen) = opened(t).await;
    t.clock.advance(TTL);
    t.orders.update(&no).by(&lee()).command("ship").run(Order::ship).await.unwrap();
    let refused = t.locks.resume(&t.orders, &no, lease.id(), seen).await;
    let Err(Error::VersionConflict(conflict)) = refused else { panic!("{refused:?}") };
    let changed = conflict.changed.unwrap();
    assert_eq!((changed.by, changed.at, changed.command.as_deref()), (Some(lee()), t.clock.now(), Some("ship")));
    assert_eq!((conflict.expected, conflict.actual), (version(1), Some(version(2))));
    // It is not live, so the next request gets the key.
    assert_eq!(t.locks.try_lock(&lease.holder().key, &lee()).await.unwrap().holder().generation, 2);
}

pub async fn taken_over_lease_is_not_resumed(t: &TestDb) {
    let (no, lease, seen) = opened(t).await;
    t.clock.advance(TTL);
    let expired = t.clock.now();
    let next = t.locks.try_lock(&lease.holder().key, &lee()).await.unwrap();
    let refused = t.locks.resume(&t.orders, &no, lease.id(), seen).await;
    assert!(matches!(&refused, Err(Error::AlreadyLocked(holder)) if holder.owner == lee()), "{refused:?}");
    // Nor after the other one has released it.
    t.locks.release_lock(next.id()).await.unwrap();
    let lost = no_lock(t.locks.resume(&t.orders, &no, lease.id(), seen).await);
    assert_eq!((lost.why, lost.held_now), (LeaseLossReason::Expired { at: expired }, None));
}

pub async fn a_lease_that_was_released_or_broken_is_not_resumed(t: &TestDb) {
    let (no, lease, seen) = opened(t).await;
    t.locks.release_lock(lease.id()).await.unwrap();
    let released = t.clock.now();
    t.clock.advance(TTL);
    assert_eq!(
        no_lock(t.locks.resume(&t.orders, &no, lease.id(), seen).await).why,
        LeaseLossReason::Released { at: released }
    );
    let second = t.locks.try_lock(&lease.holder().key, &kim()).await.unwrap();
    t.locks.break_lock(&lease.holder().key, 2, &lee(), "urgent").await.unwrap();
    let broken = no_lock(t.locks.resume(&t.orders, &no, second.id(), seen).await).why;
    assert_eq!(broken, LeaseLossReason::Broken { by: lee(), at: t.clock.now(), reason: "urgent".into() });
    assert!(t.locks.holders(&lease.holder().key).await.unwrap().is_empty());
}

pub async fn a_lease_is_not_resumed_beyond_its_absolute_limit(t: &TestDb) {
    let policy = LockPolicy::exclusive().absolute_limit(TTL + MINUTE).unwrap();
    let locks = t.locks.clone().with_policy("Order", policy);
    let no = t.order().await;
    let seen = version(1);
    let lease = locks.try_lock(&LockKey::of::<Order>(&no), &kim()).await.unwrap();
    t.clock.advance(TTL);
    assert_eq!(locks.resume(&t.orders, &no, lease.id(), seen).await.unwrap().holder().remaining, MINUTE);
    t.clock.advance(MINUTE);
    let limit = t.clock.now();
    t.clock.advance(MINUTE);
    assert_eq!(
        no_lock(locks.resume(&t.orders, &no, lease.id(), seen).await).why,
        LeaseLossReason::LimitReached { at: limit }
    );
}

pub async fn resume_refuses_foreign_leases(t: &TestDb) {
    let (no, lease, seen) = opened(t).await;
    let other = t.order().await;
    for alive in [true, false] {
        let elsewhere = no_lock(t.locks.resume(&t.orders, &other, lease.id(), version(1)).await);
        assert_eq!(
            (elsewhere.why, elsewhere.key.as_ref()),
            (LeaseLossReason::OtherAggregate, Some(&lease.holder().key))
        );
        let theirs = t.locks.acting_for(&lee());
        assert_eq!(no_lock(theirs.resume(&t.orders, &no, lease.id(), seen).await).why, LeaseLossReason::NotYours);
        let foreign = t.locks.resume(&t.orders, &other, lease.id(), seen).await;
        assert!(matches!(foreign, Err(Error::VersionTokenMismatch { .. })), "{foreign:?}");
        if alive {
            t.clock.advance(TTL);
        }
    }
    assert!(t.locks.holders(&lease.holder().key).await.unwrap().is_empty());
}

pub async fn advisory_lease_is_resumable_until_the_next_one(t: &TestDb) {
    let note = t.note("board", "buy milk").await;
    let key = LockKey::of::<Note>(&note);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.clock.advance(TTL);
    assert_eq!(t.locks.resume(&t.notes, &note, lease.id(), version(1)).await.unwrap().holder().remaining, TTL);
    t.clock.advance(TTL);
    let expired = t.clock.now();
    t.locks.try_lock(&key, &lee()).await.unwrap();
    let lost = no_lock(t.locks.resume(&t.notes, &note, lease.id(), version(1)).await);
    assert_eq!(lost.why, LeaseLossReason::Expired { at: expired });
}

pub async fn resume_races_acquisition_and_one_wins(t: &TestDb) {
    for _ in 0..10 {
        let (no, lease, seen) = opened(t).await;
        t.clock.advance(TTL);
        let barrier = Arc::new(Barrier::new(2));
        let (meet, locks, key) = (barrier.clone(), t.locks.clone(), lease.holder().key.clone());
        let taking = tokio::spawn(async move {
            meet.wait().await;
            locks.try_lock(&key, &lee()).await
        });
        barrier.wait().await;
        let resumed = t.locks.resume(&t.orders, &no, lease.id(), seen).await;
        let taken = taking.await.unwrap();
        let holders = t.locks.holders(&lease.holder().key).await.unwrap();
        let held: Vec<_> = holders.iter().map(|holder| (holder.owner.clone(), holder.generation)).collect();
        match (&resumed, &taken) {
            (Ok(resumed), Err(LockError::AlreadyLocked(_) | LockError::LockingFailed { .. })) => {
                assert_eq!((resumed.holder().generation, held), (1, vec![(kim(), 1)]));
            }
            (Err(Error::AlreadyLocked(_)), Ok(taken)) => {
                assert_eq!((taken.holder().generation, held), (2, vec![(lee(), 2)]))
            }
            both => panic!("{both:?}"),
        }
    }
}

pub async fn resume_during_a_save_sees_old_version_or_conflict(t: &TestDb) {
    for _ in 0..10 {
        let (no, lease, seen) = opened(t).await;
        t.clock.advance(TTL);
        let barrier = Arc::new(Barrier::new(2));
        let (meet, orders, number) = (barrier.clone(), t.orders.clone(), no.clone());
        let saving = tokio::spawn(async move {
            meet.wait().await;
            orders.update(&number).by(&lee()).unless_locked().within(Duration::from_secs(20)).run(Order::ship).await
        });
        barrier.wait().await;
        let resumed = t.locks.resume(&t.orders, &no, lease.id(), seen).await;
        let saved = saving.await.unwrap();
        // A save `unless_locked` is refused beside a resumed lease.
        match (&resumed, &saved) {
            (Ok(_), Err(tenure::error::UpdateError::Failed(Error::AlreadyLocked(holder)))) => {
                assert_eq!(holder.owner, kim())
            }
            (Err(Error::VersionConflict(conflict)), Ok(_)) => assert_eq!(conflict.actual, Some(version(2))),
            both => panic!("{both:?}"),
        }
    }
}

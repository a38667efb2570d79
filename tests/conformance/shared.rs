//! Shared locks for readers.

use std::sync::Arc;
use std::time::Duration;

use tenure::{
    Error, LockId, LockKey, LockManager, LockPolicy, Owner,
    error::{LeaseError, LockError, TakeOverError, UpdateError},
    lease::LeaseLossReason,
};
use tokio::sync::Barrier;

use super::order::Order;
use super::support::{TTL, TestDb, key, kim, lee, random, version};

fn sharing(t: &TestDb) -> LockManager {
    t.locks.clone().with_policy("Order", LockPolicy::shared())
}

fn is_lost(error: &LockError) -> bool {
    matches!(error, LockError::AlreadyLocked(_) | LockError::LockingFailed { .. })
}

pub async fn readers_share_the_lock_and_block_exclusive_holders(t: &TestDb) {
    let (locks, key) = (sharing(t), key());
    let first = locks.try_lock_shared(&key, &kim()).await.unwrap();
    let second = locks.try_lock_shared(&key, &lee()).await.unwrap();
    assert_eq!((first.holder().generation, second.holder().generation), (1, 2));
    assert!(first.holder().shared && locks.check_lock(second.id()).await.unwrap().holder().shared);
    for _ in 0..2 {
        let refused = locks.try_lock(&key, &lee()).await;
        assert!(
            matches!(&refused, Err(LockError::AlreadyLocked(reader)) if reader.shared && reader.owner == kim()),
            "{refused:?}"
        );
    }
    locks.release_lock(first.id()).await.unwrap();
    let refused = locks.try_lock(&key, &kim()).await;
    assert!(matches!(&refused, Err(LockError::AlreadyLocked(reader)) if reader.owner == lee()), "{refused:?}");
    locks.release_lock(second.id()).await.unwrap();
    let alone = locks.try_lock(&key, &kim()).await.unwrap();
    assert_eq!((alone.holder().generation, alone.holder().shared), (3, false));
}

pub async fn exclusive_holder_blocks_readers(t: &TestDb) {
    let (locks, key) = (sharing(t), key());
    let alone = locks.try_lock(&key, &kim()).await.unwrap();
    let refused = locks.try_lock_shared(&key, &lee()).await;
    assert!(matches!(&refused, Err(LockError::AlreadyLocked(holder)) if holder.owner == kim()), "{refused:?}");
    locks.release_lock(alone.id()).await.unwrap();
    let shared = locks.try_lock_shared(&key, &lee()).await.unwrap();
    assert_eq!(shared.holder().generation, 2);
    locks.release_lock(shared.id()).await.unwrap();
    // Twice, to cover both cases: after readers, and on a fresh key.
    for generation in 3..5 {
        let alone = locks.try_lock(&key, &kim()).await.unwrap();
        assert_eq!(alone.holder().generation, generation);
        assert!(locks.try_lock_shared(&key, &lee()).await.is_err());
        locks.release_lock(alone.id()).await.unwrap();
    }
}

pub async fn repeated_share_request_is_idempotent_until_its_end(t: &TestDb) {
    let (locks, key, id) = (sharing(t), key(), LockId::random());
    for _ in 0..2 {
        let share = locks.try_lock_shared_as(&key, &kim(), id.clone()).await.unwrap();
        assert_eq!(share.holder().generation, 1);
    }
    locks.try_lock_shared(&key, &lee()).await.unwrap();
    assert_eq!(locks.try_lock_shared_as(&key, &kim(), id.clone()).await.unwrap().holder().generation, 1);
    locks.release_lock(&id).await.unwrap();
    let late = locks.try_lock_shared_as(&key, &kim(), id).await;
    assert!(matches!(late, Err(LockError::LockIdUsed(_))), "{late:?}");
}

pub async fn expired_share_blocks_nobody_and_says_so(t: &TestDb) {
    let (locks, key) = (sharing(t), key());
    let share = locks.try_lock_shared(&key, &kim()).await.unwrap();
    t.clock.advance(TTL);
    let at = t.clock.now();
    assert_eq!(locks.try_lock(&key, &lee()).await.unwrap().holder().generation, 2);
    let Err(LeaseError::NoLock(lost)) = locks.check_lock(share.id()).await else { panic!("two hold it") };
    assert_eq!((lost.why, lost.held_now.unwrap().owner), (LeaseLossReason::Expired { at }, lee()));
}

pub async fn expired_exclusive_lock_admits_readers(t: &TestDb) {
    let (locks, no) = (sharing(t), t.order().await);
    let key = LockKey::of::<Order>(&no);
    let alone = locks.try_lock(&key, &kim()).await.unwrap();
    t.clock.advance(TTL);
    let at = t.clock.now();
    assert_eq!(locks.try_lock_shared(&key, &lee()).await.unwrap().holder().generation, 2);
    let Err(LeaseError::NoLock(lost)) = locks.check_lock(alone.id()).await else { panic!("two hold it") };
    assert_eq!(lost.why, LeaseLossReason::Expired { at });
    assert!(locks.resume(&t.orders, &no, alone.id(), version(1)).await.is_err());
}

pub async fn share_permits_no_save_by_anyone(t: &TestDb) {
    let (locks, no) = (sharing(t), t.order().await);
    let share = locks.try_lock_shared(&LockKey::of::<Order>(&no), &kim()).await.unwrap();
    let saved = t.orders.update(&no).by(&kim()).holding(share.id()).run(Order::ship).await;
    let Err(UpdateError::Failed(Error::NoLock(no_lock))) = saved else { panic!("{saved:?}") };
    assert_eq!(no_lock.why, LeaseLossReason::SharedOnly);
    assert!(no_lock.to_string().contains("exclusive lock"), "{no_lock}");
    let mut tx = t.db.begin().await.unwrap();
    let guarded = locks.guard(&mut tx, share.id()).await;
    assert!(matches!(guarded, Err(LeaseError::NoLock(no_lock)) if no_lock.why == LeaseLossReason::SharedOnly));
    drop(tx);
    let beside = t.orders.update(&no).by(&lee()).unless_locked().run(Order::ship).await;
    let Err(UpdateError::Failed(Error::AlreadyLocked(reader))) = beside else { panic!("{beside:?}") };
    assert!(reader.shared && reader.owner == kim());
    locks.release_lock(share.id()).await.unwrap();
    t.orders.update(&no).by(&lee()).unless_locked().run(Order::ship).await.unwrap();
}

pub async fn an_older_share_that_ran_out_hides_no_live_one(t: &TestDb) {
    let (locks, no) = (sharing(t), t.order().await);
    let key = LockKey::of::<Order>(&no);
    let (older, live) =
        (locks.try_lock_shared(&key, &kim()).await.unwrap(), locks.try_lock_shared(&key, &lee()).await.unwrap());
    t.clock.advance(TTL / 2);
    locks.keep_alive(&[live.id().clone()]).await.unwrap().remove(0).unwrap();
    t.clock.advance(TTL / 2);
    assert!(locks.check_lock(older.id()).await.is_err());
    let refused = locks.try_lock(&key, &kim()).await;
    assert!(matches!(&refused, Err(LockError::AlreadyLocked(reader)) if reader.owner == lee()), "{refused:?}");
    let beside = t.orders.update(&no).by(&kim()).unless_locked().run(Order::ship).await;
    assert!(
        matches!(&beside, Err(UpdateError::Failed(Error::AlreadyLocked(reader))) if reader.owner == lee()),
        "{beside:?}"
    );
}

pub async fn exclusive_type_has_no_shares(t: &TestDb) {
    for key in [key(), LockKey::new("Note", random())] {
        let refused = t.locks.try_lock_shared(&key, &kim()).await;
        assert!(
            matches!(&refused, Err(error @ LockError::NotShared { .. }) if error.code() == tenure::error::ErrorCode::NotShared),
            "{refused:?}"
        );
    }
}

pub async fn share_can_be_broken_but_not_taken_over(t: &TestDb) {
    let (locks, key) = (sharing(t), key());
    let locks = locks.with_take_over_permission("Order", |_: &Owner, _: &tenure::lease::Holder| true);
    locks.try_lock_shared(&key, &kim()).await.unwrap();
    let second = locks.try_lock_shared(&key, &lee()).await.unwrap();
    let taken = locks.take_over(&key, 2, &kim(), LockId::random(), "urgent").await;
    assert!(matches!(taken, Err(TakeOverError::Shared { .. })), "{taken:?}");
    locks.break_lock(&key, 1, &lee(), "left").await.unwrap();
    let holders = locks.holders(&key).await.unwrap();
    assert_eq!((holders.len(), holders[0].generation), (1, second.holder().generation));
}

pub async fn readers_and_exclusive_holder_never_overlap(t: &TestDb) {
    let locks = sharing(t);
    for round in 0..12 {
        let key = key();
        // Earlier states: none, released readers, an expired exclusive lease, expired readers.
        match round % 4 {
            0 => {}
            1 => locks.release_lock(locks.try_lock_shared(&key, &kim()).await.unwrap().id()).await.unwrap(),
            2 => drop(locks.try_lock(&key, &kim()).await.unwrap()),
            _ => drop(locks.try_lock_shared(&key, &kim()).await.unwrap()),
        }
        t.clock.advance(TTL);
        let barrier = Arc::new(Barrier::new(6));
        let asking: Vec<_> = (0..6)
            .map(|who| {
                let (locks, key, barrier) = (locks.clone(), key.clone(), barrier.clone());
                tokio::spawn(async move {
                    barrier.wait().await;
                    if who % 2 == 0 {
                        locks.try_lock_shared(&key, &kim()).await
                    } else {
                        locks.try_lock(&key, &lee()).await
                    }
                })
            })
            .collect();
        let mut granted = Vec::new();
        for answer in asking {
            match answer.await.unwrap() {
                Ok(lease) => granted.push(lease),
                Err(error) => assert!(is_lost(&error), "{error:?}"),
            }
        }
        let alone = granted.iter().filter(|lease| !lease.holder().shared).count();
        assert!(alone == 0 || granted.len() == 1, "round {round}: {granted:?}");
        assert!(!granted.is_empty(), "round {round}: nobody got it");
        let mut generations: Vec<i64> = granted.iter().map(|lease| lease.holder().generation).collect();
        generations.sort_unstable();
        generations.dedup();
        assert_eq!(generations.len(), granted.len(), "round {round}: {granted:?}");
        assert_eq!(locks.holders(&key).await.unwrap().len(), granted.len());
    }
}

pub async fn concurrent_shared_leases_have_distinct_generations(t: &TestDb) {
    for (locks, key, shared) in [(t.locks.clone(), LockKey::new("Note", random()), false), (sharing(t), key(), true)] {
        let barrier = Arc::new(Barrier::new(8));
        let asking: Vec<_> = (0..8)
            .map(|_| {
                let (locks, key, barrier) = (locks.clone(), key.clone(), barrier.clone());
                tokio::spawn(async move {
                    barrier.wait().await;
                    match shared {
                        true => locks.try_lock_shared(&key, &kim()).await,
                        false => locks.try_lock(&key, &kim()).await,
                    }
                })
            })
            .collect();
        let mut generations = Vec::new();
        for answer in asking {
            generations.push(answer.await.unwrap().unwrap().holder().generation);
        }
        generations.sort_unstable();
        assert_eq!(generations, (1..=8).collect::<Vec<i64>>());
    }
}

pub async fn resume_of_a_share_races_exclusive_lock_one_wins(t: &TestDb) {
    let locks = sharing(t);
    for _ in 0..10 {
        let no = t.order().await;
        let key = LockKey::of::<Order>(&no);
        let share = locks.try_lock_shared(&key, &kim()).await.unwrap();
        t.clock.advance(TTL);
        let barrier = Arc::new(Barrier::new(2));
        let (meet, others, wanted) = (barrier.clone(), locks.clone(), key.clone());
        let taking = tokio::spawn(async move {
            meet.wait().await;
            others.try_lock(&wanted, &lee()).await
        });
        barrier.wait().await;
        let resumed = locks.resume(&t.orders, &no, share.id(), version(1)).await;
        match (&resumed, &taking.await.unwrap()) {
            (Ok(_), Err(error)) if is_lost(error) => {}
            (Err(Error::AlreadyLocked(_) | Error::NoLock(_)), Ok(_)) => {}
            both => panic!("{both:?}"),
        }
        assert_eq!(locks.holders(&key).await.unwrap().len(), 1);
    }
}

pub async fn save_precedes_a_concurrent_reader_or_is_refused(t: &TestDb) {
    let locks = sharing(t);
    for _ in 0..10 {
        let no = t.order().await;
        let key = LockKey::of::<Order>(&no);
        locks.release_lock(locks.try_lock(&key, &kim()).await.unwrap().id()).await.unwrap();
        let barrier = Arc::new(Barrier::new(2));
        let (meet, orders, number) = (barrier.clone(), t.orders.clone(), no.clone());
        let saving = tokio::spawn(async move {
            meet.wait().await;
            orders.update(&number).by(&lee()).unless_locked().within(Duration::from_secs(20)).run(Order::ship).await
        });
        barrier.wait().await;
        let share = locks.try_lock_shared(&key, &kim()).await.unwrap();
        let seen = t.stored(&no).await.1;
        let saved = saving.await.unwrap();
        match saved {
            Ok(saved) => assert_eq!(saved.version(), seen),
            Err(UpdateError::Failed(Error::AlreadyLocked(reader))) => {
                assert_eq!(reader.generation, share.holder().generation)
            }
            Err(error) => panic!("{error:?}"),
        }
        // Nothing changes while it is held.
        assert_eq!(t.stored(&no).await.1, seen);
    }
}

pub async fn advisory_resume_and_new_lease_see_each_other(t: &TestDb) {
    for _ in 0..10 {
        let note = t.note("board", "buy milk").await;
        let key = LockKey::of::<super::order::Note>(&note);
        let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
        t.clock.advance(TTL);
        let barrier = Arc::new(Barrier::new(2));
        let (meet, locks, wanted) = (barrier.clone(), t.locks.clone(), key.clone());
        let taking = tokio::spawn(async move {
            meet.wait().await;
            locks.try_lock(&wanted, &lee()).await
        });
        barrier.wait().await;
        let resumed = t.locks.resume(&t.notes, &note, lease.id(), version(1)).await;
        assert_eq!(taking.await.unwrap().unwrap().holder().generation, 2);
        // A lease with a recorded end is not live, and a live one can be ended.
        let alive = t.locks.holders(&key).await.unwrap().iter().any(|holder| holder.generation == 1);
        assert_eq!(resumed.is_ok(), alive, "{resumed:?}");
        assert_eq!(t.locks.release_lock(lease.id()).await.is_ok(), alive);
        let Err(LeaseError::NoLock(ended)) = t.locks.check_lock(lease.id()).await else { panic!("it lives on") };
        assert_eq!(matches!(ended.why, LeaseLossReason::Released { .. }), alive, "{ended:?}");
    }
}

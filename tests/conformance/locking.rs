//! Acquiring locks.

use std::sync::Arc;

use tenure::{LockId, LockKey, LockManager, error::LockError, lease::LeaseLossReason};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::support::{MINUTE, TTL, TestDb, key, kim, lee};

pub async fn a_free_key_is_granted_as_its_first_generation(t: &TestDb) {
    let lease = t.locks.try_lock(&key(), &kim()).await.unwrap();
    assert_eq!((lease.holder().generation, lease.holder().remaining, lease.holder().since), (1, TTL, t.clock.now()));
    assert_eq!(lease.holder().owner, kim());
}

pub async fn refusal_names_holder_start_and_expiry(t: &TestDb) {
    let key = key();
    let since = t.clock.now();
    t.locks.try_lock(&key, &kim()).await.unwrap();
    t.clock.advance(MINUTE);
    let Err(LockError::AlreadyLocked(holder)) = t.locks.try_lock(&key, &lee()).await else { panic!("granted twice") };
    assert_eq!((&holder.key, &holder.owner, holder.since, holder.remaining), (&key, &kim(), since, TTL - MINUTE));
    assert_eq!(LockError::AlreadyLocked(holder).code(), tenure::error::ErrorCode::AlreadyLocked);
}

pub async fn the_same_person_in_another_tab_is_refused_as_well(t: &TestDb) {
    let key = key();
    t.locks.try_lock(&key, &kim()).await.unwrap();
    let second = t.locks.try_lock(&key, &kim()).await;
    assert!(matches!(second, Err(LockError::AlreadyLocked(holder)) if holder.owner == kim()));
}

pub async fn repeated_request_with_the_same_lock_id_is_idempotent(t: &TestDb) {
    let (key, id) = (key(), LockId::random());
    let first = t.locks.try_lock_as(&key, &kim(), id.clone()).await.unwrap();
    t.clock.advance(MINUTE);
    let again = t.locks.try_lock_as(&key, &kim(), id.clone()).await.unwrap();
    assert_eq!(
        (again.holder().generation, again.holder().since, again.id()),
        (first.holder().generation, first.holder().since, &id)
    );
    assert_eq!(again.holder().remaining, TTL);
}

pub async fn duplicate_request_gets_nothing_after_its_release(t: &TestDb) {
    let (key, id) = (key(), LockId::random());
    t.locks.try_lock_as(&key, &kim(), id.clone()).await.unwrap();
    t.locks.release_lock(&id).await.unwrap();
    let late = t.locks.try_lock_as(&key, &kim(), id).await;
    assert!(matches!(late, Err(LockError::LockIdUsed(used)) if matches!(used.why, LeaseLossReason::Released { .. })));
    assert_eq!(t.locks.holders(&key).await.unwrap(), []);
}

pub async fn duplicate_request_gets_nothing_after_later_holders(t: &TestDb) {
    let (key, id) = (key(), LockId::random());
    t.locks.try_lock_as(&key, &kim(), id.clone()).await.unwrap();
    t.clock.advance(TTL);
    let next = t.locks.try_lock(&key, &lee()).await.unwrap();
    t.locks.release_lock(next.id()).await.unwrap();
    let late = t.locks.try_lock_as(&key, &kim(), id).await;
    assert!(matches!(late, Err(LockError::LockIdUsed(used)) if matches!(used.why, LeaseLossReason::Expired { .. })));
    assert_eq!(t.locks.try_lock(&key, &lee()).await.unwrap().holder().generation, 3);
}

pub async fn one_of_many_callers_wins_and_generation_rises_by_one(t: &TestDb) {
    const CALLERS: usize = 16;
    let key = key();
    let elsewhere = LockManager::new(&t.another_process().await);
    for round in 1..=20 {
        let barrier = Arc::new(Barrier::new(CALLERS));
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let locks = if caller % 2 == 0 { t.locks.clone() } else { elsewhere.clone() };
            let (key, barrier) = (key.clone(), Arc::clone(&barrier));
            callers.spawn(async move {
                barrier.wait().await;
                locks.try_lock(&key, &kim()).await
            });
        }
        let mut won = Vec::new();
        for outcome in callers.join_all().await {
            match outcome {
                Ok(lease) => won.push(lease),
                Err(LockError::AlreadyLocked(_) | LockError::LockingFailed { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(won.iter().map(|lease| lease.holder().generation).collect::<Vec<_>>(), [round]);
        t.locks.release_lock(won[0].id()).await.unwrap();
    }
}

pub async fn one_lock_id_cannot_hold_two_keys(t: &TestDb) {
    let id = LockId::random();
    t.locks.try_lock_as(&key(), &kim(), id.clone()).await.unwrap();
    let second = key();
    let refused = t.locks.try_lock_as(&second, &kim(), id).await;
    assert!(matches!(refused, Err(LockError::LockIdUsed(used)) if used.why == LeaseLossReason::OtherAggregate));
    assert_eq!(t.locks.holders(&second).await.unwrap(), []);
}

pub async fn keys_are_compared_byte_by_byte(t: &TestDb) {
    let random = super::support::random();
    let longest = "가".repeat(255);
    let ids = ["a1", "A1", "a1 ", "주문-1", "💐", "it's", "100%_", "\"quoted\"", "'; drop table orders --", &longest];
    for id in ids {
        let lease = t.locks.try_lock(&LockKey::new(format!("Order{random}"), id), &kim()).await.unwrap();
        assert_eq!((lease.holder().generation, lease.holder().key.id()), (1, id));
    }
    assert_eq!(t.locks.list().of_type(format!("Order{random}")).run().await.unwrap().items.len(), ids.len());
}

pub async fn empty_and_gigantic_keys_are_refused(t: &TestDb) {
    for bad in [LockKey::new("Order", ""), LockKey::new("", "1"), LockKey::new("Order", "x".repeat(1_025))] {
        let refused = t.locks.try_lock(&bad, &kim()).await;
        assert!(matches!(refused, Err(LockError::InvalidKey { .. })), "{refused:?}");
    }
}

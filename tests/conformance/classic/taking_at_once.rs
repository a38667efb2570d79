//! Concurrent acquisitions of the same keys.

use std::sync::Arc;
use std::time::Duration;

use tenure::{LockKey, LockManager, Owner, error::LockError};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::conformance::support::{TTL, TestDb, key, kim, lee, random};

/// Row 1: a client that saw the old lease expire deletes, by the key, the new lease of another owner.
pub async fn one_of_many_acquires_an_expired_lease(t: &TestDb) {
    const CALLERS: usize = 12;
    let elsewhere = LockManager::new(&t.another_process().await);
    for _ in 0..10 {
        let (key, barrier) = (key(), Arc::new(Barrier::new(CALLERS)));
        t.locks.try_lock(&key, &kim()).await.unwrap();
        t.clock.advance(TTL);
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let locks = if caller % 2 == 0 { t.locks.clone() } else { elsewhere.clone() };
            let (key, meet) = (key.clone(), barrier.clone());
            callers.spawn(async move {
                meet.wait().await;
                locks.try_lock(&key, &Owner::new(caller.to_string(), "Caller")).await
            });
        }
        let (mut won, mut lost) = (Vec::new(), 0);
        for outcome in callers.join_all().await {
            match outcome {
                Ok(lease) => won.push(lease),
                Err(LockError::AlreadyLocked(_) | LockError::LockingFailed { .. }) => lost += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!((won.len(), lost), (1, CALLERS - 1));
        // No loser has deleted the winner's lease.
        let kept = t.locks.check_lock(won[0].id()).await.unwrap();
        assert_eq!(
            (kept.holder().generation, kept.holder().remaining, &kept.holder().owner),
            (2, TTL, &won[0].holder().owner)
        );
        assert_eq!(t.locks.holders(&key).await.unwrap().len(), 1);
    }
}

/// Row 1 as well, step by step: both saw that it had expired, and both had to wait before they could acquire it.
pub async fn one_of_two_waiters_gets_an_expired_lease(t: &TestDb) {
    let key = key();
    let old = t.locks.try_lock(&key, &kim()).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    t.locks.guard(&mut tx, old.id()).await.unwrap();
    t.clock.advance(TTL);
    let elsewhere = LockManager::new(&t.another_process().await);
    let mut waiting = JoinSet::new();
    for locks in [t.locks.clone(), elsewhere] {
        let key = key.clone();
        waiting.spawn(async move { locks.try_lock(&key, &lee()).await });
    }
    let early = tokio::time::timeout(Duration::from_millis(200), waiting.join_next()).await;
    assert!(early.is_err(), "one did not wait for the save under the old lease: {early:?}");
    tx.commit().await.unwrap();
    let outcomes = waiting.join_all().await;
    let won: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
    let [won] = won[..] else { panic!("{outcomes:?}") };
    assert_eq!(won.holder().generation, 2);
    assert_eq!(t.locks.check_lock(won.id()).await.unwrap().holder().remaining, TTL);
    for outcome in &outcomes {
        assert!(matches!(outcome, Ok(_) | Err(LockError::AlreadyLocked(_) | LockError::LockingFailed { .. })));
    }
}

/// Rows 12 and 25: gap locks and SERIALIZABLE make unrelated clients wait for, or fail, each
/// other.
pub async fn locks_of_neighbouring_keys_do_not_interfere(t: &TestDb) {
    const PEOPLE: usize = 8;
    let elsewhere = LockManager::new(&t.another_process().await);
    let (run, barrier) = (random(), Arc::new(Barrier::new(PEOPLE)));
    let mut people = JoinSet::new();
    for person in 0..PEOPLE {
        let locks = if person % 2 == 0 { t.locks.clone() } else { elsewhere.clone() };
        let (run, meet) = (run.clone(), barrier.clone());
        people.spawn(async move {
            for round in 0..6 {
                meet.wait().await;
                // Adjacent keys without rows yet.
                let key = LockKey::new("Order", format!("{run}-{round}-{person}"));
                for generation in 1..=2 {
                    let lease = locks.try_lock(&key, &kim()).await.unwrap();
                    assert_eq!(lease.holder().generation, generation);
                    locks.keep_alive(&[lease.id().clone()]).await.unwrap().remove(0).unwrap();
                    locks.extend_lock_expiration(lease.id(), TTL).await.unwrap();
                    locks.release_lock(lease.id()).await.unwrap();
                }
            }
        });
    }
    people.join_all().await;
}

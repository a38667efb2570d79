//! Advisory types: everybody may edit, and sees the other holders.

use std::sync::Arc;

use tenure::{LockKey, LockPolicy, error::LeaseError, lease::LeaseLossReason};
use tokio::sync::Barrier;

use super::support::{TTL, TestDb, kim, lee, random, version};

fn note() -> LockKey {
    LockKey::new("Note", random())
}

pub async fn every_advisory_holder_sees_the_others(t: &TestDb) {
    let note = note();
    let first = t.locks.try_lock(&note, &kim()).await.unwrap();
    let second = t.locks.try_lock(&note, &lee()).await.unwrap();
    assert_eq!((first.holder().generation, second.holder().generation), (1, 2));
    let owners = t.locks.holders(&note).await.unwrap().into_iter().map(|holder| holder.owner);
    assert_eq!(owners.collect::<Vec<_>>(), [kim(), lee()]);
    assert!(t.locks.check_lock(first.id()).await.is_ok() && t.locks.check_lock(second.id()).await.is_ok());
}

pub async fn leaving_an_advisory_lease_keeps_the_others(t: &TestDb) {
    let note = note();
    let first = t.locks.try_lock(&note, &kim()).await.unwrap();
    let second = t.locks.try_lock(&note, &lee()).await.unwrap();
    t.locks.release_lock(first.id()).await.unwrap();
    assert_eq!(t.locks.holders(&note).await.unwrap().len(), 1);
    t.clock.advance(TTL);
    assert_eq!(t.locks.holders(&note).await.unwrap(), []);
    let third = t.locks.try_lock(&note, &kim()).await.unwrap();
    assert_eq!(third.holder().generation, 3);
    assert!(
        matches!(t.locks.check_lock(second.id()).await, Err(LeaseError::NoLock(lost)) if matches!(lost.why, LeaseLossReason::Expired { .. }))
    );
}

pub async fn breaking_an_advisory_lease_ends_that_one_only(t: &TestDb) {
    let note = note();
    t.locks.try_lock(&note, &kim()).await.unwrap();
    let second = t.locks.try_lock(&note, &lee()).await.unwrap();
    t.locks.break_lock(&note, second.holder().generation, &kim(), "left").await.unwrap();
    assert_eq!(t.locks.holders(&note).await.unwrap()[0].owner, kim());
}

pub async fn concurrent_advisory_leases_have_distinct_generations(t: &TestDb) {
    let note = note();
    assert_eq!(eight_at_once(t, &note).await, (1..=8).collect::<Vec<i64>>());
}

/// A process with an older policy of the type may hold it exclusively.
pub async fn advisory_leases_beside_an_exclusive_one_have_distinct_generations(t: &TestDb) {
    let note = note();
    let exclusive = t.locks.clone().with_policy(note.kind(), LockPolicy::exclusive());
    exclusive.try_lock(&note, &lee()).await.unwrap();
    assert_eq!(eight_at_once(t, &note).await, (2..=9).collect::<Vec<i64>>());
}

/// The generations of eight requests that start together.
async fn eight_at_once(t: &TestDb, note: &LockKey) -> Vec<i64> {
    let barrier = Arc::new(Barrier::new(8));
    let asking: Vec<_> = (0..8)
        .map(|_| {
            let (locks, note, barrier) = (t.locks.clone(), note.clone(), barrier.clone());
            tokio::spawn(async move {
                barrier.wait().await;
                locks.try_lock(&note, &kim()).await
            })
        })
        .collect();
    let mut generations = Vec::new();
    for answer in asking {
        generations.push(answer.await.unwrap().unwrap().holder().generation);
    }
    generations.sort_unstable();
    generations
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

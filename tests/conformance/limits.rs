//! Quotas of one owner in the lock table.

use std::sync::Arc;

use tenure::{
    Lease, LockId, LockKey, LockManager, Owner,
    error::{LockError, TakeOverError},
    lease::{Limit, Limits},
};
use tokio::sync::Barrier;

use super::support::{TTL, TestDb, key, lee, random};

fn two(locks: &LockManager) -> LockManager {
    locks.clone().with_limits(Limits { locks_per_owner: 2, ..Limits::default() })
}

/// An owner who holds nothing yet.
fn newcomer() -> Owner {
    Owner::new(random(), "Newcomer")
}

fn refused(answer: Result<Lease, LockError>) {
    let Err(error @ LockError::LimitReached { limit: Limit::LocksPerOwner, most: 2 }) = answer else {
        panic!("expected the limit, found {answer:?}")
    };
    assert_eq!(error.code(), tenure::error::ErrorCode::LimitReached);
    assert!(error.to_string().contains("locks_per_owner"), "{error}");
}

pub async fn locks_per_owner_limit_holds_and_ended_locks_free_it(t: &TestDb) {
    let (locks, owner) = (two(&t.locks), newcomer());
    let first = locks.try_lock(&key(), &owner).await.unwrap();
    locks.try_lock(&LockKey::new("Note", random()), &owner).await.unwrap();
    refused(locks.try_lock(&key(), &owner).await);
    // Other owners are not affected.
    locks.try_lock(&key(), &newcomer()).await.unwrap();
    locks.release_lock(first.id()).await.unwrap();
    locks.try_lock(&key(), &owner).await.unwrap();
    refused(locks.try_lock(&key(), &owner).await);
    t.clock.advance(TTL);
    locks.try_lock(&key(), &owner).await.unwrap();
}

pub async fn repeated_request_at_the_limit_returns_the_held_lease(t: &TestDb) {
    let (locks, owner, key, id) = (two(&t.locks), newcomer(), key(), LockId::random());
    locks.try_lock_as(&key, &owner, id.clone()).await.unwrap();
    locks.try_lock(&super::support::key(), &owner).await.unwrap();
    assert_eq!(locks.try_lock_as(&key, &owner, id.clone()).await.unwrap().holder().generation, 1);
    // A takeover from one's own tab does not add a lock.
    let moved = locks.take_over(&key, 1, &owner, LockId::random(), "another tab").await.unwrap();
    assert_eq!(moved.holder().generation, 2);
    refused(locks.try_lock_as(&super::support::key(), &owner, LockId::random()).await);
}

pub async fn concurrent_requests_of_one_owner_get_exactly_the_limit(t: &TestDb) {
    let (locks, owner, barrier) = (two(&t.locks), newcomer(), Arc::new(Barrier::new(8)));
    let asking: Vec<_> = (0..8)
        .map(|_| {
            let (locks, owner, barrier) = (locks.clone(), owner.clone(), barrier.clone());
            tokio::spawn(async move {
                barrier.wait().await;
                locks.try_lock(&key(), &owner).await
            })
        })
        .collect();
    let mut granted = 0;
    for answer in asking {
        match answer.await.unwrap() {
            Ok(_) => granted += 1,
            answer => refused(answer),
        }
    }
    assert_eq!(granted, 2);
}

pub async fn grants_of_another_process_count(t: &TestDb) {
    let (locks, owner) = (two(&t.locks), newcomer());
    let others = two(&LockManager::new(&t.another_process().await));
    others.try_lock(&key(), &owner).await.unwrap();
    locks.try_lock(&key(), &owner).await.unwrap();
    refused(others.try_lock(&key(), &owner).await);
    refused(locks.try_lock(&key(), &owner).await);
}

pub async fn takeover_respects_the_owner_limit(t: &TestDb) {
    let (locks, owner, key) = (two(&t.locks), newcomer(), key());
    let locks = locks.with_take_over_permission("Order", |_: &Owner, _: &tenure::lease::Holder| true);
    let held = locks.try_lock(&key, &lee_of_today()).await.unwrap();
    locks.try_lock(&super::support::key(), &owner).await.unwrap();
    locks.try_lock(&super::support::key(), &owner).await.unwrap();
    let taken = locks.take_over(&key, 1, &owner, LockId::random(), "urgent").await;
    assert!(matches!(taken, Err(TakeOverError::LimitReached { most: 2, .. })), "{taken:?}");
    locks.check_lock(held.id()).await.unwrap();
}

fn lee_of_today() -> Owner {
    Owner::new(random(), lee().name)
}

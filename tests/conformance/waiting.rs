//! Waiting for a lock.

use std::future::IntoFuture;
use std::time::Duration;

use tenure::{
    Database, Lease, LockId, LockKey, LockManager, Owner, Repository, Version,
    error::{DatabaseError, ErrorCode, LockError},
    lease::{Limit, Limits},
};
use testkit::Stopwatch;
use tokio::task::JoinSet;

use super::order::Order;
use super::support::{MINUTE, TTL, TestDb, key, kim, lee, random};
use super::transactions::cancelled_after;

/// A wait that was polled so often has been refused: it is polled when it begins, after each request, and after each pause.
const POLLS: usize = 3;

/// A wait that has begun, and was refused.
async fn waits(locks: &LockManager, key: &LockKey) -> impl Future<Output = Result<Lease, LockError>> + Send + use<> {
    let mut waiting = locks.lock(key, &lee()).within(MINUTE).into_future();
    assert!(cancelled_after(POLLS, &mut waiting).await.is_none());
    waiting
}

pub async fn waiter_acquires_a_released_broken_or_expired_lock(t: &TestDb) {
    let (process, key) = (t.another_process().await, key());
    let locks = LockManager::new(&process);
    let held = t.locks.try_lock(&key, &kim()).await.unwrap();
    let waiting = waits(&locks, &key).await;
    t.locks.release_lock(held.id()).await.unwrap();
    let lees = waiting.await.unwrap();
    assert_eq!((lees.holder().generation, &lees.holder().owner), (2, &lee()));
    let waiting = waits(&locks, &key).await;
    t.locks.break_lock(&key, 2, &kim(), "it is urgent").await.unwrap();
    assert_eq!(waiting.await.unwrap().holder().generation, 3);
    let waiting = waits(&locks, &key).await;
    t.clock.advance(TTL);
    assert_eq!(waiting.await.unwrap().holder().generation, 4);
    process.close().await;
}

pub async fn each_of_many_waiters_acquires_the_lock_once(t: &TestDb) {
    let (process, key) = (t.another_process().await, key());
    let held = t.locks.try_lock(&key, &kim()).await.unwrap();
    let mut waiting = JoinSet::new();
    for number in 0..6 {
        let locks = if number % 2 == 0 { t.locks.clone() } else { LockManager::new(&process) };
        let (key, owner) = (key.clone(), Owner::new(format!("waiter {number}"), "Waiter"));
        waiting.spawn(async move {
            let lease = locks.lock(&key, &owner).within(MINUTE).await.unwrap();
            locks.release_lock(lease.id()).await.unwrap();
            lease.holder().generation
        });
    }
    t.locks.release_lock(held.id()).await.unwrap();
    let mut generations = waiting.join_all().await;
    generations.sort_unstable();
    assert_eq!(generations, [2, 3, 4, 5, 6, 7]);
    process.close().await;
}

pub async fn dropped_wait_leaves_nothing_behind(t: &TestDb) {
    for polls in 0..6 {
        let key = key();
        let held = t.locks.try_lock(&key, &kim()).await.unwrap();
        let waiting = t.locks.lock(&key, &lee()).within(MINUTE).into_future();
        assert!(cancelled_after(polls, waiting).await.is_none());
        t.locks.release_lock(held.id()).await.unwrap();
        let free = t.locks.lock(&key, &Owner::new("other", "Other")).within(MINUTE).await.unwrap();
        // The request that was in flight when it was dropped may have been granted; then it was released.
        assert!([2, 3].contains(&free.holder().generation), "{free:?}");
    }
}

pub async fn wait_times_out_and_names_the_holder(t: &TestDb) {
    let key = key();
    t.locks.try_lock(&key, &kim()).await.unwrap();
    for wait in [Duration::ZERO, Duration::from_millis(30)] {
        let late = t.locks.lock(&key, &lee()).within(wait).await.unwrap_err();
        assert_eq!((late.code(), late.is_retryable()), (ErrorCode::LockTimeout, true));
        assert!(late.to_string().contains("Kim Minji"), "{late}");
        let LockError::LockTimeout { key: of, waited, holder: Some(holder) } = late else { panic!("{late:?}") };
        assert_eq!((of, holder.owner, holder.generation), (key.clone(), kim(), 1));
        assert!(waited >= wait && waited < wait + MINUTE, "{waited:?}");
    }
}

pub async fn waits_with_one_lock_id_get_one_lease(t: &TestDb) {
    let (key, id, process) = (key(), LockId::random(), t.another_process().await);
    let held = t.locks.try_lock(&key, &kim()).await.unwrap();
    let asks = |db: &Database| LockManager::new(db).lock(&key, &lee()).with_id(id.clone()).within(MINUTE).into_future();
    // The page was reloaded, and another process serves it.
    let (mut first, mut again) = (asks(&t.db), asks(&process));
    assert!(cancelled_after(POLLS, &mut first).await.is_none() && cancelled_after(POLLS, &mut again).await.is_none());
    t.locks.release_lock(held.id()).await.unwrap();
    let (first, again) = tokio::join!(first, again);
    // And once more, when it already holds the lock.
    for lease in [first, again, asks(&process).await] {
        let lease = lease.unwrap();
        assert_eq!((lease.holder().generation, lease.id()), (2, &id));
    }
    process.close().await;
}

pub async fn advisory_locks_and_invalid_keys_are_not_waited_for(t: &TestDb) {
    let note = LockKey::new("Note", random());
    t.locks.try_lock(&note, &kim()).await.unwrap();
    assert_eq!(t.locks.lock(&note, &lee()).await.unwrap().holder().generation, 2);
    let none = t.locks.lock(&LockKey::new("Order", ""), &lee()).await;
    assert!(matches!(none, Err(LockError::InvalidKey { .. })), "{none:?}");
}

pub async fn waiting_ends_when_the_database_is_closed(t: &TestDb) {
    let (process, key) = (t.another_process().await, key());
    t.locks.try_lock(&key, &kim()).await.unwrap();
    let waiting = waits(&LockManager::new(&process), &key).await;
    process.close().await;
    assert!(matches!(waiting.await, Err(LockError::Database(DatabaseError::Closed))));
}

pub async fn length_of_a_wait_is_limited(t: &TestDb) {
    let locks = t.locks.clone().with_limits(Limits { longest_wait: MINUTE, ..Limits::default() });
    let long = locks.lock(&key(), &lee()).within(MINUTE + Duration::from_millis(1)).await;
    let limit = Limit::LongestWait;
    assert!(matches!(long, Err(LockError::LimitReached { limit: of, most: 60_000 }) if of == limit), "{long:?}");
}

/// Near its limit an owner is counted for each request, one request after the other.
pub async fn wait_behind_its_owners_requests_ends_at_its_deadline(t: &TestDb) {
    const WAIT: Duration = Duration::from_secs(1);
    let limits = Limits { locks_per_owner: 50, ..Limits::default() };
    let (locks, kim, held) = (t.locks.clone().with_limits(limits), Owner::new(random(), "Kim"), key());
    // The first request waits for a transaction of another process.
    let elsewhere = t.another_process().await;
    let mut tx = elsewhere.begin().await.unwrap();
    tx.unless_locked(&held).await.unwrap();
    let (first, first_kim) = (locks.clone(), kim.clone());
    let first = tokio::spawn(async move { first.try_lock(&held, &first_kim).await });
    let mut behind = 0;
    while !first.is_finished() {
        let (free, watch) = (key(), Stopwatch::start());
        let waited = locks.lock(&free, &kim).within(WAIT).await;
        let took = watch.stop();
        assert!(took < WAIT + WAIT / 2, "{took:?} of {WAIT:?}");
        match waited {
            Ok(lease) => locks.release_lock(lease.id()).await.unwrap(),
            Err(LockError::LockTimeout { .. }) => behind += u32::from(!first.is_finished()),
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(behind > 0, "no wait behind the first request ended before it");
    tx.rollback().await.unwrap();
    drop(first.await.unwrap());
    elsewhere.close().await;
}

pub async fn closing_returns_while_a_transaction_is_open(t: &TestDb) {
    let process = t.another_process().await;
    let (orders, no) = (Repository::<Order>::new(&process), random());
    let mut tx = process.begin().await.unwrap();
    orders.insert(&mut tx, Order::new(&no)).await.unwrap();
    let watch = Stopwatch::start();
    tokio::time::timeout(MINUTE, process.close()).await.expect("it returns");
    let took = watch.stop();
    assert!(took < Duration::from_millis(5_500), "{took:?} of 5 s");
    // What had begun may end.
    tx.commit().await.unwrap();
    assert_eq!(t.stored(&no).await.1, Version::FIRST);
    assert!(process.begin().await.is_err());
}

//! Waiting for a lock, in the order of arrival.

use std::future::{IntoFuture, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use tenure::{
    Lease, LockId, LockKey, LockManager, Owner, Repository, Version,
    error::LockError,
    lease::{Limit, Limits},
    watch::LockEvent,
};
use tokio::task::JoinHandle;

use super::order::Order;
use super::support::{MINUTE, TTL, TestDb, key, kim, lee, random};
use super::watching::Events;

const OFTEN: Duration = Duration::from_millis(10);

type Waiting = JoinHandle<Result<Lease, LockError>>;

/// Waits, and is queued as the `place`-th when this returns.
async fn waits(locks: &LockManager, key: &LockKey, owner: &Owner, place: u32) -> Waiting {
    let mut events = Events::of(locks, key).await;
    let waiting = tokio::spawn(locks.lock(key, owner).within(MINUTE).into_future());
    events.until_waiting(place).await;
    waiting
}

pub async fn waiters_acquire_in_arrival_order_across_processes(t: &TestDb) {
    let one = LockManager::new(&t.process_with_poll_interval(OFTEN).await);
    let other = LockManager::new(&t.process_with_poll_interval(OFTEN).await);
    let key = key();
    let held = t.locks.try_lock(&key, &kim()).await.unwrap();
    let served = Arc::new(Mutex::new(Vec::new()));
    let mut waiting = Vec::new();
    for place in 1..=6_u32 {
        let locks = if place % 2 == 0 { other.clone() } else { one.clone() };
        let taken = waits(&locks, &key, &Owner::new(format!("waiter {place}"), "Waiter"), place).await;
        let served = Arc::clone(&served);
        waiting.push(tokio::spawn(async move {
            let lease = taken.await.unwrap().unwrap();
            served.lock().unwrap().push((place, lease.holder().generation));
            locks.release_lock(lease.id()).await.unwrap();
        }));
    }
    t.locks.release_lock(held.id()).await.unwrap();
    for waiting in waiting {
        waiting.await.unwrap();
    }
    let expected: Vec<(u32, i64)> = (1..=6).map(|place| (place, i64::from(place) + 1)).collect();
    assert_eq!(*served.lock().unwrap(), expected);
}

pub async fn waiter_acquires_a_broken_or_expired_lock(t: &TestDb) {
    let key = key();
    t.locks.try_lock(&key, &kim()).await.unwrap();
    let waiting = waits(&t.locks, &key, &lee(), 1).await;
    t.locks.break_lock(&key, 1, &lee(), "it is urgent").await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().holder().generation, 2);
    let waiting = waits(&t.locks, &key, &kim(), 1).await;
    t.clock.advance(TTL);
    t.db.look_now().await.unwrap();
    let lease = waiting.await.unwrap().unwrap();
    assert_eq!((lease.holder().generation, &lease.holder().owner), (3, &kim()));
}

pub async fn the_place_of_a_process_that_died_is_skipped(t: &TestDb) {
    let key = key();
    let held = t.locks.try_lock(&key, &kim()).await.unwrap();
    let mut events = Events::of(&t.locks, &key).await;
    // A process that stops suddenly: a runtime that is not driven any more.
    let process = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (connected, waited_for) = (t.connecting(), key.clone());
    process.spawn(async move {
        let locks = LockManager::new(&connected.await);
        locks.lock(&waited_for, &Owner::new("dead", "Dead")).within(MINUTE).await
    });
    events.until_waiting(1).await;
    let second = waits(&t.locks, &key, &lee(), 2).await;
    process.shutdown_background();
    t.locks.release_lock(held.id()).await.unwrap();
    t.db.look_now().await.unwrap();
    assert!(t.locks.holders(&key).await.unwrap().is_empty(), "it is the turn of the dead one");
    // Longer than its queue entry lives without a heartbeat.
    t.clock.advance(Duration::from_secs(11));
    t.db.look_now().await.unwrap();
    assert_eq!(second.await.unwrap().unwrap().holder().owner, lee());
    events.until_waiting(0).await;
}

pub async fn dropped_wait_blocks_nobody(t: &TestDb) {
    let key = key();
    let held = t.locks.try_lock(&key, &kim()).await.unwrap();
    let first = waits(&t.locks, &key, &Owner::new("first", "First"), 1).await;
    let second = waits(&t.locks, &key, &lee(), 2).await;
    let mut events = Events::of(&t.locks, &key).await;
    first.abort();
    events.until_waiting(1).await;
    t.locks.release_lock(held.id()).await.unwrap();
    assert_eq!(second.await.unwrap().unwrap().holder().generation, 2);
}

pub async fn lease_granted_after_the_wait_ended_is_released(t: &TestDb) {
    let key = key();
    let mut events = Events::of(&t.locks, &key).await;
    let mut waiting = t.locks.lock(&key, &lee()).within(MINUTE).into_future();
    // Begun, and not polled again.
    assert!(poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context).is_pending())).await);
    assert!(matches!(events.next().await, Some(LockEvent::Acquired(holder)) if holder.owner == lee()));
    drop(waiting);
    assert!(matches!(events.next().await, Some(LockEvent::Ended { holder, .. }) if holder.owner == lee()));
    assert!(t.locks.try_lock(&key, &kim()).await.is_ok());
}

pub async fn wait_times_out_and_names_the_holder(t: &TestDb) {
    let key = key();
    t.locks.try_lock(&key, &kim()).await.unwrap();
    for wait in [Duration::ZERO, Duration::from_millis(30)] {
        let late = t.locks.lock(&key, &lee()).within(wait).await.unwrap_err();
        assert_eq!((late.code(), late.is_retryable()), (tenure::error::ErrorCode::LockTimeout, true));
        assert!(late.to_string().contains("Kim Minji"), "{late}");
        let LockError::LockTimeout { key: of, waited, holder: Some(holder) } = late else { panic!("{late:?}") };
        assert_eq!((of, holder.owner, holder.generation), (key.clone(), kim(), 1));
        assert!(waited >= wait && waited < wait + MINUTE, "{waited:?}");
    }
    // Its queue entry was removed with it.
    assert_eq!(Events::of(&t.locks, &key).await.waiting, 0);
}

pub async fn lock_id_has_one_queue_position(t: &TestDb) {
    let (key, id, process) = (key(), LockId::random(), t.process_with_poll_interval(Duration::from_secs(3600)).await);
    let held = t.locks.try_lock(&key, &kim()).await.unwrap();
    let mut events = Events::of(&t.locks, &key).await;
    let asks =
        |locks: &LockManager| tokio::spawn(locks.lock(&key, &lee()).with_id(id.clone()).within(MINUTE).into_future());
    let first = asks(&t.locks);
    events.until_waiting(1).await;
    let other = waits(&t.locks, &key, &Owner::new("other", "Other"), 2).await;
    // The page was reloaded, and another process serves it: it has the position before the other one.
    let again = asks(&LockManager::new(&process));
    while process.look_now().await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(Events::of(&t.locks, &key).await.waiting, 2);
    t.locks.release_lock(held.id()).await.unwrap();
    // Both requests get the same lease.
    let lease = first.await.unwrap().unwrap();
    process.look_now().await.unwrap();
    assert_eq!(again.await.unwrap().unwrap().holder().generation, 2);
    assert_eq!((lease.holder().generation, lease.id()), (2, &id));
    // And once more, when it already holds the lock.
    assert_eq!(asks(&t.locks).await.unwrap().unwrap().holder().generation, 2);
    t.locks.release_lock(&id).await.unwrap();
    assert_eq!(other.await.unwrap().unwrap().holder().generation, 3);
}

pub async fn advisory_locks_and_invalid_keys_have_no_queue(t: &TestDb) {
    let note = LockKey::new("Note", random());
    t.locks.try_lock(&note, &kim()).await.unwrap();
    assert_eq!(t.locks.lock(&note, &lee()).await.unwrap().holder().generation, 2);
    let none = t.locks.lock(&LockKey::new("Order", ""), &lee()).await;
    assert!(matches!(none, Err(LockError::InvalidKey { .. })), "{none:?}");
}

pub async fn waiting_ends_when_the_database_is_closed(t: &TestDb) {
    let (process, key) = (t.another_process().await, key());
    t.locks.try_lock(&key, &kim()).await.unwrap();
    let locks = LockManager::new(&process);
    let waiting = waits(&locks, &key, &lee(), 1).await;
    let mut events = Events::of(&locks, &key).await;
    process.close().await;
    assert!(matches!(waiting.await.unwrap(), Err(LockError::Database(_))));
    assert_eq!(events.next().await, None);
}

pub async fn waits_per_owner_and_their_length_are_limited(t: &TestDb) {
    let limits = Limits { waits_per_owner: 2, longest_wait: MINUTE, ..Limits::default() };
    let (locks, owner) = (t.locks.clone().with_limits(limits), Owner::new(random(), "Many"));
    let keys = [key(), key(), key()];
    for key in &keys {
        locks.try_lock(key, &kim()).await.unwrap();
    }
    let (_first, second) = (waits(&locks, &keys[0], &owner, 1).await, waits(&locks, &keys[1], &owner, 1).await);
    let third = locks.lock(&keys[2], &owner).await;
    let limit = Limit::WaitsPerOwner;
    assert!(matches!(third, Err(LockError::LimitReached { limit: of, most: 2 }) if of == limit), "{third:?}");
    // After one wait has ended, another is allowed.
    let mut events = Events::of(&locks, &keys[1]).await;
    second.abort();
    events.until_waiting(0).await;
    waits(&locks, &keys[2], &owner, 1).await;
    let long = locks.lock(&keys[2], &lee()).within(MINUTE + Duration::from_millis(1)).await;
    let limit = Limit::LongestWait;
    assert!(matches!(long, Err(LockError::LimitReached { limit: of, most: 60_000 }) if of == limit), "{long:?}");
}

/// Near its limit an owner is counted for each request, one request after the other.
pub async fn wait_behind_its_owners_requests_ends_at_its_deadline(t: &TestDb) {
    const WAIT: Duration = Duration::from_millis(300);
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
        let asked = Instant::now();
        match locks.lock(&key(), &kim).within(WAIT).await {
            Ok(lease) => locks.release_lock(lease.id()).await.unwrap(),
            Err(LockError::LockTimeout { .. }) => {
                behind += 1;
                let over = asked.elapsed() - WAIT;
                println!("overshoot {over:?}");
                // An answer has a second after the deadline, and the holder's name another one.
                assert!(over < Duration::from_millis(2_500), "{over:?} after {WAIT:?}");
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(behind > 0, "the first request kept no other one waiting");
    tx.rollback().await.unwrap();
    drop(first.await.unwrap());
    elsewhere.close().await;
}

pub async fn closing_returns_while_a_transaction_is_open(t: &TestDb) {
    let process = t.another_process().await;
    let (orders, no) = (Repository::<Order>::new(&process), random());
    let mut tx = process.begin().await.unwrap();
    orders.insert(&mut tx, Order::new(&no)).await.unwrap();
    let asked = Instant::now();
    tokio::time::timeout(MINUTE, process.close()).await.expect("it returns");
    println!("overshoot {:?}", asked.elapsed().saturating_sub(Duration::from_secs(5)));
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    // What had begun may end.
    tx.commit().await.unwrap();
    assert_eq!(t.stored(&no).await.1, Version::FIRST);
    assert!(process.begin().await.is_err());
}

//! Locks that are requested while a transaction is open.

use std::time::{Duration, Instant};

use tenure::{
    Database, LockId, LockKey, LockManager, Owner,
    error::{LeaseError, LockError},
    lease::LeaseLossReason,
};
use tokio::task::JoinSet;

use crate::conformance::order::Order;
use crate::conformance::support::{MINUTE, TTL, TestDb, key, kim, lee, version};

/// Row 13: the row of a lock that was acquired inside a longer transaction delays a try for that time.
pub async fn try_during_a_releasing_save_returns_at_once(t: &TestDb) {
    let key = key();
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    t.locks.guard(&mut tx, lease.id()).await.unwrap();
    t.locks.release_within(&mut tx, lease.id()).await.unwrap();
    let elsewhere = LockManager::new(&t.another_process().await);
    let asked = Instant::now();
    for locks in [&t.locks, &elsewhere] {
        let refused = locks.try_lock(&key, &lee()).await;
        assert!(matches!(&refused, Err(LockError::AlreadyLocked(holder)) if holder.owner == kim()), "{refused:?}");
        assert_eq!(locks.check_lock(lease.id()).await.unwrap().holder().remaining, TTL);
    }
    // Generous, because the machine may be busy; a wait for the transaction would never end.
    assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    tx.rollback().await.unwrap();
    assert!(t.locks.check_lock(lease.id()).await.is_ok());
}

/// Row 14: a unique violation inside the caller's transaction makes all of it unusable.
pub async fn a_refused_lock_leaves_the_transaction_usable(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    let held = t.locks.try_lock(&key, &lee()).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    let mut order = t.find(&mut tx, &no).await;
    assert!(matches!(t.locks.try_lock(&key, &kim()).await, Err(LockError::AlreadyLocked(_))));
    let nothing = LockId::random();
    for refused in [t.locks.guard(&mut tx, &nothing).await.map(drop), t.locks.release_within(&mut tx, &nothing).await] {
        assert!(matches!(&refused, Err(LeaseError::NoLock(no)) if no.why == LeaseLossReason::Unknown), "{refused:?}");
    }
    let thief = t.locks.acting_for(&kim());
    assert!(
        matches!(thief.guard(&mut tx, held.id()).await, Err(LeaseError::NoLock(no)) if no.why == LeaseLossReason::NotYours)
    );
    order.send_to("saved all the same").unwrap();
    t.orders.save(&mut tx, &mut order).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(t.stored(&no).await.1, version(2));
}

async fn everything(locks: &LockManager) {
    let person = Owner::new("kim", "Kim Minji");
    let (one, two) = (locks.try_lock(&key(), &person).await.unwrap(), locks.try_lock(&key(), &person).await.unwrap());
    locks.check_lock(one.id()).await.unwrap();
    locks.keep_alive(&[one.id().clone()]).await.unwrap().remove(0).unwrap();
    // An ended one needs a reason, which takes longer than the others.
    let kept = locks.keep_alive(&[one.id().clone(), LockId::random(), two.id().clone()]).await.unwrap();
    assert_eq!(kept.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    assert!(matches!(locks.try_lock(&one.holder().key, &lee()).await, Err(LockError::AlreadyLocked(_))));
    locks.extend_lock_expiration(one.id(), MINUTE).await.unwrap();
    locks.expire_within(one.id(), MINUTE).await.unwrap();
    locks.release_lock(one.id()).await.unwrap();
    assert!(locks.release_lock(one.id()).await.is_err());
    locks.break_lock(&two.holder().key, two.holder().generation, &lee(), "stuck").await.unwrap();
}

/// All connections of a pool, each with a transaction that has done something.
async fn busy(t: &TestDb, process: &Database, connections: u32) -> Vec<tenure::Transaction> {
    let mut all = Vec::new();
    for _ in 0..connections {
        let no = t.order().await;
        let mut tx = process.begin().await.unwrap();
        t.find(&mut tx, &no).await;
        all.push(tx);
    }
    all
}

/// Row 27: a client that holds a connection and requests a lock needs a second one; a pool of as many connections as requests
/// then deadlocks. And leases expire because all connections are busy.
pub async fn locks_work_while_requests_hold_every_connection(t: &TestDb) {
    const REQUESTS: u32 = 2;
    if t.has_one_writer() {
        return try_waits_for_one_writer_and_is_not_refused(t).await;
    }
    let process = t.another_process_with(REQUESTS).await;
    let held = busy(t, &process, REQUESTS).await;
    let (locks, asked) = (LockManager::new(&process), Instant::now());
    let mut requests = JoinSet::new();
    for _ in 0..REQUESTS * 2 {
        let locks = locks.clone();
        requests.spawn(async move { everything(&locks).await });
    }
    requests.join_all().await;
    // Each iteration is bounded: far below the wait for a connection.
    assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    for tx in held {
        tx.commit().await.unwrap();
    }
}

/// SQLite's guarantee instead: reads do not wait, and a heartbeat waits for its turn, within its budget.
async fn try_waits_for_one_writer_and_is_not_refused(t: &TestDb) {
    let lease = t.locks.try_lock(&key(), &kim()).await.unwrap();
    let held = busy(t, &t.db, 1).await;
    assert!(matches!(t.locks.try_lock(&lease.holder().key, &lee()).await, Err(LockError::AlreadyLocked(_))));
    t.locks.check_lock(lease.id()).await.unwrap();
    let (locks, id) = (t.locks.clone(), lease.id().clone());
    let mut beat = tokio::spawn(async move { locks.keep_alive(&[id.clone(), id]).await });
    let early = tokio::time::timeout(Duration::from_millis(150), &mut beat).await;
    assert!(early.is_err(), "{early:?}");
    for tx in held {
        tx.commit().await.unwrap();
    }
    for kept in beat.await.unwrap().unwrap() {
        assert_eq!(kept.unwrap().holder().remaining, TTL);
    }
    everything(&t.locks).await;
}

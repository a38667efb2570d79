//! Leases with automatic heartbeats, for jobs.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tenure::{
    Error, LockKey, LockManager, LockPolicy, Version,
    error::{DatabaseError, LeaseError, LeaseLost, LockError, UpdateError},
    lease::LeaseLossReason,
    lock_manager::LeaseGuard,
};

use super::order::Order;
use super::support::{TestDb, kim, lee};

const LONG: Duration = Duration::from_secs(60);

/// Heartbeats every two seconds, and so long that a busy machine does not end a lease.
const TTL: Duration = Duration::from_secs(10);

fn for_jobs(db: &tenure::Database) -> LockManager {
    LockManager::new(db).with_policy("Order", LockPolicy::exclusive().ttl(TTL).unwrap())
}

async fn held(t: &TestDb) -> (LockManager, LockKey, String, LeaseGuard) {
    let (locks, no) = (for_jobs(&t.db), t.order().await);
    let key = LockKey::of::<Order>(&no);
    let guard = locks.hold(&key, &kim()).await.unwrap();
    (locks, key, no, guard)
}

fn why(lost: LeaseLost) -> LeaseLossReason {
    match lost {
        LeaseLost::Ended(no_lock) => no_lock.why,
        other => panic!("{other:?}"),
    }
}

pub async fn guard_keeps_its_lease_alive_beyond_the_ttl(t: &TestDb) {
    let (locks, key, no, guard) = held(t).await;
    for _ in 0..2 {
        t.clock.advance(TTL - Duration::from_millis(1));
        // Until a heartbeat came.
        while locks.holders(&key).await.unwrap()[0].remaining < TTL {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    assert_eq!(guard.check().map_err(|lost| lost.to_string()), Ok(()));
    assert_eq!((guard.key(), guard.holder().generation), (&key, 1));
    t.orders.update(&no).by(&kim()).holding(guard.lock_id()).run(Order::ship).await.unwrap();
    assert!(matches!(locks.try_lock(&key, &lee()).await, Err(LockError::AlreadyLocked(_))));
}

pub async fn work_under_a_guard_returns_its_result(t: &TestDb) {
    let (locks, key, _, guard) = held(t).await;
    let done = guard
        .run(async {
            tokio::task::yield_now().await;
            7
        })
        .await;
    assert_eq!(done.unwrap(), 7);
    guard.release().await.unwrap();
    locks.try_lock(&key, &lee()).await.unwrap();
}

pub async fn broken_lease_cancels_the_work_and_names_the_reason(t: &TestDb) {
    let (locks, key, no, guard) = held(t).await;
    let dropped = Arc::new(AtomicBool::new(false));
    struct Dropped(Arc<AtomicBool>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let noted = Dropped(Arc::clone(&dropped));
    let work = async move {
        let _noted = noted;
        pending::<()>().await
    };
    let breaking = async {
        locks.break_lock(&key, 1, &lee(), "the import is wrong").await.unwrap();
    };
    let (ran, ()) = tokio::join!(guard.run(work), breaking);
    let reason = why(ran.unwrap_err());
    assert!(matches!(&reason, LeaseLossReason::Broken { reason, .. } if reason == "the import is wrong"), "{reason:?}");
    assert!(dropped.load(Ordering::SeqCst));
    // A lost lease stays lost, and the work does not run.
    let polled = guard.run(async { panic!("it is polled") }).await;
    assert!(matches!(why(polled.unwrap_err()), LeaseLossReason::Broken { .. }));
    assert!(matches!(why(guard.lost().await), LeaseLossReason::Broken { .. }));
    // The successor's lease is not released by the guard.
    let next = locks.try_lock(&key, &lee()).await.unwrap();
    let late = t.orders.update(&no).by(&kim()).holding(guard.lock_id()).run(Order::ship).await;
    assert!(matches!(late, Err(UpdateError::Failed(Error::NoLock(_)))), "{late:?}");
    assert!(matches!(guard.release().await, Err(LeaseError::NoLock(_))));
    locks.check_lock(next.id()).await.unwrap();
    assert_eq!(t.stored(&no).await.1, Version::FIRST);
}

pub async fn expired_lease_of_a_paused_job_is_lost(t: &TestDb) {
    let (locks, key, _, guard) = held(t).await;
    // As after a pause: the database's clock has advanced.
    t.clock.advance(TTL);
    match locks.try_lock(&key, &lee()).await {
        Ok(next) => {
            assert!(matches!(why(guard.lost().await), LeaseLossReason::Expired { .. }));
            assert!(guard.check().is_err());
            assert_eq!(next.holder().generation, 2);
        }
        // A heartbeat was first, and keeps the lease.
        Err(LockError::AlreadyLocked(holder)) => {
            assert_eq!((holder.owner, holder.generation, guard.check().is_ok()), (kim(), 1, true));
        }
        Err(other) => panic!("{other}"),
    }
}

pub async fn lease_is_lost_before_its_ttl_if_no_heartbeat_is_answered(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    let db = t.another_process().await;
    let ttl = LockPolicy::SHORTEST_TTL;
    let locks = LockManager::new(&db).with_policy("Order", LockPolicy::exclusive().ttl(ttl).unwrap());
    let guard = locks.hold(&key, &kim()).await.unwrap();
    let granted = Instant::now();
    let work = async {
        db.close().await;
        pending::<()>().await
    };
    let lost = tokio::select! {
        // Both are timers of this process, so a busy machine does not change their order.
        biased;
        ran = guard.run(work) => ran.unwrap_err(),
        () = tokio::time::sleep_until((granted + ttl).into()) => panic!("it is still relied upon"),
    };
    let LeaseLost::Unconfirmed { key: of, cause } = &lost else { panic!("{lost:?}") };
    assert_eq!(of, &key);
    assert!(matches!(cause, Some(DatabaseError::Closed)), "{lost}");
    assert!(!lost.is_retryable());
    // In the database it is still held.
    assert!(matches!(t.locks.try_lock(&key, &lee()).await, Err(LockError::AlreadyLocked(_))));
}

pub async fn dropped_guard_releases_its_lease(t: &TestDb) {
    let (locks, key, _, guard) = held(t).await;
    drop(guard);
    locks.lock(&key, &lee()).within(LONG).await.unwrap();
    let (locks, key, _, guard) = held(t).await;
    let panicking = tokio::spawn(async move { guard.run(async { panic!("the job's own mistake") }).await });
    assert!(panicking.await.unwrap_err().is_panic());
    locks.lock(&key, &lee()).within(LONG).await.unwrap();
    let (locks, key, _, guard) = held(t).await;
    // A release that is dropped half-way.
    let _ = tokio::time::timeout(Duration::ZERO, guard.release()).await;
    locks.lock(&key, &lee()).within(LONG).await.unwrap();
}

pub async fn guard_waits_for_its_turn_only_if_it_says_so(t: &TestDb) {
    let (locks, key, _, first) = held(t).await;
    let refused = locks.hold(&key, &lee()).await;
    assert!(matches!(&refused, Err(LockError::AlreadyLocked(holder)) if holder.owner == kim()), "{refused:?}");
    let refused = locks.hold(&key, &lee()).within(Duration::from_millis(300)).await;
    assert!(matches!(refused, Err(LockError::LockTimeout { .. })), "{refused:?}");
    let (second, released) = tokio::join!(async { locks.hold(&key, &lee()).within(LONG).await }, first.release());
    released.unwrap();
    let second = second.unwrap();
    assert_eq!((second.holder().generation, second.check().is_ok()), (2, true));
}

//! Alive is not active.

use std::time::Duration;

use tenure::{
    Lease, LockId, LockKey, LockPolicy,
    error::{LeaseError, LockError},
    lease::{Heartbeat, LeaseLossReason, NoLock, Presence},
};

use super::order::Order;
use super::support::{MINUTE, TTL, TestDb, key, kim, lee, version};

async fn beat(t: &TestDb, id: &LockId, idle: Duration) -> Result<Lease, NoLock> {
    t.locks.keep_alive_with(&[Heartbeat::idle(id.clone(), idle)]).await.unwrap().remove(0)
}

/// Locks with an idle limit of ten minutes.
fn ten_minutes(t: &TestDb) -> tenure::LockManager {
    t.locks.clone().with_policy("Order", LockPolicy::exclusive().idle_limit(10 * MINUTE).unwrap())
}

pub async fn holder_distinguishes_last_heartbeat_from_last_input(t: &TestDb) {
    let lease = t.locks.try_lock(&key(), &kim()).await.unwrap();
    let taken = t.clock.now();
    assert_eq!(
        (lease.holder().last_input, lease.holder().idle, lease.holder().silent, lease.holder().ttl),
        (taken, Duration::ZERO, Duration::ZERO, TTL)
    );
    t.clock.advance(4 * MINUTE);
    let kept = beat(t, lease.id(), 3 * MINUTE).await.unwrap();
    assert_eq!((kept.holder().last_active, kept.holder().last_input), (t.clock.now(), taken + MINUTE));
    t.clock.advance(Duration::from_secs(10));
    // In a batch a heartbeat has the same effect.
    let second = t.locks.try_lock(&key(), &lee()).await.unwrap();
    let beats = [Heartbeat::idle(lease.id().clone(), 2 * MINUTE), Heartbeat::active(second.id().clone())];
    let kept: Vec<Lease> = t.locks.keep_alive_with(&beats).await.unwrap().into_iter().map(Result::unwrap).collect();
    assert_eq!((kept[0].holder().idle, kept[0].holder().silent), (2 * MINUTE, Duration::ZERO));
    assert_eq!(kept[1].holder().last_input, t.clock.now());
    t.clock.advance(Duration::from_secs(5));
    let seen = &t.locks.holders(&lease.holder().key).await.unwrap()[0];
    assert_eq!((seen.idle, seen.silent), (2 * MINUTE + Duration::from_secs(5), Duration::from_secs(5)));
}

pub async fn later_heartbeat_keeps_reported_input(t: &TestDb) {
    let lease = t.locks.try_lock(&key(), &kim()).await.unwrap();
    t.clock.advance(MINUTE);
    beat(t, lease.id(), Duration::ZERO).await.unwrap();
    let input = t.clock.now();
    // A reloaded script, which knows of no input yet.
    assert_eq!(beat(t, lease.id(), Duration::MAX).await.unwrap().holder().last_input, input);
    t.clock.advance(MINUTE);
    assert_eq!(t.locks.extend_lock_expiration(lease.id(), MINUTE).await.unwrap().holder().last_input, t.clock.now());
}

pub async fn forgotten_tab_is_idle_and_silent_one_unreachable(t: &TestDb) {
    let key = key();
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    for minute in 1..=5 {
        assert_eq!(t.locks.holders(&key).await.unwrap()[0].presence(), Presence::Active);
        t.clock.advance(MINUTE);
        beat(t, lease.id(), minute * MINUTE).await.unwrap();
    }
    let Err(LockError::AlreadyLocked(holder)) = t.locks.try_lock(&key, &lee()).await else { panic!("granted twice") };
    assert_eq!(holder.presence(), Presence::Idle);
    t.clock.advance(Duration::from_secs(151));
    assert_eq!(t.locks.holders(&key).await.unwrap()[0].presence(), Presence::Unreachable);
    t.locks.keep_alive(&[lease.id().clone()]).await.unwrap().remove(0).unwrap();
    assert_eq!(t.locks.holders(&key).await.unwrap()[0].presence(), Presence::Active);
}

pub async fn forgotten_tab_loses_the_lock_at_the_idle_limit(t: &TestDb) {
    let (locks, key) = (ten_minutes(t), key());
    let lease = locks.try_lock(&key, &kim()).await.unwrap();
    for minute in 1..=9 {
        t.clock.advance(MINUTE);
        let left = beat(t, lease.id(), minute * MINUTE).await.unwrap().holder().remaining;
        assert_eq!(left, TTL.min((10 - minute) * MINUTE), "after {minute} minutes");
    }
    t.clock.advance(MINUTE);
    let at = t.clock.now();
    assert_eq!(beat(t, lease.id(), 10 * MINUTE).await.unwrap_err().why, LeaseLossReason::IdleLimitReached { at });
    // Also if another owner holds the lock now.
    t.clock.advance(MINUTE);
    assert_eq!(locks.try_lock(&key, &lee()).await.unwrap().holder().generation, 2);
    let Err(LeaseError::NoLock(lost)) = locks.check_lock(lease.id()).await else { panic!("two hold it") };
    assert_eq!((lost.why, lost.held_now.unwrap().owner), (LeaseLossReason::IdleLimitReached { at }, lee()));
}

pub async fn input_extends_the_lease_beyond_the_idle_limit(t: &TestDb) {
    let (locks, key) = (ten_minutes(t), key());
    let lease = locks.try_lock(&key, &kim()).await.unwrap();
    for _ in 0..30 {
        t.clock.advance(MINUTE);
        assert_eq!(beat(t, lease.id(), MINUTE / 2).await.unwrap().holder().remaining, TTL);
    }
    // A silently closed tab does not reach the idle limit.
    t.clock.advance(TTL);
    let at = t.clock.now();
    let Err(LeaseError::NoLock(lost)) = locks.check_lock(lease.id()).await else { panic!("it lives on") };
    assert_eq!(lost.why, LeaseLossReason::Expired { at });
}

pub async fn returning_holder_resumes_after_the_idle_limit(t: &TestDb) {
    let (locks, no) = (ten_minutes(t), t.order().await);
    let lease = locks.try_lock(&LockKey::of::<Order>(&no), &kim()).await.unwrap();
    for minute in 1..=9 {
        t.clock.advance(MINUTE);
        beat(t, lease.id(), minute * MINUTE).await.unwrap();
    }
    t.clock.advance(2 * MINUTE);
    let resumed = locks.resume(&t.orders, &no, lease.id(), version(1)).await.unwrap();
    assert_eq!((resumed.holder().remaining, resumed.holder().idle), (TTL, Duration::ZERO));
}

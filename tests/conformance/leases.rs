//! The life cycle of a lease.

use std::time::Duration;

use tenure::{
    Lease, LockId, LockPolicy,
    error::{BreakError, LeaseError, LockError},
    lease::{InvalidReason, LeaseLossReason, NoLock},
};

use super::support::{MINUTE, TTL, TestDb, key, kim, lee};

fn no_lock<T: std::fmt::Debug>(answer: Result<T, LeaseError>) -> NoLock {
    match answer {
        Err(LeaseError::NoLock(no_lock)) => no_lock,
        other => panic!("expected NoLock, found {other:?}"),
    }
}

async fn beat(t: &TestDb, id: &LockId) -> Result<Lease, NoLock> {
    t.locks.keep_alive(std::slice::from_ref(id)).await.unwrap().remove(0)
}

pub async fn next_owner_acquires_an_expired_lease_and_holder_learns(t: &TestDb) {
    let key = key();
    let first = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.clock.advance(TTL - Duration::from_millis(1));
    assert!(matches!(t.locks.try_lock(&key, &lee()).await, Err(LockError::AlreadyLocked(_))));
    t.clock.advance(Duration::from_millis(1));
    let expired_at = t.clock.now();
    let second = t.locks.try_lock(&key, &lee()).await.unwrap();
    assert_eq!(second.holder().generation, 2);
    let lost = no_lock(t.locks.check_lock(first.id()).await);
    assert_eq!(lost.why, LeaseLossReason::Expired { at: expired_at });
    assert_eq!(lost.held_now.map(|holder| (holder.owner, holder.generation)), Some((lee(), 2)));
}

pub async fn heartbeat_does_not_revive_an_expired_lease(t: &TestDb) {
    let lease = t.locks.try_lock(&key(), &kim()).await.unwrap();
    t.clock.advance(TTL);
    let lost = beat(t, lease.id()).await.unwrap_err();
    assert_eq!((lost.why, lost.held_now), (LeaseLossReason::Expired { at: t.clock.now() }, None));
    assert!(matches!(
        no_lock(t.locks.extend_lock_expiration(lease.id(), TTL).await).why,
        LeaseLossReason::Expired { .. }
    ));
}

pub async fn heartbeats_set_the_expiry_and_do_not_pile_up(t: &TestDb) {
    let lease = t.locks.try_lock(&key(), &kim()).await.unwrap();
    for _ in 0..60 {
        t.clock.advance(MINUTE);
        assert_eq!(beat(t, lease.id()).await.unwrap().holder().remaining, TTL);
    }
}

pub async fn a_late_heartbeat_costs_nothing(t: &TestDb) {
    let lease = t.locks.try_lock(&key(), &kim()).await.unwrap();
    t.clock.advance(TTL - Duration::from_secs(1));
    let kept = beat(t, lease.id()).await.unwrap();
    assert_eq!((kept.holder().remaining, kept.holder().generation, kept.holder().last_active), (TTL, 1, t.clock.now()));
}

pub async fn extending_adds_to_the_expiry_but_not_beyond_the_ttl(t: &TestDb) {
    let lease = t.locks.try_lock(&key(), &kim()).await.unwrap();
    t.clock.advance(2 * MINUTE);
    let extended = t.locks.extend_lock_expiration(lease.id(), MINUTE).await.unwrap();
    assert_eq!(extended.holder().remaining, TTL - MINUTE);
    let extended = t.locks.extend_lock_expiration(lease.id(), 10 * MINUTE).await.unwrap();
    assert_eq!(extended.holder().remaining, TTL);
}

pub async fn extending_never_shortens(t: &TestDb) {
    let lease = t.locks.try_lock(&key(), &kim()).await.unwrap();
    assert_eq!(t.locks.extend_lock_expiration(lease.id(), Duration::ZERO).await.unwrap().holder().remaining, TTL);
    assert_eq!(t.locks.extend_lock_expiration(lease.id(), Duration::MAX).await.unwrap().holder().remaining, TTL);
}

pub async fn heartbeat_does_not_exceed_the_absolute_limit(t: &TestDb) {
    let policy = LockPolicy::exclusive().absolute_limit(TTL + MINUTE).unwrap();
    let locks = t.locks.clone().with_policy("Order", policy);
    let lease = locks.try_lock(&key(), &kim()).await.unwrap();
    t.clock.advance(4 * MINUTE);
    assert_eq!(beat(t, lease.id()).await.unwrap().holder().remaining, 2 * MINUTE);
    t.clock.advance(2 * MINUTE);
    let limit = LeaseLossReason::LimitReached { at: t.clock.now() };
    assert_eq!(beat(t, lease.id()).await.unwrap_err().why, limit);
    // The history has the same, once another owner holds the key.
    locks.try_lock(&lease.holder().key, &lee()).await.unwrap();
    assert_eq!(no_lock(t.locks.check_lock(lease.id()).await).why, limit);
}

pub async fn released_key_is_free_at_once_and_generation_rises(t: &TestDb) {
    let key = key();
    for generation in 1..=3 {
        let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
        assert_eq!(lease.holder().generation, generation);
        t.locks.release_lock(lease.id()).await.unwrap();
    }
}

pub async fn releasing_twice_says_released(t: &TestDb) {
    let lease = t.locks.try_lock(&key(), &kim()).await.unwrap();
    t.locks.release_lock(lease.id()).await.unwrap();
    assert_eq!(no_lock(t.locks.release_lock(lease.id()).await).why, LeaseLossReason::Released { at: t.clock.now() });
    assert_eq!(no_lock(t.locks.check_lock(lease.id()).await).why, LeaseLossReason::Released { at: t.clock.now() });
}

pub async fn a_late_release_does_not_free_the_successor(t: &TestDb) {
    let key = key();
    let first = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.clock.advance(TTL);
    let second = t.locks.try_lock(&key, &lee()).await.unwrap();
    assert!(matches!(no_lock(t.locks.release_lock(first.id()).await).why, LeaseLossReason::Expired { .. }));
    assert_eq!(t.locks.check_lock(second.id()).await.unwrap().holder().remaining, TTL);
}

pub async fn a_late_heartbeat_does_not_touch_the_successor(t: &TestDb) {
    let key = key();
    let first = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.clock.advance(TTL);
    let second = t.locks.try_lock(&key, &lee()).await.unwrap();
    t.clock.advance(MINUTE);
    assert!(beat(t, first.id()).await.is_err());
    no_lock(t.locks.extend_lock_expiration(first.id(), MINUTE).await);
    assert_eq!(t.locks.check_lock(second.id()).await.unwrap().holder().remaining, TTL - MINUTE);
}

pub async fn ended_lease_does_not_affect_others_in_a_heartbeat(t: &TestDb) {
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(t.locks.try_lock(&key(), &kim()).await.unwrap().id().clone());
    }
    t.locks.release_lock(&ids[1]).await.unwrap();
    t.clock.advance(MINUTE);
    let kept = t.locks.keep_alive(&ids).await.unwrap();
    let remaining: Vec<_> =
        kept.iter().map(|lease| lease.as_ref().ok().map(|lease| lease.holder().remaining)).collect();
    assert_eq!(remaining, [Some(TTL), None, Some(TTL)]);
}

pub async fn page_returning_within_the_grace_keeps_its_lease(t: &TestDb) {
    let lease = t.locks.try_lock(&key(), &kim()).await.unwrap();
    let grace = Duration::from_secs(10);
    assert_eq!(t.locks.expire_within(lease.id(), grace).await.unwrap().holder().remaining, grace);
    t.clock.advance(Duration::from_secs(9));
    let kept = beat(t, lease.id()).await.unwrap();
    assert_eq!((kept.holder().remaining, kept.holder().generation), (TTL, 1));
}

pub async fn page_not_returning_frees_the_key_after_the_grace(t: &TestDb) {
    let key = key();
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.locks.expire_within(lease.id(), Duration::from_secs(10)).await.unwrap();
    t.locks.expire_within(lease.id(), Duration::from_secs(60)).await.unwrap();
    t.clock.advance(Duration::from_secs(10));
    assert_eq!(t.locks.try_lock(&key, &lee()).await.unwrap().holder().generation, 2);
}

pub async fn break_names_its_author_and_reason_to_the_holder(t: &TestDb) {
    let key = key();
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let broken = t.locks.break_lock(&key, 1, &lee(), " on holiday ").await.unwrap();
    assert_eq!(broken.owner, kim());
    let broken = LeaseLossReason::Broken { by: lee(), at: t.clock.now(), reason: "on holiday".into() };
    assert_eq!(no_lock(t.locks.check_lock(lease.id()).await).why, broken);
    let next = t.locks.try_lock(&key, &lee()).await.unwrap();
    assert_eq!(next.holder().generation, 2);
    let lost = beat(t, lease.id()).await.unwrap_err();
    assert_eq!((lost.why, lost.held_now.map(|holder| holder.owner)), (broken, Some(lee())));
}

pub async fn late_break_hits_no_new_holder(t: &TestDb) {
    let key = key();
    t.locks.try_lock(&key, &kim()).await.unwrap();
    t.clock.advance(TTL);
    let second = t.locks.try_lock(&key, &lee()).await.unwrap();
    let refused = t.locks.break_lock(&key, 1, &lee(), "stuck").await;
    assert!(
        matches!(&refused, Err(BreakError::HolderChanged { held_now }) if held_now[0].generation == 2),
        "{refused:?}"
    );
    assert!(t.locks.check_lock(second.id()).await.is_ok());
}

pub async fn a_break_needs_a_reason(t: &TestDb) {
    let key = key();
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    assert!(matches!(
        t.locks.break_lock(&key, 1, &lee(), "  ").await,
        Err(BreakError::InvalidReason(InvalidReason::Empty))
    ));
    assert!(t.locks.check_lock(lease.id()).await.is_ok());
}

pub async fn foreign_lock_id_is_refused(t: &TestDb) {
    let lease = t.locks.try_lock(&key(), &kim()).await.unwrap();
    let thief = t.locks.acting_for(&lee());
    t.clock.advance(MINUTE);
    assert_eq!(no_lock(thief.check_lock(lease.id()).await).why, LeaseLossReason::NotYours);
    assert_eq!(no_lock(thief.release_lock(lease.id()).await).why, LeaseLossReason::NotYours);
    assert_eq!(no_lock(thief.extend_lock_expiration(lease.id(), MINUTE).await).why, LeaseLossReason::NotYours);
    assert_eq!(
        thief.keep_alive(&[lease.id().clone()]).await.unwrap()[0].as_ref().unwrap_err().why,
        LeaseLossReason::NotYours
    );
    assert_eq!(t.locks.acting_for(&kim()).check_lock(lease.id()).await.unwrap().holder().remaining, TTL - MINUTE);
    t.locks.release_lock(lease.id()).await.unwrap();
    assert_eq!(no_lock(thief.check_lock(lease.id()).await).why, LeaseLossReason::NotYours);
}

pub async fn an_unknown_lock_id_is_unknown(t: &TestDb) {
    let nobody = LockId::random();
    assert_eq!(
        no_lock(t.locks.check_lock(&nobody).await),
        NoLock { key: None, why: LeaseLossReason::Unknown, held_now: None }
    );
    assert_eq!(no_lock(t.locks.release_lock(&nobody).await).why, LeaseLossReason::Unknown);
    assert_eq!(beat(t, &nobody).await.unwrap_err().why, LeaseLossReason::Unknown);
}

//! Taking over a lease, and releasing all leases of an owner.

use std::sync::Arc;

use tenure::{
    Lease, LockId, LockKey, LockManager, Owner,
    error::{LeaseError, LockError, TakeOverError},
    lease::{Holder, InvalidReason, LeaseLossReason},
};
use tokio::sync::Barrier;

use super::support::{MINUTE, TTL, TestDb, key, kim, lee, random};

/// Locks that everybody may take over.
fn open(t: &TestDb) -> LockManager {
    t.locks.clone().with_take_over_permission("Order", |_: &Owner, _: &Holder| true)
}

async fn why(t: &TestDb, lease: &Lease) -> LeaseLossReason {
    match t.locks.check_lock(lease.id()).await {
        Err(LeaseError::NoLock(no_lock)) => no_lock.why,
        other => panic!("expected NoLock, found {other:?}"),
    }
}

fn changed<T: std::fmt::Debug>(answer: &Result<T, TakeOverError>) -> Vec<(Owner, i64)> {
    match answer {
        Err(TakeOverError::HolderChanged { held_now }) => {
            held_now.iter().map(|holder| (holder.owner.clone(), holder.generation)).collect()
        }
        other => panic!("expected HolderChanged, found {other:?}"),
    }
}

pub async fn takeover_raises_generation_and_informs_the_old_holder(t: &TestDb) {
    let key = key();
    let old = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.clock.advance(MINUTE);
    let new = open(t).take_over(&key, 1, &lee(), LockId::random(), " on holiday ").await.unwrap();
    assert_eq!(
        (new.holder().generation, new.holder().remaining, new.holder().since, &new.holder().owner),
        (2, TTL, t.clock.now(), &lee())
    );
    let taken = LeaseLossReason::TakenOver { by: lee(), at: t.clock.now(), reason: "on holiday".into() };
    assert_eq!(why(t, &old).await, taken);
    let beat = t.locks.keep_alive(&[old.id().clone(), new.id().clone()]).await.unwrap();
    assert_eq!(beat[0].as_ref().unwrap_err().held_now.as_ref().map(|holder| holder.generation), Some(2));
    assert_eq!(beat[1].as_ref().unwrap().holder().generation, 2);
    let again = t.locks.try_lock_as(&key, &kim(), old.id().clone()).await;
    assert!(matches!(again, Err(LockError::AlreadyLocked(holder)) if holder.owner == lee()));
}

pub async fn takeover_without_permission_moves_only_own_locks(t: &TestDb) {
    let key = key();
    let first = t.locks.try_lock(&key, &kim()).await.unwrap();
    let refused = t.locks.take_over(&key, 1, &lee(), LockId::random(), "mine now").await;
    assert!(matches!(&refused, Err(TakeOverError::NotPermitted(holder)) if holder.owner == kim()), "{refused:?}");
    assert!(t.locks.check_lock(first.id()).await.is_ok());
    let second = t.locks.take_over(&key, 1, &kim(), LockId::random(), "another tab").await.unwrap();
    assert_eq!(second.holder().generation, 2);
    assert!(matches!(why(t, &first).await, LeaseLossReason::TakenOver { by, .. } if by == kim()));
    // The rule gets the holder of that generation.
    let (kims, lees) = (kim(), lee());
    let rule = move |by: &Owner, holder: &Holder| *by == lees && holder.owner == kims && holder.generation == 2;
    let ruled = t.locks.clone().with_take_over_permission("Order", rule);
    assert_eq!(ruled.take_over(&key, 2, &lee(), LockId::random(), "agreed").await.unwrap().holder().generation, 3);
    let back = ruled.take_over(&key, 3, &kim(), LockId::random(), "no").await;
    assert!(matches!(back, Err(TakeOverError::NotPermitted(_))), "{back:?}");
}

pub async fn late_takeover_hits_no_new_holder(t: &TestDb) {
    let (key, locks) = (key(), open(t));
    t.locks.try_lock(&key, &kim()).await.unwrap();
    t.clock.advance(TTL);
    assert_eq!(changed(&locks.take_over(&key, 1, &lee(), LockId::random(), "late").await), []);
    let second = t.locks.try_lock(&key, &kim()).await.unwrap();
    assert_eq!(changed(&locks.take_over(&key, 1, &lee(), LockId::random(), "late").await), [(kim(), 2)]);
    assert!(t.locks.check_lock(second.id()).await.is_ok());
}

pub async fn a_takeover_needs_a_reason_and_an_exclusive_lock(t: &TestDb) {
    let (key, locks) = (key(), open(t));
    t.locks.try_lock(&key, &kim()).await.unwrap();
    let silent = locks.take_over(&key, 1, &lee(), LockId::random(), " ").await;
    assert!(matches!(silent, Err(TakeOverError::InvalidReason(InvalidReason::Empty))));
    let note = LockKey::new("Note", random());
    t.locks.try_lock(&note, &kim()).await.unwrap();
    let advisory = locks.take_over(&note, 1, &kim(), LockId::random(), "other tab").await;
    assert!(matches!(advisory, Err(TakeOverError::Advisory { .. })));
}

pub async fn takeover_is_idempotent_and_a_used_lock_id_gets_nothing(t: &TestDb) {
    let (key, locks, id) = (key(), open(t), LockId::random());
    let old = t.locks.try_lock(&key, &kim()).await.unwrap();
    for _ in 0..2 {
        assert_eq!(locks.take_over(&key, 1, &lee(), id.clone(), "once").await.unwrap().holder().generation, 2);
    }
    // The old lock id has ended, the other one holds another aggregate.
    let used = locks.take_over(&key, 2, &kim(), old.id().clone(), "back").await;
    assert!(
        matches!(&used, Err(TakeOverError::LockIdUsed(no)) if matches!(no.why, LeaseLossReason::TakenOver { .. })),
        "{used:?}"
    );
    let other = t.locks.try_lock(&super::support::key(), &kim()).await.unwrap();
    let used = locks.take_over(&key, 2, &kim(), other.id().clone(), "back").await;
    assert!(
        matches!(&used, Err(TakeOverError::LockIdUsed(no)) if no.why == LeaseLossReason::OtherAggregate),
        "{used:?}"
    );
    assert_eq!(t.locks.check_lock(&id).await.unwrap().holder().generation, 2);
}

pub async fn one_of_two_takeovers_wins_and_generation_rises_by_one(t: &TestDb) {
    for _ in 0..10 {
        let (key, barrier) = (key(), Arc::new(Barrier::new(2)));
        t.locks.try_lock(&key, &kim()).await.unwrap();
        let take = |by: Owner| {
            let (locks, key, meet) = (open(t), key.clone(), barrier.clone());
            tokio::spawn(async move {
                meet.wait().await;
                locks.take_over(&key, 1, &by, LockId::random(), "now").await
            })
        };
        let (one, two) = (take(lee()), take(Owner::new("park", "Park")));
        let outcomes = [one.await.unwrap(), two.await.unwrap()];
        let won: Vec<_> = outcomes.iter().filter_map(|taken| taken.as_ref().ok()).collect();
        let lost: Vec<_> = outcomes.iter().filter(|taken| taken.is_err()).collect();
        let ([won], [lost]) = (&won[..], &lost[..]) else { panic!("{outcomes:?}") };
        assert_eq!((won.holder().generation, changed(lost)), (2, vec![(won.holder().owner.clone(), 2)]));
    }
}

pub async fn a_takeover_and_a_release_at_once_end_the_lease_once(t: &TestDb) {
    for _ in 0..10 {
        let (key, barrier) = (key(), Arc::new(Barrier::new(2)));
        let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
        let (locks, meet, place) = (open(t), barrier.clone(), key.clone());
        let taking = tokio::spawn(async move {
            meet.wait().await;
            locks.take_over(&place, 1, &lee(), LockId::random(), "now").await
        });
        barrier.wait().await;
        let released = t.locks.release_lock(lease.id()).await;
        let taken = taking.await.unwrap();
        match (&released, &taken) {
            (Ok(()), Err(_)) => {
                assert_eq!(
                    (changed(&taken), why(t, &lease).await),
                    (vec![], LeaseLossReason::Released { at: t.clock.now() })
                );
            }
            (Err(LeaseError::NoLock(lost)), Ok(taken)) => {
                assert!(matches!(lost.why, LeaseLossReason::TakenOver { .. }), "{lost:?}");
                assert_eq!(t.locks.check_lock(taken.id()).await.unwrap().holder().generation, 2);
            }
            both => panic!("{both:?}"),
        }
    }
}

pub async fn release_all_releases_only_the_owners_locks(t: &TestDb) {
    let (leaver, other) = (Owner::new(random(), "Leaver"), Owner::new(random(), "Other"));
    let first = t.locks.try_lock(&key(), &leaver).await.unwrap();
    t.clock.advance(MINUTE);
    let note = t.locks.try_lock(&LockKey::new("Note", random()), &leaver).await.unwrap();
    let expired = t.locks.try_lock(&key(), &leaver).await.unwrap();
    let others = t.locks.try_lock(&key(), &other).await.unwrap();
    t.locks.expire_within(expired.id(), MINUTE).await.unwrap();
    t.clock.advance(MINUTE);
    let released = t.locks.release_all(&leaver.id).await.unwrap();
    let keys: Vec<_> = released.into_iter().map(|holder| holder.key).collect();
    assert_eq!(keys, [first.holder().key.clone(), note.holder().key.clone()]);
    for lease in [&first, &note] {
        assert_eq!(why(t, lease).await, LeaseLossReason::Released { at: t.clock.now() });
    }
    assert!(matches!(why(t, &expired).await, LeaseLossReason::Expired { .. }));
    assert!(t.locks.check_lock(others.id()).await.is_ok());
    assert_eq!(t.locks.release_all(&leaver.id).await.unwrap(), []);
    assert_eq!(t.locks.try_lock(&first.holder().key, &other).await.unwrap().holder().generation, 2);
}

pub async fn concurrent_release_all_and_heartbeats_never_deadlock(t: &TestDb) {
    for _ in 0..5 {
        let owner = Owner::new(random(), "Leaver");
        let mut ids = Vec::new();
        for _ in 0..12 {
            ids.push(t.locks.try_lock(&key(), &owner).await.unwrap().id().clone());
        }
        let barrier = Arc::new(Barrier::new(2));
        let (locks, meet) = (t.locks.clone(), barrier.clone());
        let beating = tokio::spawn(async move {
            meet.wait().await;
            locks.keep_alive(&ids).await
        });
        barrier.wait().await;
        assert_eq!(t.locks.release_all(&owner.id).await.unwrap().len(), 12);
        for beat in beating.await.unwrap().unwrap() {
            assert!(
                beat.is_ok() || matches!(&beat, Err(no) if matches!(no.why, LeaseLossReason::Released { .. })),
                "{beat:?}"
            );
        }
    }
}

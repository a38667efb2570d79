//! Batches with some invalid requests.

use std::time::Duration;

use tenure::{LockId, LockKey, Owner, error::LockError, lease::LeaseLossReason};
use tokio::task::JoinSet;

use crate::conformance::support::{MINUTE, TTL, TestDb, key, kim, lee, random};

pub async fn invalid_heartbeats_report_reasons_and_others_succeed(t: &TestDb) {
    const LEASES: usize = 1_000;
    let (run, owner) = (random(), Owner::new(random(), "Kim Minji"));
    // Near the limit the requests of one owner are counted one after the other. A few at a time end within their timeout.
    let mut taken = Vec::new();
    for few in (0..LEASES).collect::<Vec<_>>().chunks(20) {
        let mut taking = JoinSet::new();
        for &at in few {
            let (locks, key) = (t.locks.clone(), LockKey::new("Order", format!("{run}-{at}")));
            let owner = if at == 11 { lee() } else { owner.clone() };
            taking.spawn(async move { (at, locks.try_lock(&key, &owner).await.unwrap()) });
        }
        taken.extend(taking.join_all().await);
    }
    taken.sort_by_key(|(at, _)| *at);
    let mut ids: Vec<_> = taken.iter().map(|(_, lease)| lease.id().clone()).collect();
    t.locks.release_lock(&ids[3]).await.unwrap();
    t.locks.expire_within(&ids[500], Duration::ZERO).await.unwrap();
    t.locks.break_lock(&taken[998].1.holder().key, 1, &lee(), "stuck").await.unwrap();
    ids[700] = LockId::random();
    ids[999] = ids[0].clone();
    t.clock.advance(MINUTE);
    let kept = t.locks.acting_for(&owner).keep_alive(&ids).await.unwrap();
    assert_eq!(kept.len(), LEASES);
    for (at, (answer, id)) in kept.into_iter().zip(&ids).enumerate() {
        match (at, answer) {
            (3, Err(no)) => assert!(matches!(no.why, LeaseLossReason::Released { .. })),
            (11, Err(no)) => assert_eq!(no.why, LeaseLossReason::NotYours),
            (500, Err(no)) => assert!(matches!(no.why, LeaseLossReason::Expired { .. })),
            (700, Err(no)) => assert_eq!(no.why, LeaseLossReason::Unknown),
            (998, Err(no)) => assert!(matches!(no.why, LeaseLossReason::Broken { by, .. } if by == lee())),
            (_, Ok(lease)) => {
                assert_eq!((lease.id(), lease.holder().remaining, lease.holder().generation), (id, TTL, 1))
            }
            (at, answer) => panic!("{at}: {answer:?}"),
        }
    }
    assert_eq!(t.locks.check_lock(taken[11].1.id()).await.unwrap().holder().remaining, TTL - MINUTE);
}

pub async fn duplicate_lock_id_in_a_heartbeat_is_answered_twice(t: &TestDb) {
    let (one, two) = (t.locks.try_lock(&key(), &kim()).await.unwrap(), t.locks.try_lock(&key(), &kim()).await.unwrap());
    t.clock.advance(MINUTE);
    let ids = [&one, &two, &one, &one].map(|lease| lease.id().clone());
    let kept = t.locks.keep_alive(&ids).await.unwrap();
    for (kept, id) in kept.iter().zip(&ids) {
        let kept = kept.as_ref().unwrap();
        assert_eq!((kept.id(), kept.holder().remaining), (id, TTL));
    }
    let unknown = LockId::random();
    let none = t.locks.keep_alive(&[unknown.clone(), unknown]).await.unwrap();
    assert!(none.iter().all(|none| none.as_ref().is_err_and(|no| no.why == LeaseLossReason::Unknown)), "{none:?}");
    assert!(t.locks.keep_alive(&[]).await.unwrap().is_empty());
}

/// An invalid key, an invalid owner, and a lock id that holds another key, among valid requests.
pub async fn invalid_request_does_not_fail_its_batch(t: &TestDb) {
    let (run, taken) = (random(), t.locks.try_lock(&key(), &kim()).await.unwrap());
    let mut asking = JoinSet::new();
    for at in 0..60 {
        let (locks, run) = (t.locks.clone(), run.clone());
        let (used, lee) = (taken.id().clone(), Owner::new("lee", "Lee\u{1f490}"));
        asking.spawn(async move {
            let key = LockKey::new("Order", if at % 10 == 7 { "1\0".into() } else { format!("{run}-{at}") });
            let owner = if at % 10 == 8 { Owner::new("\0", "") } else { lee };
            let id = if at % 10 == 9 { used } else { LockId::random() };
            (at, locks.try_lock_as(&key, &owner, id).await)
        });
    }
    for (at, outcome) in asking.join_all().await {
        match (at % 10, outcome) {
            (7, Err(LockError::InvalidKey { .. })) | (8, Err(LockError::InvalidOwner(_))) => {}
            (9, Err(LockError::LockIdUsed(_))) => {}
            (0..7, Ok(lease)) => assert_eq!(lease.holder().generation, 1),
            (_, outcome) => panic!("{at}: {outcome:?}"),
        }
    }
    assert_eq!(t.locks.check_lock(taken.id()).await.unwrap().holder().generation, 1);
}

pub async fn dropped_caller_does_not_affect_its_batch(t: &TestDb) {
    for _ in 0..5 {
        let keys: Vec<_> = (0..40).map(|_| key()).collect();
        let mut asking = Vec::new();
        for key in &keys {
            let (locks, key) = (t.locks.clone(), key.clone());
            asking.push(tokio::spawn(async move { locks.try_lock(&key, &kim()).await }));
        }
        tokio::task::yield_now().await;
        for gone in asking.iter().step_by(3) {
            gone.abort();
        }
        for (at, asked) in asking.into_iter().enumerate() {
            match asked.await {
                Ok(lease) => assert_eq!(lease.unwrap().holder().generation, 1),
                Err(gone) => assert!(gone.is_cancelled() && at % 3 == 0, "{at}: {gone}"),
            }
        }
        // And the key is free for the next request.
        t.locks.try_lock(&key(), &lee()).await.unwrap();
    }
}

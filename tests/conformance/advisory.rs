//! Advisory types: everybody may edit, and sees the other holders.

use tenure::{LockKey, lease::LeaseLossReason};

use super::support::{TTL, TestDb, kim, lee, random};

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
        matches!(t.locks.check_lock(second.id()).await, Err(tenure::error::LeaseError::NoLock(lost)) if matches!(lost.why, LeaseLossReason::Expired { .. }))
    );
}

pub async fn breaking_an_advisory_lease_ends_that_one_only(t: &TestDb) {
    let note = note();
    t.locks.try_lock(&note, &kim()).await.unwrap();
    let second = t.locks.try_lock(&note, &lee()).await.unwrap();
    t.locks.break_lock(&note, second.holder().generation, &kim(), "left").await.unwrap();
    assert_eq!(t.locks.holders(&note).await.unwrap()[0].owner, kim());
}

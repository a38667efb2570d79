//! Invalid keys and owners.

use tenure::{
    Error, LockId, LockKey, LockMode, Owner,
    error::{BreakError, LeaseError, LockError, TakeOverError, UpdateError},
    lease::{Holder, InvalidReason, LONGEST_REASON, LeaseLossReason},
};

use crate::conformance::support::{TTL, TestDb, key, kim, lee, random};

pub async fn invalid_key_is_refused_by_name_and_never_held(t: &TestDb) {
    let long = "가".repeat(342);
    let bad = [
        LockKey::new("Order", ""),
        LockKey::new("", "1"),
        LockKey::new("Order", &long),
        LockKey::new("O".repeat(256), "1"),
        LockKey::new("Order", "1\0"),
        LockKey::new("\0", "1"),
        LockKey::new("Order", "x".repeat(1_000_000)),
    ];
    let locks = t.locks.clone().with_take_over_permission("Order", |_: &Owner, _: &Holder| true);
    for key in &bad {
        let refused = locks.try_lock(key, &kim()).await.unwrap_err();
        let LockError::InvalidKey { key: shown, problem } = &refused else { panic!("{refused:?}") };
        assert!(
            shown.chars().count() <= 60
                && !problem.is_empty()
                && refused.code() == tenure::error::ErrorCode::InvalidKey,
            "{refused}"
        );
        assert_eq!(locks.holders(key).await.unwrap(), []);
        let broken = locks.break_lock(key, 1, &lee(), "stuck").await;
        assert!(matches!(&broken, Err(BreakError::HolderChanged { held_now }) if held_now.is_empty()), "{broken:?}");
        let taken = locks.take_over(key, i64::MAX, &lee(), LockId::random(), "mine").await;
        assert!(matches!(&taken, Err(TakeOverError::HolderChanged { held_now }) if held_now.is_empty()), "{taken:?}");
    }
    let held = locks.try_lock(&crate::conformance::support::key(), &kim()).await.unwrap();
    let taken = locks.take_over(&held.holder().key, i64::MAX, &kim(), held.id().clone(), "mine").await;
    assert!(matches!(&taken, Err(TakeOverError::HolderChanged { held_now }) if held_now.len() == 1), "{taken:?}");
    // The longest valid ones.
    let longest = LockKey::new(random() + &"k".repeat(239), "가".repeat(341));
    assert_eq!(locks.try_lock(&longest, &kim()).await.unwrap().holder().key, longest);
}

pub async fn invalid_owner_is_refused_by_name_and_holds_nothing(t: &TestDb) {
    let held = t.locks.try_lock(&key(), &kim()).await.unwrap();
    let locks = t.locks.clone().with_take_over_permission("Order", |_: &Owner, _: &Holder| true);
    let bad = [
        Owner::new("", "Kim"),
        Owner::new("k".repeat(256), "Kim"),
        Owner::new("kim\0", "Kim"),
        Owner::new("kim", "K".repeat(256)),
        Owner::new("kim", "\0"),
        Owner::new("k".repeat(5_000_000), "Kim"),
    ];
    for owner in &bad {
        let refused = locks.try_lock(&key(), owner).await.unwrap_err();
        let LockError::InvalidOwner(invalid) = &refused else { panic!("{refused:?}") };
        assert!(
            invalid.owner.chars().count() <= 60
                && refused.code() == tenure::error::ErrorCode::InvalidOwner
                && !refused.is_retryable(),
            "{refused}"
        );
        let note = LockKey::new("Note", random());
        assert!(matches!(locks.try_lock(&note, owner).await, Err(LockError::InvalidOwner(_))));
        let taken = locks.take_over(&held.holder().key, 1, owner, LockId::random(), "mine").await;
        assert!(matches!(taken, Err(TakeOverError::InvalidOwner(_))), "{taken:?}");
        let broken = locks.break_lock(&held.holder().key, 1, owner, "stuck").await;
        assert!(matches!(broken, Err(BreakError::InvalidOwner(_))), "{broken:?}");
        if owner.id == kim().id {
            continue;
        }
        let theirs = locks.acting_for(owner);
        let refused = theirs.check_lock(held.id()).await;
        assert!(matches!(&refused, Err(LeaseError::NoLock(no)) if no.why == LeaseLossReason::NotYours), "{refused:?}");
        let beat = theirs.keep_alive(&[held.id().clone(), held.id().clone()]).await.unwrap();
        assert!(beat.iter().all(|beat| beat.as_ref().is_err_and(|no| no.why == LeaseLossReason::NotYours)), "{beat:?}");
        assert_eq!(locks.release_all(&owner.id).await.unwrap(), []);
    }
    assert_eq!(t.locks.check_lock(held.id()).await.unwrap().holder().remaining, TTL);
    let longest = Owner::new(random() + &"k".repeat(239), "가".repeat(255));
    assert_eq!(t.locks.try_lock(&key(), &longest).await.unwrap().holder().owner, longest);
    assert_eq!(t.locks.release_all(&longest.id).await.unwrap().len(), 1);
}

pub async fn a_reason_that_is_too_long_ends_no_lease(t: &TestDb) {
    let held = t.locks.try_lock(&key(), &kim()).await.unwrap();
    for reason in ["가".repeat(LONGEST_REASON + 1), "x".repeat(1_000_000)] {
        let broken = t.locks.break_lock(&held.holder().key, 1, &lee(), &reason).await;
        assert!(matches!(broken, Err(BreakError::InvalidReason(InvalidReason::TooLong))), "{broken:?}");
        let taken = t.locks.take_over(&held.holder().key, 1, &kim(), LockId::random(), &reason).await;
        assert!(matches!(taken, Err(TakeOverError::InvalidReason(InvalidReason::TooLong))), "{taken:?}");
    }
    let longest = "가".repeat(LONGEST_REASON);
    t.locks.break_lock(&held.holder().key, 1, &lee(), &longest).await.unwrap();
    let why = t.locks.check_lock(held.id()).await;
    assert!(
        matches!(&why, Err(LeaseError::NoLock(no)) if matches!(&no.why, LeaseLossReason::Broken { reason, .. } if *reason == longest))
    );
}

pub async fn an_id_with_nul_finds_nothing(t: &TestDb) {
    let id = random() + "\0";
    assert!(t.notes.get(&id).await.unwrap().is_none());
    for mode in [LockMode::None, LockMode::Optimistic, LockMode::PessimisticRead, LockMode::PessimisticWrite] {
        let mut tx = t.db.begin().await.unwrap();
        assert!(t.notes.find(&mut tx, &id, mode).await.unwrap().is_none(), "{mode:?}");
        tx.commit().await.unwrap();
    }
    let updated = t.notes.update(&id).run(|_| Ok::<_, std::convert::Infallible>(())).await;
    assert!(matches!(&updated, Err(UpdateError::Failed(Error::NotFound { .. }))), "{updated:?}");
}

//! Visibility of people to each other, if a policy hides them.

use std::fmt::Debug;

use tenure::{
    Error, LockId, LockKey, LockManager, LockPolicy, Owner,
    error::{BreakError, LeaseError, LockError, TakeOverError, UpdateError},
    lease::{Holder, LeaseLossReason, NoLock, ShowOwner},
};

use super::order::Order;
use super::support::{TTL, TestDb, key, version};

fn secret() -> Owner {
    Owner::new("secret-id", "Secret Name").in_role("Warehouse")
}

fn hidden() -> Owner {
    Owner::new("hidden-id", "Hidden Name").in_role("Accounting")
}

fn showing(t: &TestDb, shown: ShowOwner) -> LockManager {
    let anybody = |_: &Owner, holder: &Holder| !holder.owner.is_hidden();
    let policy = LockPolicy::exclusive().showing(shown);
    t.locks.clone().with_policy("Order", policy).with_take_over_permission("Order", anybody)
}

/// A response to one person does not contain the identity of the others.
fn says_nothing(of: impl Debug) {
    let said = format!("{of:?}");
    assert!(!said.contains("secret-id") && !said.contains("Secret Name"), "{said}");
}

fn told(why: &LeaseLossReason) -> &Owner {
    match why {
        LeaseLossReason::Broken { by, .. } | LeaseLossReason::TakenOver { by, .. } => by,
        other => panic!("{other:?}"),
    }
}

async fn lost(locks: &LockManager, id: &LockId) -> NoLock {
    match locks.check_lock(id).await {
        Err(LeaseError::NoLock(no_lock)) => no_lock,
        other => panic!("{other:?}"),
    }
}

pub async fn a_role_is_shown_in_the_place_of_a_name(t: &TestDb) {
    let (locks, key) = (showing(t, ShowOwner::ByRole), key());
    locks.try_lock(&key, &secret()).await.unwrap();
    let Err(LockError::AlreadyLocked(holder)) = locks.try_lock(&key, &hidden()).await else { panic!("granted twice") };
    assert_eq!((&*holder.owner.name, holder.owner.is_hidden()), ("Warehouse", true));
    says_nothing(&holder);
    let stranger = Owner::new("lee", "Lee");
    locks.try_lock(&super::support::key(), &stranger).await.unwrap();
    assert_eq!(locks.acting_for(&secret()).holders(&key).await.unwrap()[0].owner, secret());
}

pub async fn anonymous_holder_is_visible_to_self_and_operator_only(t: &TestDb) {
    let (locks, no) = (showing(t, ShowOwner::Anonymous), t.order().await);
    let key = LockKey::of::<Order>(&no);
    let before = locks.try_lock(&key, &hidden()).await.unwrap();
    t.clock.advance(TTL);
    let lease = locks.try_lock(&key, &secret()).await.unwrap();
    assert_eq!(lease.holder().owner, secret());
    let refused = locks.try_lock(&key, &hidden()).await.unwrap_err();
    says_nothing(&refused);
    assert!(refused.to_string().contains("somebody"), "{refused}");
    says_nothing(locks.holders(&key).await.unwrap());
    let late = lost(&locks.acting_for(&hidden()), before.id()).await;
    assert_eq!(late.held_now.as_ref().map(|holder| holder.generation), Some(2));
    says_nothing(&late);
    says_nothing(locks.keep_alive(&[before.id().clone()]).await.unwrap());
    says_nothing(locks.release_lock(before.id()).await.unwrap_err());
    says_nothing(locks.try_lock_as(&key, &hidden(), before.id().clone()).await.unwrap_err());
    says_nothing(locks.resume(&t.orders, &no, before.id(), version(1)).await.unwrap_err());
    for update in [t.orders.update(&no).unless_locked(), t.orders.update(&no).by(&hidden()).holding(before.id())] {
        let saved = update.run(Order::ship).await.unwrap_err();
        assert!(matches!(saved, UpdateError::Failed(Error::AlreadyLocked(_) | Error::NoLock(_))), "{saved:?}");
        says_nothing(saved);
    }
    let changed = locks.take_over(&key, 1, &hidden(), LockId::random(), "urgent").await.unwrap_err();
    assert!(matches!(changed, TakeOverError::HolderChanged { .. }));
    says_nothing(changed);
    let strict = locks.clone().with_take_over_permission("Order", |_: &Owner, _: &Holder| false);
    let refused = strict.take_over(&key, 2, &hidden(), LockId::random(), "urgent").await.unwrap_err();
    assert!(matches!(refused, TakeOverError::NotPermitted(_)));
    says_nothing(refused);
    let changed = locks.break_lock(&key, 1, &hidden(), "urgent").await.unwrap_err();
    assert!(matches!(changed, BreakError::HolderChanged { .. }));
    says_nothing(changed);
    assert_eq!(locks.acting_for(&secret()).holders(&key).await.unwrap()[0].owner, secret());
    let held = locks.list().of_type("Order").owned_by(secret().id).limit(1_000).run().await.unwrap();
    assert!(held.items.iter().any(|holder| holder.holder.key == key && holder.holder.owner == secret()));
}

pub async fn author_of_a_break_stays_anonymous_to_the_loser(t: &TestDb) {
    for shown in [ShowOwner::Anonymous, ShowOwner::ByRole] {
        let (locks, key) = (showing(t, shown), key());
        let first = locks.try_lock(&key, &hidden()).await.unwrap();
        let broken = locks.break_lock(&key, 1, &secret(), "urgent").await.unwrap();
        assert_eq!(broken.owner, hidden());
        let second = locks.try_lock(&key, &hidden()).await.unwrap();
        locks.take_over(&key, 2, &secret(), LockId::random(), "urgent").await.unwrap();
        for id in [first.id(), second.id()] {
            let lost = lost(&locks.acting_for(&hidden()), id).await;
            assert!(told(&lost.why).is_hidden());
            assert_eq!(told(&lost.why).name == "Warehouse", shown == ShowOwner::ByRole);
            says_nothing(lost);
        }
    }
}

pub async fn own_takeover_is_named(t: &TestDb) {
    let (locks, key) = (showing(t, ShowOwner::Anonymous), key());
    let first = locks.try_lock(&key, &secret()).await.unwrap();
    locks.take_over(&key, 1, &secret(), LockId::random(), "another tab").await.unwrap();
    let lost = lost(&locks.acting_for(&secret()), first.id()).await;
    assert_eq!((told(&lost.why), lost.held_now.map(|holder| holder.owner)), (&secret(), Some(secret())));
}

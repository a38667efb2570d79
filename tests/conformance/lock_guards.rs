//! Offline locks in transactions that are written by hand, and in deletes: the same guard as in an update.

use std::time::Duration;

use tenure::{
    Error, LockId, LockKey, LockMode, Version,
    error::{LockError, UpdateError},
    lease::LeaseLossReason,
};

use super::order::{AlreadyShipped, Order};
use super::support::{TTL, TestDb, kim, lee, version};

fn unshipped(order: &mut Order) -> Result<(), AlreadyShipped> {
    order.send_to("nowhere")
}

fn why<T: std::fmt::Debug>(refused: Result<T, Error>) -> LeaseLossReason {
    match refused {
        Err(Error::NoLock(no_lock)) => no_lock.why,
        other => panic!("{other:?}"),
    }
}

pub async fn hand_written_transaction_is_refused_while_locked(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let generation = lease.holder().generation;
    let mut tx = t.db.begin().await.unwrap();
    let refused = tx.unless_locked(&key).await;
    assert!(matches!(&refused, Err(Error::AlreadyLocked(holder)) if holder.owner == kim()), "{refused:?}");
    tx.unless_locked_except(&key, generation).await.unwrap();
    assert!(tx.unless_locked_except(&key, generation - 1).await.is_err());
    tx.rollback().await.unwrap();
    // A key that was never locked, and one that is free again.
    t.locks.release_lock(lease.id()).await.unwrap();
    for free in [&key, &LockKey::of::<Order>(&t.order().await)] {
        let mut tx = t.db.begin().await.unwrap();
        tx.unless_locked(free).await.unwrap();
        tx.commit().await.unwrap();
    }
    let absurd = LockKey::new("Order", "");
    let mut tx = t.db.begin().await.unwrap();
    assert!(matches!(tx.unless_locked(&absurd).await, Err(Error::InvalidKey { .. })));
    assert!(matches!(tx.holding(&absurd, lease.id()).await, Err(Error::InvalidKey { .. })));
}

pub async fn hand_written_transaction_holds_the_lease_to_its_end(t: &TestDb) {
    let (no, other) = (t.order().await, t.order().await);
    let (key, lease) = {
        let key = LockKey::of::<Order>(&no);
        let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
        (key, lease)
    };
    let mut tx = t.db.begin().await.unwrap();
    assert!(matches!(
        why(tx.holding(&LockKey::of::<Order>(&other), lease.id()).await),
        LeaseLossReason::OtherAggregate
    ));
    tx.by(&lee());
    assert!(matches!(why(tx.holding(&key, lease.id()).await), LeaseLossReason::NotYours));
    tx.by(&kim());
    assert_eq!(tx.holding(&key, lease.id()).await.unwrap().owner, kim());
    t.clock.advance(TTL + Duration::from_secs(1));
    let mut order = t.find(&mut tx, &no).await;
    order.send_to("under the lease").unwrap();
    t.orders.save(&mut tx, &mut order).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    assert!(matches!(why(tx.holding(&key, lease.id()).await), LeaseLossReason::Expired { .. }));
    assert!(matches!(why(tx.holding(&key, &LockId::random()).await), LeaseLossReason::Unknown));
}

pub async fn hand_written_transaction_releases_with_its_commit(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let mut tx = t.db.begin().await.unwrap();
    tx.by(&kim()).releasing(&key, lease.id()).await.unwrap();
    tx.rollback().await.unwrap();
    assert!(matches!(t.locks.try_lock(&key, &lee()).await, Err(LockError::AlreadyLocked(_))));
    let mut tx = t.db.begin().await.unwrap();
    // Twice has the effect of once.
    tx.by(&kim()).releasing(&key, lease.id()).await.unwrap();
    tx.releasing(&key, lease.id()).await.unwrap();
    let mut order = t.find(&mut tx, &no).await;
    order.send_to("and free").unwrap();
    t.orders.save(&mut tx, &mut order).await.unwrap();
    tx.commit().await.unwrap();
    t.locks.try_lock(&key, &lee()).await.unwrap();
    assert_eq!(t.stored(&no).await.1, version(2));
}

pub async fn delete_is_refused_as_a_save_is(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    let refused = t.orders.update(&no).unless_locked().delete(unshipped).await;
    assert!(matches!(refused, Err(UpdateError::Failed(Error::AlreadyLocked(_)))), "{refused:?}");
    t.orders.update(&no).by(&kim()).holding(lease.id()).run(|order| order.send_to("x")).await.unwrap();
    let stale = t.orders.update(&no).by(&kim()).expecting(Version::FIRST).releasing(lease.id()).delete(unshipped).await;
    assert!(matches!(stale, Err(UpdateError::Failed(Error::VersionConflict(_)))), "{stale:?}");
    let domain = t.orders.update(&no).by(&kim()).releasing(lease.id()).delete(|_| Err("it is paid for")).await;
    assert!(matches!(domain, Err(UpdateError::Refused("it is paid for"))));
    let step = t.orders.update(&no).by(&kim()).releasing(lease.id()).also(|_, order| async move {
        assert_eq!(order.version(), version(2));
        Err(UpdateError::Refused(AlreadyShipped))
    });
    assert!(matches!(step.delete(unshipped).await, Err(UpdateError::Refused(AlreadyShipped))));
    assert_eq!(t.stored(&no).await.1, version(2));
    t.orders.update(&no).by(&kim()).expecting(version(2)).releasing(lease.id()).delete(unshipped).await.unwrap();
    assert!(t.orders.get(&no).await.unwrap().is_none());
    t.locks.try_lock(&key, &lee()).await.unwrap();
    let gone = t.orders.update(&no).delete(unshipped).await;
    assert!(matches!(gone, Err(UpdateError::Failed(Error::NotFound { .. }))), "{gone:?}");
}

pub async fn lock_is_not_acquired_between_the_check_and_the_commit(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    let mut tx = t.db.begin().await.unwrap();
    tx.unless_locked(&key).await.unwrap();
    let order = t.orders.find(&mut tx, &no, LockMode::PessimisticWrite).await.unwrap().unwrap();
    let (locks, asked) = (t.locks.clone(), key.clone());
    let asking = tokio::spawn(async move { locks.lock(&asked, &lee()).within(Duration::from_secs(60)).await });
    tokio::task::yield_now().await;
    t.orders.delete(&mut tx, order).await.unwrap();
    assert!(!asking.is_finished());
    tx.commit().await.unwrap();
    asking.await.unwrap().unwrap();
    assert!(t.orders.get(&no).await.unwrap().is_none());
}

/// The result of the form's save, for a lease that ended like this.
async fn saved_by_form(t: &TestDb, no: &str, id: &LockId) -> Result<Version, Error> {
    let seen = t.stored(no).await.1;
    let save = t.orders.update(&no.to_owned()).by(&kim()).from_form(seen, Some(id));
    match save.run(|order| order.send_to(&seen.number().to_string())).await {
        Ok(saved) => Ok(saved.version()),
        Err(UpdateError::Failed(error)) => Err(error),
        Err(UpdateError::Refused(AlreadyShipped)) => panic!("it is not shipped"),
    }
}

pub async fn form_saves_under_its_lease_or_by_its_version(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    // Alive: saved and released.
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    assert_eq!(saved_by_form(t, &no, lease.id()).await.unwrap(), version(2));
    assert!(t.locks.holders(&key).await.unwrap().is_empty());
    // Released, never acquired, expired and unclaimed: by the version.
    assert_eq!(saved_by_form(t, &no, lease.id()).await.unwrap(), version(3));
    assert_eq!(saved_by_form(t, &no, &LockId::random()).await.unwrap(), version(4));
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.clock.advance(TTL + Duration::from_secs(1));
    assert_eq!(saved_by_form(t, &no, lease.id()).await.unwrap(), version(5));
    let stale = t.orders.update(&no).by(&kim()).from_form(version(4), Some(lease.id())).run(unshipped).await;
    assert!(matches!(stale, Err(UpdateError::Failed(Error::VersionConflict(_)))), "{stale:?}");
    // Without a lock id.
    t.orders.update(&no).by(&kim()).from_form(version(5), None).run(unshipped).await.unwrap();
}

pub async fn form_is_refused_while_another_person_holds_the_lock(t: &TestDb) {
    let no = t.order().await;
    let key = LockKey::of::<Order>(&no);
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.clock.advance(TTL + Duration::from_secs(1));
    let lees = t.locks.try_lock(&key, &lee()).await.unwrap();
    // Its own lease expired, and another owner has acquired the lock.
    assert!(matches!(why(saved_by_form(t, &no, lease.id()).await), LeaseLossReason::Expired { .. }));
    let never = saved_by_form(t, &no, &LockId::random()).await;
    assert!(matches!(&never, Err(Error::AlreadyLocked(holder)) if holder.owner == lee()), "{never:?}");
    let none = t.orders.update(&no).by(&kim()).from_form(Version::FIRST, None).run(unshipped).await;
    assert!(matches!(none, Err(UpdateError::Failed(Error::AlreadyLocked(_)))), "{none:?}");
    assert!(matches!(why(saved_by_form(t, &no, lees.id()).await), LeaseLossReason::NotYours));
    // A deliberate end is respected, also after the other owner has released.
    t.locks.release_lock(lees.id()).await.unwrap();
    let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
    t.locks.break_lock(&key, lease.holder().generation, &lee(), "enough").await.unwrap();
    assert!(matches!(why(saved_by_form(t, &no, lease.id()).await), LeaseLossReason::Broken { .. }));
    let other = t.locks.try_lock(&LockKey::new("Order", "another"), &kim()).await.unwrap();
    assert!(matches!(why(saved_by_form(t, &no, other.id()).await), LeaseLossReason::OtherAggregate));
    t.locks.release_lock(other.id()).await.unwrap();
    assert_eq!(t.stored(&no).await.1, Version::FIRST);
}

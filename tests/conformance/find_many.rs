//! Several aggregates in one transaction.

use tenure::unit_of_work::LockSet;
use tenure::{Aggregate, Error, LockMode};

use super::children::inserted as inserted_assembly;
use super::order::Order;
use super::reading::orders;
use super::spelling::tag;
use super::support::{TestDb, random, version};
use super::trees::planted;

const MODES: [LockMode; 4] =
    [LockMode::None, LockMode::Optimistic, LockMode::PessimisticRead, LockMode::PessimisticWrite];

pub async fn find_many_returns_each_once_in_the_order_of_the_ids(t: &TestDb) {
    let stored = orders(t, 67).await;
    for (count, mode) in [0, 1, 2, 32, 33, 67].into_iter().zip(MODES.into_iter().cycle()) {
        // In reverse order, one twice, two missing.
        let mut ids: Vec<_> = stored[..count].iter().rev().cloned().collect();
        let wanted: Vec<_> = ids.iter().map(|id| (Order::new(id), version(1))).collect();
        ids.extend(stored[..count].first().cloned());
        ids.insert(count / 2, random());
        ids.insert(0, "\0".into());
        let mut tx = t.db.begin().await.unwrap();
        let found = t.orders.find_many(&mut tx, &ids, mode).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(found.iter().map(|order| (Order::clone(order), order.version())).collect::<Vec<_>>(), wanted);
    }
}

pub async fn find_many_loads_children_of_any_depth(t: &TestDb) {
    let ((assemblies, one), (_, other)) = (inserted_assembly(t).await, inserted_assembly(t).await);
    let ((trees, oak), (_, elm)) = (planted(t).await, planted(t).await);
    for mode in MODES {
        let mut tx = t.db.begin().await.unwrap();
        let found = assemblies.find_many(&mut tx, &[other.id.clone(), one.id.clone()], mode).await.unwrap();
        assert_eq!(found.iter().map(|found| (**found).clone()).collect::<Vec<_>>(), [other.clone(), one.clone()]);
        let found = trees.find_many(&mut tx, &[oak.id().clone(), elm.id().clone()], mode).await.unwrap();
        assert_eq!(found.iter().map(|found| (**found).clone()).collect::<Vec<_>>(), [oak.clone(), elm.clone()]);
        tx.commit().await.unwrap();
    }
}

pub async fn find_many_refuses_another_spelling(t: &TestDb) {
    let (tags, stored, small) = tag(t).await;
    let refused = |error: Error| matches!(&error, Error::OtherSpelling { id, stored: found, .. } if (id, found) == (&small, &stored));
    for mode in MODES {
        let mut tx = t.db.begin().await.unwrap();
        let found = tags.find_many(&mut tx, &[stored.clone(), small.clone()], mode).await;
        assert!(refused(found.unwrap_err()), "{mode:?}");
        tx.rollback().await.unwrap();
    }
}

pub async fn found_many_are_saved_and_forced_as_each_alone(t: &TestDb) {
    let ids = orders(t, 3).await;
    let mut tx = t.db.begin().await.unwrap();
    let mut found = t.orders.find_many(&mut tx, &ids, LockMode::PessimisticForceIncrement).await.unwrap();
    found[1].ship().unwrap();
    let (first, second) = (found.remove(0), &mut found[0]);
    assert_eq!(t.orders.save(&mut tx, second).await.unwrap(), version(2));
    t.orders.delete(&mut tx, first).await.unwrap();
    // Found again: with its changes, and without the deleted one.
    let again = t.orders.find_many(&mut tx, &ids, LockMode::PessimisticWrite).await.unwrap();
    assert_eq!(again.iter().map(|order| order.version()).collect::<Vec<_>>(), [version(2), version(1)]);
    let both = tx.lock_all(LockSet::new().add::<Order>(&ids[1]).add::<Order>(&ids[2]), LockMode::None).await;
    assert!(both.unwrap().take::<Order>(&ids[1]).unwrap().is_some());
    tx.commit().await.unwrap();
    assert!(t.orders.get(&ids[0]).await.unwrap().is_none());
    assert_eq!((t.stored(&ids[1]).await.1, t.stored(&ids[2]).await.1), (version(2), version(2)));
}

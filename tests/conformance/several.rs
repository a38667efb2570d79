//! Several aggregates in one transaction.

use tenure::{Error, LockMode, db::Granularity, error::DatabaseError, unit_of_work::LockSet};
use tokio::task::JoinSet;

use super::order::{Counter, Order};
use super::support::{TestDb, random, version};

pub async fn lock_all_locks_each_once_and_gives_each_once(t: &TestDb) {
    let (one, two, name) = (t.order().await, t.order().await, t.counter(0).await);
    let missing = random();
    let set = LockSet::new().add::<Order>(&two).add::<Counter>(&name).add::<Order>(&one).add::<Order>(&two);
    let mut tx = t.db.begin().await.unwrap();
    let mut locked = tx.lock_all(set.add::<Order>(&missing), LockMode::PessimisticWrite).await.unwrap();
    assert!(locked.take::<Order>(&missing).unwrap().is_none());
    assert_eq!(locked.take::<Counter>(&name).unwrap().unwrap().count, 0);
    let mut order = locked.take::<Order>(&two).unwrap().unwrap();
    assert!(locked.take::<Order>(&two).unwrap().is_none());
    order.ship().unwrap();
    t.orders.save(&mut tx, &mut order).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!((t.stored(&two).await.1, t.stored(&one).await.1), (version(2), version(1)));
}

/// Money from A to B, and concurrently from B to A.
pub async fn lock_all_prevents_deadlock_of_opposite_transfers(t: &TestDb) {
    const EACH: i64 = 15;
    let (a, b) = (t.counter(1_000).await, t.counter(1_000).await);
    let mut transfers = JoinSet::new();
    for worker in 0..6 {
        let (db, counters) = (t.db.clone(), t.counters.clone());
        let (from, to) = if worker % 2 == 0 { (a.clone(), b.clone()) } else { (b.clone(), a.clone()) };
        transfers.spawn(async move {
            for _ in 0..EACH {
                let mut tx = db.begin().await.unwrap();
                let set = LockSet::new().add::<Counter>(&from).add::<Counter>(&to);
                let mut locked = tx.lock_all(set, LockMode::PessimisticWrite).await.unwrap();
                for (name, change) in [(&from, -1), (&to, 1)] {
                    let mut counter = locked.take::<Counter>(name).unwrap().unwrap();
                    counter.count += change;
                    counters.save(&mut tx, &mut counter).await.unwrap();
                }
                tx.commit().await.unwrap();
            }
        });
    }
    transfers.join_all().await;
    for name in [a, b] {
        let counter = t.counters.get(&name).await.unwrap().unwrap();
        assert_eq!((counter.count, counter.version()), (1_000, version(6 * EACH + 1)));
    }
}

pub async fn unsupported_operation_is_refused_by_name(t: &TestDb) {
    let can = t.db.capabilities();
    let by_row = can.granularity == Granularity::Row;
    let no = t.order().await;
    let mut tx = t.db.begin().await.unwrap();
    let found = t.orders.find_many_skip_locked(&mut tx, &[no]).await;
    match found {
        Ok(found) => assert!(by_row && found.len() == 1),
        Err(Error::Database(DatabaseError::Unsupported(why))) => assert!(!by_row && why.contains("find_many")),
        Err(error) => panic!("{error}"),
    }
    assert!(can.database.contains(' '), "{}", can.database);
}

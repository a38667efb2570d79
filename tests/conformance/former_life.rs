//! Tokens and states of a deleted aggregate or child are invalid for its successor.

use tenure::{
    Error, Loaded, LockKey, LockMode,
    error::{DatabaseError, UpdateError},
};

use super::order::{Counter, Order};
use super::row_locks::waiting;
use super::support::{TTL, TestDb, kim, version};

async fn insert(t: &TestDb, no: &str) -> Loaded<Order> {
    let mut tx = t.db.begin().await.unwrap();
    let order = t.orders.insert(&mut tx, Order::new(no)).await.unwrap();
    tx.commit().await.unwrap();
    order
}

async fn delete(t: &TestDb, no: &str) {
    let mut tx = t.db.begin().await.unwrap();
    let order = t.find(&mut tx, no).await;
    t.orders.delete(&mut tx, order).await.unwrap();
    tx.commit().await.unwrap();
}

pub async fn new_aggregate_continues_the_deleted_ones_version(t: &TestDb) {
    let no = t.order().await;
    t.orders.update(&no).run(Order::ship).await.unwrap();
    delete(t, &no).await;
    let second = insert(t, &no).await;
    assert_eq!((second.version(), t.stored(&no).await), (version(3), (Order::new(&no), version(3))));
    delete(t, &no).await;
    assert_eq!(insert(t, &no).await.version(), version(4));
    let changes = t.orders.changes(&no, 10).await.unwrap();
    assert_eq!(changes.iter().map(|change| change.version).collect::<Vec<_>>(), [version(4)]);
}

pub async fn a_token_of_a_deleted_aggregate_is_stale(t: &TestDb) {
    let no = t.order().await;
    let token = t.orders.get(&no).await.unwrap().unwrap().token();
    let lease = t.locks.try_lock(&LockKey::of::<Order>(&no), &kim()).await.unwrap();
    delete(t, &no).await;
    insert(t, &no).await;
    let saved = t.orders.update(&no).expecting(token).run(Order::ship).await;
    let Err(UpdateError::Failed(Error::VersionConflict(conflict))) = saved else { panic!("{saved:?}") };
    assert_eq!((conflict.expected, conflict.actual), (version(1), Some(version(2))));
    t.clock.advance(TTL);
    let resumed = t.locks.resume(&t.orders, &no, lease.id(), token).await;
    assert!(matches!(resumed, Err(Error::VersionConflict(_))), "{resumed:?}");
}

pub async fn a_loaded_aggregate_is_not_saved_over_its_successor(t: &TestDb) {
    let no = t.order().await;
    let mut old = t.orders.get(&no).await.unwrap().unwrap();
    delete(t, &no).await;
    insert(t, &no).await;
    old.ship().unwrap();
    let mut tx = t.db.begin().await.unwrap();
    let saved = t.orders.save(&mut tx, &mut old).await;
    assert!(matches!(saved, Err(Error::OptimisticLockingFailure(_))), "{saved:?}");
    tx.rollback().await.unwrap();
    assert_eq!(t.stored(&no).await, (Order::new(&no), version(2)));
}

/// The insert waits for the delete, and was sent before the delete was committed.
pub async fn insert_after_a_concurrent_delete_continues_its_version(t: &TestDb) {
    let name = t.counter(5).await;
    let mut tx = t.db.begin().await.unwrap();
    let old = t.counters.find(&mut tx, &name, LockMode::PessimisticWrite).await.unwrap().unwrap();
    let (db, counters, again) = (t.db.clone(), t.counters.clone(), name.clone());
    t.counters.delete(&mut tx, old).await.unwrap();
    let inserting = waiting(async move {
        let mut tx = db.begin().await.unwrap();
        let inserted = counters.insert(&mut tx, Counter { name: again, count: 0 }).await.unwrap().version();
        tx.commit().await.unwrap();
        inserted
    })
    .await;
    tx.commit().await.unwrap();
    assert_eq!(inserting.await.unwrap(), version(2));
    assert_eq!(t.counters.get(&name).await.unwrap().unwrap().version(), version(2));
}

/// An own statement, which does not raise the version.
pub async fn missing_child_is_an_error_and_nothing_is_saved(t: &TestDb) {
    for change in [(|order: &mut Order| order.lines[1].quantity = 9) as fn(&mut Order), |order: &mut Order| {
        order.lines.truncate(1)
    }] {
        let no = t.order().await;
        let mut order = t.orders.get(&no).await.unwrap().unwrap();
        t.by_hand(format!("delete from test_order_line where order_no = '{no}' and line_no = 2")).await.unwrap();
        change(&mut order);
        let mut tx = t.db.begin().await.unwrap();
        let error = t.orders.save(&mut tx, &mut order).await.unwrap_err();
        let Error::Database(DatabaseError::ChildGone { table }) = &error else { panic!("{error:?}") };
        assert_eq!(
            (&**table, error.is_retryable(), error.code()),
            ("test_order_line", true, tenure::error::ErrorCode::ChildGone)
        );
        let committed = tx.commit().await.unwrap_err();
        assert!(matches!(committed, Error::Database(DatabaseError::Poisoned(_))), "{committed:?}");
        assert_eq!(t.stored(&no).await.1, version(1));
        // After a new load the same command succeeds on the current state.
        let saved = t.orders.update(&no).run(|order| order.send_to("Jongno 1")).await.unwrap();
        assert_eq!(saved.lines.len(), 1);
    }
}

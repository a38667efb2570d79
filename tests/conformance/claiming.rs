//! Several aggregates, locked where rows have locks: work that several workers share.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure::error::DatabaseError;
use tenure::{Error, LockMode, Wait};
use tokio::sync::Barrier;

use super::order::{Line, Order, State};
use super::reading::orders;
use super::row_locks::{LIMIT, LockedRow, RELEASED, SHORTER, waiting};
use super::support::{TestDb, random, version};

pub async fn held_rows_are_skipped_and_transaction_continues(t: &TestDb) {
    let ids = orders(t, 4).await;
    let held = [ids[0].clone(), ids[2].clone()];
    let mut holder = t.db.begin().await.unwrap();
    assert_eq!(t.orders.find_many(&mut holder, &held, LockMode::PessimisticWrite).await.unwrap().len(), 2);
    // The holder does not end before: a wait would be a timeout.
    let mut tx = t.db.begin().await.unwrap();
    let asked = [&ids[3], &ids[2], &random(), &ids[1], &ids[0], &ids[3]].map(String::clone);
    let mut found = t.orders.find_many_skip_locked(&mut tx, &asked).await.unwrap();
    assert_eq!(found.iter().map(|order| order.no.as_str()).collect::<Vec<_>>(), [&ids[3], &ids[1]]);
    for order in &mut found {
        order.ship().unwrap();
        t.orders.save(&mut tx, order).await.unwrap();
    }
    tx.commit().await.unwrap();
    holder.rollback().await.unwrap();
    for (id, number) in ids.iter().zip([1, 2, 1, 2]) {
        assert_eq!(t.stored(id).await.1, version(number));
    }
}

/// The documents' way to claim the next rows: a statement of the application locks them by its own condition, and they are loaded as aggregates in
/// the same transaction. Two workers get different ones, in order, and neither waits for the other.
pub async fn rows_claimed_by_an_own_statement_load_as_aggregates_at_once(t: &TestDb) {
    const WORKERS: usize = 2;
    let all = orders(t, 25).await;
    let next = format!(
        "select no from test_order where no between '{}' and '{}' and state = 'Preparing' order by no limit 10 for update skip locked",
        all[0], all[24]
    );
    let claimed = Arc::new(Barrier::new(WORKERS));
    let work = async || {
        let mut tx = t.db.begin().await.unwrap();
        let ids = t.texts_in(&mut tx, &next).await.unwrap();
        let found = t.orders.find_many(&mut tx, &ids, LockMode::PessimisticWrite).await.unwrap();
        let found: Vec<_> = found.into_iter().filter(|order| order.state == State::Preparing).collect();
        assert_eq!(found.iter().map(|order| &order.no).collect::<Vec<_>>(), ids.iter().collect::<Vec<_>>());
        // Both hold theirs: a wait would be a timeout.
        claimed.wait().await;
        for mut order in found {
            order.ship().unwrap();
            t.orders.save(&mut tx, &mut order).await.unwrap();
        }
        tx.commit().await.unwrap();
        ids
    };
    let (ones, twos) = tokio::join!(work(), work());
    assert_eq!((ones.len(), twos.len()), (10, 10));
    let first: BTreeSet<_> = all[..20].iter().collect();
    assert_eq!(ones.iter().chain(&twos).collect::<BTreeSet<_>>(), first);
    for (at, no) in all.iter().enumerate() {
        assert_eq!(t.stored(no).await.1, version(if at < 20 { 2 } else { 1 }));
    }
}

pub async fn find_many_has_one_deadline_for_all_its_rows(t: &TestDb) {
    let ids = orders(t, 2).await;
    let (mut first, mut second) = (t.db.begin().await.unwrap(), t.db.begin().await.unwrap());
    t.orders.find(&mut first, &ids[0], LockMode::PessimisticWrite).await.unwrap();
    t.orders.find(&mut second, &ids[1], LockMode::PessimisticWrite).await.unwrap();
    let (orders, db, both) = (t.orders.clone(), t.db.clone(), ids.clone());
    let waiter = tokio::spawn(async move {
        let asked = Instant::now();
        let mut tx = db.begin_within(Wait::Within(LIMIT)).await.unwrap();
        let refused = orders.find_many(&mut tx, &both, LockMode::PessimisticWrite).await.unwrap_err();
        (refused, asked.elapsed(), tx.commit().await)
    });
    let locked = LockedRow::new(t).await;
    tokio::time::sleep(RELEASED).await;
    first.rollback().await.unwrap();
    // With a deadline of its own for the second row it would last longer.
    let (refused, took, committed) = locked.outlasts(t, SHORTER, waiter).await.unwrap();
    assert!(matches!(refused, Error::Database(DatabaseError::LockTimeout { .. })), "{refused}");
    assert!(took >= LIMIT - Duration::from_millis(10), "waited {took:?} of {LIMIT:?}");
    assert!(matches!(committed, Err(Error::Database(DatabaseError::Poisoned(_)))), "{committed:?}");
    second.rollback().await.unwrap();
}

pub async fn find_many_locks_in_one_order_and_reads_after_it(t: &TestDb) {
    let ids = orders(t, 2).await;
    let [first, second] = [&ids[0], &ids[1]];
    let mut holder = t.db.begin().await.unwrap();
    let mut order = t.orders.find(&mut holder, first, LockMode::PessimisticWrite).await.unwrap().unwrap();
    let (orders, db, reversed) = (t.orders.clone(), t.db.clone(), [second.clone(), first.clone()]);
    let both = waiting(async move {
        let mut tx = db.begin().await.unwrap();
        let found = orders.find_many(&mut tx, &reversed, LockMode::PessimisticWrite).await.unwrap();
        tx.rollback().await.unwrap();
        found
    })
    .await;
    // It waits for the first, and so has not locked the second.
    let mut other = t.orders.find_many_skip_locked(&mut holder, std::slice::from_ref(second)).await.unwrap();
    assert_eq!(other.len(), 1);
    for order in [&mut order, &mut other[0]] {
        order.send_to("new").unwrap();
        order.lines[0].quantity = 99;
        order.lines.push(Line { line_no: 3, product: "pot".into(), quantity: 1 });
        t.orders.save(&mut holder, order).await.unwrap();
    }
    holder.commit().await.unwrap();
    let found = both.await.unwrap();
    assert_eq!(
        found.iter().map(|order| Order::clone(order)).collect::<Vec<_>>(),
        [Order::clone(&other[0]), Order::clone(&order)]
    );
    assert!(found.iter().all(|order| order.version() == version(2)));
}

pub async fn skipping_refuses_another_spelling(t: &TestDb) {
    let (tags, stored, small) = super::spelling::tag(t).await;
    let mut tx = t.db.begin().await.unwrap();
    let refused = tags.find_many_skip_locked(&mut tx, std::slice::from_ref(&small)).await;
    assert!(matches!(refused, Err(Error::OtherSpelling { .. })), "{refused:?}");
    let found = tags.find_many_skip_locked(&mut tx, &[stored]).await.unwrap();
    assert_eq!(found.len(), 1);
    // Under another spelling of a row that is held there is nothing to lock.
    let mut other = t.db.begin().await.unwrap();
    assert!(tags.find_many_skip_locked(&mut other, &[small]).await.unwrap().is_empty());
}

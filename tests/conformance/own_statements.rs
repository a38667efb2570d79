//! The application's own statements in a transaction, through its connection.

use std::time::Duration;

use tenure::{Database, Error, LockMode, Repository, Transaction, Wait, error::DatabaseError};

use super::order::{Counter, Order};
use super::support::{TestDb, random};
use super::transactions::cancelled_after;

/// Whether the error text matches the stored state after an own COMMIT.
fn is_ended(error: &Error) -> bool {
    match error {
        Error::Database(DatabaseError::TransactionEnded(what)) => what.contains("stored"),
        Error::Database(DatabaseError::Poisoned(first)) => matches!(**first, DatabaseError::TransactionEnded(_)),
        _ => false,
    }
}

pub async fn an_own_commit_or_rollback_is_noticed_by_the_next_operation(t: &TestDb) {
    for statement in ["commit", "rollback", "commit; begin", "rollback; begin"] {
        let (saved, other) = (t.order().await, t.order().await);
        let mut tx = t.db.begin().await.unwrap();
        let mut order = t.find(&mut tx, &saved).await;
        order.send_to("before").unwrap();
        t.orders.save(&mut tx, &mut order).await.unwrap();
        let mut later = t.find(&mut tx, &other).await;
        // SQLite refuses it: only the transaction commits.
        let _swallowed = t.by_hand_in(&mut tx, statement.to_owned()).await;
        later.send_to("after").unwrap();
        let refused = t.orders.save(&mut tx, &mut later).await.unwrap_err();
        assert!(is_ended(&refused), "{statement}: {refused:?}");
        let refused = tx.commit().await.unwrap_err();
        assert!(is_ended(&refused), "{statement}: {refused:?}");
        let is_stored = statement.starts_with("commit") && !t.has_one_writer();
        assert_eq!(t.stored(&saved).await.0.ship_to.line1 == "before", is_stored, "{statement}");
        assert_eq!(t.stored(&other).await.0, Order::new(&other), "{statement}");
    }
}

pub async fn an_own_commit_or_rollback_is_noticed_by_the_commit(t: &TestDb) {
    for statement in ["commit", "rollback", "commit; begin", "rollback; begin"] {
        let (saved, other) = (t.order().await, t.order().await);
        let mut tx = t.db.begin().await.unwrap();
        let mut order = t.find(&mut tx, &saved).await;
        order.send_to("before").unwrap();
        t.orders.save(&mut tx, &mut order).await.unwrap();
        let _swallowed = t.by_hand_in(&mut tx, statement.to_owned()).await;
        let after = format!("update test_order set ship_to_line1 = 'own' where no = '{other}'");
        let _swallowed = t.by_hand_in(&mut tx, after).await;
        let refused = tx.commit().await.unwrap_err();
        assert!(matches!(refused, Error::Database(DatabaseError::TransactionEnded(_))), "{statement}: {refused:?}");
        assert!(!refused.is_retryable());
        // Outside a transaction PostgreSQL commits the application's own statement by itself.
        let is_own = !t.has_one_writer() && !t.begins_by_itself() && !statement.ends_with("begin");
        let is_stored = statement.starts_with("commit") && !t.has_one_writer();
        assert_eq!(t.stored(&saved).await.0.ship_to.line1 == "before", is_stored, "{statement}");
        assert_eq!(t.stored(&other).await.0.ship_to.line1 == "own", is_own, "{statement}");
    }
}

pub async fn rollback_after_an_own_commit_reports_it_is_too_late(t: &TestDb) {
    let no = t.order().await;
    let mut tx = t.db.begin().await.unwrap();
    let mut order = t.find(&mut tx, &no).await;
    order.send_to("before").unwrap();
    t.orders.save(&mut tx, &mut order).await.unwrap();
    let _swallowed = t.by_hand_in(&mut tx, "commit".to_owned()).await;
    let is_stored = tx.rollback().await.is_err();
    assert_eq!(t.stored(&no).await.0.ship_to.line1 == "before", is_stored);
    assert_eq!(is_stored, !t.has_one_writer());
    // And the connection is in its normal state.
    let mut tx = t.db.begin().await.unwrap();
    t.find(&mut tx, &no).await;
    tx.rollback().await.unwrap();
}

pub async fn own_statements_without_transaction_control_are_harmless(t: &TestDb) {
    let no = t.order().await;
    let mut tx = t.db.begin().await.unwrap();
    for at in 0..3 {
        let own =
            format!("savepoint own; update test_order set gift_card = '{at}' where no = 'none'; release savepoint own");
        t.by_hand_in(&mut tx, own).await.unwrap();
        let mut order = t.find(&mut tx, &no).await;
        order.send_to(&at.to_string()).unwrap();
        t.orders.save(&mut tx, &mut order).await.unwrap();
    }
    tx.commit().await.unwrap();
    assert_eq!(t.stored(&no).await.0.ship_to.line1, "2");
}

pub async fn connections_return_after_dropped_operations(t: &TestDb) {
    let db = t.another_process_with(3).await;
    let counters = Repository::<Counter>::new(&db);
    let name = t.counter(0).await;
    let (mut count, mut dropped) = (0, 0);
    for at in 0..120 {
        let mut tx = db.begin_within(Wait::Within(Duration::from_secs(30))).await.unwrap();
        let mut counter = counters.find(&mut tx, &name, LockMode::PessimisticWrite).await.unwrap().unwrap();
        counter.count += 1;
        counters.save(&mut tx, &mut counter).await.unwrap();
        // With more rows than one fetch returns, prepared anew each time.
        let own = format!(
            "with recursive n (i) as (select 1 union all select i + 1 from n where i < 500) select i, {at} as a, '{}' as b from n",
            random()
        );
        dropped += usize::from(cancelled_after(at / 3 % 8, t.prepared_in(&mut tx, own)).await.is_none());
        match at % 3 {
            0 => drop(tx),
            1 => match tx.rollback().await {
                Ok(()) | Err(DatabaseError::ConnectionLost(_)) => {}
                Err(error) => panic!("{error:?}"),
            },
            _ => match tx.commit().await {
                Ok(()) => count += 1,
                Err(Error::Database(DatabaseError::ConnectionLost(why))) => assert!(why.contains("dropped"), "{why}"),
                Err(error) => panic!("{error:?}"),
            },
        }
    }
    assert!(dropped > 0, "nothing was dropped half-way");
    let held = all_at_once(&db, t.has_one_writer()).await;
    drop(held);
    assert_eq!(counters.get(&name).await.unwrap().unwrap().count, count);
    db.close().await;
}

/// As many transactions as the process may have connections.
async fn all_at_once(db: &Database, one: bool) -> Vec<Transaction> {
    let mut held = Vec::new();
    for _ in 0..if one { 1 } else { 3 } {
        held.push(db.begin_within(Wait::Within(Duration::from_secs(30))).await.unwrap());
    }
    held
}

//! Rollbacks by SQLite itself, in the middle of a transaction whose owner continues.

use tenure::{
    Error, LockMode,
    error::{DatabaseError, LockError},
};

use crate::conformance::support::{kim, lee, random};
use crate::suite::open;

/// The application's own statement makes SQLite roll everything back, and the application continues as if nothing had happened.
#[tokio::test]
async fn a_swallowed_error_that_rolls_back_lets_nothing_be_stored() {
    let trigger = "create trigger refuse before insert on test_counter when new.count < 0
                   begin select raise(rollback, 'no'); end";
    let twice = "insert or rollback into test_counter (name, count, version) values ('twice', 1, 1), ('twice', 1, 1)";
    let refused = "insert into test_counter (name, count, version) values ('refused', -1, 1)";
    for own in [twice, refused] {
        let t = open().await;
        t.by_hand(trigger.to_owned()).await.unwrap();
        let (no, key) = (t.order().await, tenure::LockKey::new("Order", random()));
        let lease = t.locks.try_lock(&key, &kim()).await.unwrap();
        let mut tx = t.db.begin().await.unwrap();
        t.locks.guard(&mut tx, lease.id()).await.unwrap();
        let mut order = t.find(&mut tx, &no).await;
        assert!(t.by_hand_in(&mut tx, own.to_owned()).await.is_err());
        // By itself, and in a transaction of its own.
        let more = format!("insert into test_counter (name, count, version) values ('{}', 1, 1)", random());
        assert!(t.by_hand_in(&mut tx, more.clone()).await.is_err());
        assert!(t.by_hand_in(&mut tx, format!("begin; {more}; commit")).await.is_err());
        order.send_to("never").unwrap();
        let saved = t.orders.save(&mut tx, &mut order).await.unwrap_err();
        assert!(matches!(&saved, Error::Database(DatabaseError::TransactionEnded(_))), "{saved:?}");
        assert!(saved.to_string().contains("nothing of it is stored"), "{saved}");
        assert!(tx.commit().await.is_err());
        assert_ne!(t.stored(&no).await.0.ship_to.line1, "never");
        let counters = "select count(*) from test_counter";
        let counters: i64 = sqlx::query_scalar(counters).fetch_one(t.db.sqlite().unwrap()).await.unwrap();
        assert_eq!(counters, 0);
        // The next transaction is not affected.
        assert!(matches!(t.locks.try_lock(&key, &lee()).await, Err(LockError::AlreadyLocked(_))));
        let mut tx = t.db.begin().await.unwrap();
        assert!(t.orders.find(&mut tx, &no, LockMode::PessimisticWrite).await.unwrap().is_some());
        t.by_hand_in(&mut tx, more).await.unwrap();
        tx.commit().await.unwrap();
    }
}

#[tokio::test]
async fn cancelled_commit_commits_nothing() {
    for polls in 0..4 {
        let t = open().await;
        let no = t.order().await;
        let mut tx = t.db.begin().await.unwrap();
        let mut order = t.find(&mut tx, &no).await;
        order.send_to("never").unwrap();
        t.orders.save(&mut tx, &mut order).await.unwrap();
        let own = t.by_hand_in(&mut tx, "commit".to_owned());
        let done = crate::conformance::transactions::cancelled_after(polls, own).await;
        assert!(done.is_none_or(|done| done.is_err()));
        match tx.commit().await {
            // It was dropped before it had begun.
            Ok(()) => assert_eq!(t.stored(&no).await.0.ship_to.line1, "never"),
            Err(Error::Database(DatabaseError::TransactionEnded(_))) => {
                assert_ne!(t.stored(&no).await.0.ship_to.line1, "never");
            }
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// Its caller is dropped, it goes on for a minute, and then it commits.
#[tokio::test(flavor = "multi_thread")]
async fn dropped_statement_that_goes_on_commits_nothing() {
    let t = open().await;
    let mut tx = t.db.begin().await.unwrap();
    let own = "insert into test_counter (name, count, version) values ('late', 1, 1);
               with recursive n (i) as (select 1 union all select i + 1 from n where i < 1000000000) select count(*) from n;
               commit";
    let done = crate::conformance::transactions::cancelled_after(1, t.by_hand_in(&mut tx, own.to_owned())).await;
    assert!(done.is_none());
    drop(tx);
    // Within the usual wait: the statement was interrupted.
    let next = "insert into test_counter (name, count, version) values ('next', 1, 1)";
    t.by_hand(next.to_owned()).await.unwrap();
    let names: Vec<String> =
        sqlx::query_scalar("select name from test_counter").fetch_all(t.db.sqlite().unwrap()).await.unwrap();
    assert_eq!(names, ["next"]);
}

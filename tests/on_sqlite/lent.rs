//! Settings that the application leaves on the writing connection do not reach the next transaction.

use crate::conformance::support::{key, kim};
use crate::suite::open;

/// The application's statements, and a question whose answer they must not change for the next transaction.
const SETTINGS: [(&str, &str); 9] = [
    ("pragma query_only = on", "pragma query_only"),
    ("pragma locking_mode = exclusive; select * from test_counter", "pragma locking_mode"),
    ("pragma ignore_check_constraints = on", "pragma ignore_check_constraints"),
    ("pragma recursive_triggers = on", "pragma recursive_triggers"),
    ("pragma case_sensitive_like = on", "select 'a' like 'A'"),
    ("pragma trusted_schema = off", "pragma trusted_schema"),
    ("create temp table test_counter as select 1 as count", "select count(*) from sqlite_temp_schema"),
    // Outside the transaction, which it ended.
    ("rollback; pragma synchronous = off", "pragma synchronous"),
    ("rollback; pragma foreign_keys = off", "pragma foreign_keys"),
];

#[tokio::test]
async fn setting_of_the_application_ends_with_its_transaction() {
    for way in ["commit", "rollback", "drop"] {
        for (own, question) in SETTINGS {
            let t = open().await;
            let mut tx = t.db.begin().await.unwrap();
            let before: String = answer(&mut tx, question).await;
            tx.rollback().await.unwrap();
            let mut tx = t.db.begin().await.unwrap();
            t.by_hand_in(&mut tx, own.to_owned()).await.unwrap();
            match way {
                "commit" => drop(tx.commit().await),
                "rollback" => drop(tx.rollback().await),
                _ => drop(tx),
            }
            // Another process is not shut out, and the file is the same.
            let other = t.another_process().await;
            tenure::LockManager::new(&other).try_lock(&key(), &kim()).await.unwrap();
            let no = t.order().await;
            assert_eq!(t.stored(&no).await.0.no, no);
            let mut tx = t.db.begin().await.unwrap();
            assert_eq!(answer(&mut tx, question).await, before, "{own} and {way}");
            tx.commit().await.unwrap();
        }
    }
}

async fn answer(tx: &mut tenure::Transaction, question: &'static str) -> String {
    use sqlx::Row;
    let row = sqlx::query(question).fetch_one(tx.sqlite().unwrap()).await.unwrap();
    row.try_get_unchecked(0).unwrap()
}

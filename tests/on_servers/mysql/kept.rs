//! The connection of the last transaction is kept for the next one, with autocommit off. Other users of the pool must not be affected.

use tenure::Database;

use super::{in_transaction, open};

/// Takes all connections of the pool; the last one arrives when it was returned.
async fn all_are_as_they_should_be(db: &Database) {
    let pool = db.mysql().unwrap();
    let mut taken = Vec::new();
    for _ in 0..pool.options().get_max_connections() {
        taken.push(pool.acquire().await.unwrap());
    }
    for connection in &mut taken {
        let state = format!("select cast(@@autocommit as signed), cast({} as signed)", in_transaction(db));
        let state = sqlx::query_as(sqlx::AssertSqlSafe(state));
        let state: (i64, i64) = state.fetch_one(&mut **connection).await.unwrap();
        assert_eq!(state, (1, 0));
    }
}

#[tokio::test]
async fn kept_connection_returns_to_the_pool_with_autocommit_on() {
    let t = open().await;
    let db = t.another_process_with(4).await;
    for _ in 0..3 {
        db.begin().await.unwrap().commit().await.unwrap();
    }
    db.begin().await.unwrap().rollback().await.unwrap();
    all_are_as_they_should_be(&db).await;
}

#[tokio::test]
async fn autocommit_write_after_a_transaction_persists() {
    let t = open().await;
    let db = t.another_process_with(4).await;
    db.begin().await.unwrap().commit().await.unwrap();
    // While others hold all but the kept one.
    let pool = db.mysql().unwrap();
    let others = [pool.acquire().await.unwrap(), pool.acquire().await.unwrap(), pool.acquire().await.unwrap()];
    let id = format!("kept {}", tenure::LockId::random().reveal());
    let insert = "insert into test_counter (name, count, version) values (?, 1, 1)";
    sqlx::query(insert).bind(&id[..20]).execute(pool).await.unwrap();
    drop(others);
    let count = "select cast(count(*) as signed) from test_counter where name = ?";
    let found: i64 = sqlx::query_scalar(count).bind(&id[..20]).fetch_one(t.db.mysql().unwrap()).await.unwrap();
    assert_eq!(found, 1);
}

#[tokio::test]
async fn closing_does_not_wait_for_kept_connections() {
    let t = open().await;
    let db = t.another_process_with(4).await;
    db.begin().await.unwrap().commit().await.unwrap();
    let pool = db.mysql().unwrap().clone();
    db.close().await;
    assert_eq!(pool.size(), 0);
}

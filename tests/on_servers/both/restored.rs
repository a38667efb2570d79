//! The statements of the operation page for a restored backup, on each database.

use std::convert::Infallible;

use tenure::clock::ManualClock;
use tenure::db::ConnectOptions;
use tenure::error::{Error, UpdateError};
use tenure::{Aggregate, Database, LockKey, LockManager, Owner, Repository, VersionToken};
use testkit::Kind;

#[derive(Aggregate, Debug, Clone)]
#[aggregate(table = "orders", revisions = 5)]
struct Order {
    #[aggregate(id)]
    no: String,
    note: String,
}

/// The SQL blocks of the page.
fn statements() -> Vec<&'static str> {
    let page = include_str!("../../../docs/guide/operation.md");
    let blocks = page.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.flat_map(|block| block.split_terminator(";\n")).collect()
}

async fn by_hand(db: &Database, statement: &str) {
    let statement = sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned()));
    if let Ok(pool) = db.postgres() {
        statement.execute(pool).await.unwrap();
    } else if let Ok(pool) = db.mysql() {
        statement.execute(pool).await.unwrap();
    } else {
        // Its pool only reads.
        let mut tx = db.begin().await.unwrap();
        statement.execute(tx.sqlite().unwrap()).await.unwrap();
        tx.commit().await.unwrap();
    }
}

fn noting(note: &'static str) -> impl Fn(&mut Order) -> Result<(), Infallible> {
    move |order| {
        order.note = note.into();
        Ok(())
    }
}

/// A backup is taken, work goes on, and the backup is restored: here by statements that bring the rows back.
async fn falls_back(url: &str) {
    let clock = ManualClock::new();
    let db = Database::connect_with(url, ConnectOptions::new().clock(clock)).await.unwrap();
    let table = "create table orders (no varchar(20) primary key, note varchar(20) not null, version bigint not null)";
    by_hand(&db, table).await;
    let (orders, locks, kim) = (Repository::<Order>::new(&db), LockManager::new(&db), Owner::new("kim", "Kim"));
    let no = "1".to_owned();
    let mut tx = db.begin().await.unwrap();
    orders.insert(&mut tx, Order { no: no.clone(), note: String::new() }).await.unwrap();
    tx.commit().await.unwrap();
    let (old_key, new_key, gone) =
        (LockKey::of::<Order>(&no), LockKey::new("Order", "2"), LockKey::new("Order", "deleted"));
    for _ in 0..3 {
        let lease = locks.try_lock(&old_key, &kim).await.unwrap();
        locks.release_lock(lease.id()).await.unwrap();
    }
    let mut tx = db.begin().await.unwrap();
    let deleted = orders.insert(&mut tx, Order { no: gone.id().into(), note: String::new() }).await.unwrap();
    orders.delete(&mut tx, deleted).await.unwrap();
    tx.commit().await.unwrap();

    // After the backup: more holders, more saves, a new key, another life of the deleted one.
    let (mut highest, mut held) = (0, None);
    for key in [&new_key, &old_key, &new_key, &old_key] {
        let lease = locks.try_lock(key, &kim).await.unwrap();
        highest = highest.max(lease.holder().generation);
        locks.release_lock(lease.id()).await.unwrap();
        held = Some(lease);
    }
    let held = held.unwrap();
    let mut lost: Vec<VersionToken<Order>> = Vec::new();
    for _ in 0..3 {
        lost.push(orders.update(&no).run(noting("lost")).await.unwrap().token());
    }
    let mut tx = db.begin().await.unwrap();
    let reborn = orders.insert(&mut tx, Order { no: gone.id().into(), note: String::new() }).await.unwrap();
    tx.commit().await.unwrap();

    // The restore: the lease is held again, the versions and generations are those of the backup.
    for statement in [
        "update orders set note = '', version = 1 where no = '1'",
        "delete from orders where no = 'deleted'",
        "delete from tenure_revision where version > 1",
        "update tenure_removed set version = 1",
        "delete from tenure_lock where id = '2'",
        "update tenure_lock set generation = 4, ended = false where id = '1'",
        "delete from tenure_lock_history where generation > 3 or id = '2'",
    ] {
        by_hand(&db, statement).await;
    }
    assert_eq!(locks.check_lock(held.id()).await.unwrap().holder().generation, 4);
    assert_eq!(orders.get(&no).await.unwrap().unwrap().version().number(), 1);
    for statement in statements() {
        by_hand(&db, statement).await;
    }

    // No generation comes again, and a lease of the backup has ended.
    assert!(locks.check_lock(held.id()).await.is_err());
    for key in [&old_key, &new_key] {
        let lease = locks.try_lock(key, &kim).await.unwrap();
        assert!(lease.holder().generation > highest, "{:?} after {highest}", lease.holder());
        locks.release_lock(lease.id()).await.unwrap();
    }
    // A page of the lost time is refused, also when as many saves have been made again.
    for _ in 0..3 {
        for &token in &lost {
            let refused = orders.update(&no).expecting(token).run(noting("old page")).await;
            assert!(matches!(refused, Err(UpdateError::Failed(Error::VersionConflict(_)))), "{refused:?}");
        }
        orders.update(&no).run(noting("again")).await.unwrap();
    }
    let mut tx = db.begin().await.unwrap();
    let again = orders.insert(&mut tx, Order { no: gone.id().into(), note: String::new() }).await.unwrap();
    assert!(again.version() > reborn.version(), "{} after {}", again.version(), reborn.version());
    tx.commit().await.unwrap();
    db.close().await;
}

#[tokio::test]
async fn restored_generations_and_tokens_never_repeat_on_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    falls_back(&format!("sqlite://{}/shop.db", directory.path().display())).await;
}

#[tokio::test]
async fn restored_generations_and_tokens_never_repeat_on_postgres() {
    falls_back(&testkit::new_database(Kind::Postgres)).await;
}

#[tokio::test]
async fn restored_generations_and_tokens_never_repeat_on_mysql() {
    falls_back(&testkit::new_database(Kind::MariaDb)).await;
}

//! The tests of the guide's chapter on testing: how an application tests its own rules about versions and locks.

use std::convert::Infallible;
use std::time::Duration;

use tempfile::TempDir;
use tenure::clock::ManualClock;
use tenure::db::ConnectOptions;
use tenure::error::UpdateError;
use tenure::{Aggregate, Database, Error, LockKey, LockManager, Owner, Repository, sqlx};

#[derive(Aggregate)]
#[aggregate(table = "orders", revisions = 20)]
struct Order {
    #[aggregate(id)]
    no: String,
    note: String,
}

#[tokio::test]
async fn another_person_gets_a_forgotten_lock() {
    let (directory, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let url = format!("sqlite://{}/test.db", directory.path().display());
    let db = Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await.unwrap();
    let (locks, key) = (LockManager::new(&db), LockKey::new("Order", "1"));
    locks.try_lock(&key, &Owner::new("kim", "Kim Minji")).await.unwrap();

    clock.advance(Duration::from_secs(5 * 60)); // the time to live of the default policy

    assert!(locks.try_lock(&key, &Owner::new("lee", "Lee Junho")).await.is_ok());
}

/// A separate database for each test, with a clock that the test moves.
async fn fresh() -> (Database, ManualClock, TempDir) {
    let (directory, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let url = format!("sqlite://{}/test.db", directory.path().display());
    let db = Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let table = "create table orders (no text primary key, note text, version integer)";
    sqlx::raw_sql(table).execute(tx.sqlite().unwrap()).await.unwrap();
    let order = Order { no: "1".into(), note: String::new() };
    Repository::new(&db).insert(&mut tx, order).await.unwrap();
    tx.commit().await.unwrap();
    (db, clock, directory)
}

fn note(text: &str) -> impl FnOnce(&mut Order) -> Result<(), Infallible> + '_ {
    move |order| {
        order.note = text.into();
        Ok(())
    }
}

#[tokio::test]
async fn stale_page_changes_nothing() {
    let (db, _clock, _directory) = fresh().await;
    let (orders, no) = (Repository::<Order>::new(&db), String::from("1"));
    let seen = orders.get(&no).await.unwrap().unwrap().token();
    orders.update(&no).expecting(seen).run(note("first")).await.unwrap();

    let late = orders.update(&no).expecting(seen).run(note("second")).await;

    assert!(matches!(late, Err(UpdateError::Failed(Error::VersionConflict(_)))));
    assert_eq!(orders.get(&no).await.unwrap().unwrap().note, "first");
}

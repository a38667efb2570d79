//! The JSON of locks, versions and conflicts.

use std::time::Duration;

use serde_json::{Value, json, to_value};
use tenure::clock::ManualClock;
use tenure::db::ConnectOptions;
use tenure::error::{LeaseError, UpdateError};
use tenure::lease::{Cursor, LeaseState, Presence};
use tenure::{Aggregate, Database, LockKey, LockManager, Owner, Repository, Version};

#[derive(Aggregate, Debug)]
#[aggregate(table = "orders", revisions = 2)]
struct Order {
    #[aggregate(id)]
    no: String,
    text: Option<String>,
}

async fn database() -> (Database, ManualClock, tempfile::TempDir) {
    let (directory, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let url = format!("sqlite://{}/test.db", directory.path().display());
    let db = Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await.unwrap();
    (db, clock, directory)
}

fn back<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> (Value, T) {
    let written = to_value(value).unwrap();
    (written.clone(), serde_json::from_value(written).unwrap())
}

#[test]
fn keys_owners_and_versions_are_read_back() {
    let key = LockKey::new("Order", "17");
    assert_eq!(back(&key), (json!({"kind": "Order", "id": "17"}), key));
    let kim = Owner::new("kim", "Kim Minji");
    assert_eq!(back(&kim), (json!({"id": "kim", "name": "Kim Minji"}), kim.clone()));
    let clerk = kim.in_role("Clerk");
    assert_eq!(back(&clerk), (json!({"id": "kim", "name": "Kim Minji", "role": "Clerk"}), clerk));
    assert_eq!(back(&Version::FIRST), (json!(1), Version::FIRST));
    assert!(serde_json::from_value::<Version>(json!(-1)).is_err());
    assert_eq!(back(&Presence::Unreachable).0, json!("unreachable"));
    assert_eq!(back(&LeaseState::RanOut), (json!("ran-out"), LeaseState::RanOut));
}

#[tokio::test]
async fn listed_locks_have_times_in_milliseconds_and_no_secret() {
    let (db, clock, _directory) = database().await;
    let locks = LockManager::new(&db);
    let kim = Owner::new("kim", "Kim Minji");
    let lease = locks.try_lock(&LockKey::new("Order", "17"), &kim).await.unwrap();
    locks.try_lock(&LockKey::new("Order", "18"), &kim).await.unwrap();
    clock.advance(Duration::from_millis(1_500));
    let page = locks.list().limit(1).run().await.unwrap();
    let written = to_value(&page).unwrap();
    let holder = &written["items"][0]["holder"];
    let since = holder["since_ms"].as_i64().unwrap();
    assert_eq!(
        *holder,
        json!({"key": {"kind": "Order", "id": "17"}, "owner": {"id": "kim", "name": "Kim Minji"},
               "generation": 1, "since_ms": since, "last_active_ms": since, "last_input_ms": since, "remaining_ms": 298_500,
               "ttl_ms": 300_000, "idle_ms": 1_500, "silent_ms": 1_500})
    );
    assert_eq!(written["items"][0]["state"], json!("held"));
    let next: Cursor = serde_json::from_value(written["next"].clone()).unwrap();
    assert_eq!(Some(next), page.next);
    assert!(serde_json::from_value::<Cursor>(json!("h-1")).is_err());
    assert!(!written.to_string().contains(&lease.id().reveal()));
    locks.break_lock(&lease.holder().key, 1, &Owner::new("lee", "Lee"), "waiting").await.unwrap();
    let Err(LeaseError::NoLock(lost)) = locks.check_lock(lease.id()).await else { panic!("it was broken") };
    assert_eq!(to_value(&lost).unwrap()["why"]["reason_code"], json!("broken"));
}

#[tokio::test]
async fn conflicts_show_values_as_texts() {
    let (db, _clock, _directory) = database().await;
    let mut tx = db.begin().await.unwrap();
    let table = "create table orders (no text primary key, text text, version integer not null)";
    sqlx::query(table).execute(tx.sqlite().unwrap()).await.unwrap();
    let orders = Repository::<Order>::new(&db);
    orders.insert(&mut tx, Order { no: "17".into(), text: None }).await.unwrap();
    tx.commit().await.unwrap();
    let write = |text: &'static str| {
        move |order: &mut Order| {
            order.text = Some(text.into());
            Ok::<_, std::convert::Infallible>(())
        }
    };
    let no = "17".to_owned();
    orders.update(&no).by(&Owner::new("kim", "Kim")).command("write").run(write("Kim's")).await.unwrap();
    let refused = orders.update(&no).expecting(Version::FIRST).run(write("Lee's")).await.unwrap_err();
    let UpdateError::Failed(tenure::Error::VersionConflict(conflict)) = refused else { panic!("{refused:?}") };
    let mut written = to_value(&conflict).unwrap();
    assert!(written["changed"]["at_ms"].take().is_i64());
    assert_eq!(
        written,
        json!({"aggregate": "Order", "id": "17", "expected": 1, "actual": 2,
               "changed": {"version": 2, "by": {"id": "kim", "name": "Kim"}, "at_ms": null, "command": "write"},
               "fields": [{"path": "text", "opened": null, "now": "Kim's", "mine": "Lee's"}],
               "opened_known": true, "mine_known": true})
    );
}

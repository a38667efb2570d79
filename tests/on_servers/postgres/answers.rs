//! Lost responses, on PostgreSQL.

use std::time::Duration;

use tenure::{Database, LockKey, LockManager, Owner};
use testkit::{Kind, Proxy};
use tokio::task::JoinSet;

use crate::lost_answers;

lost_answers::cases!(Kind::Postgres);

#[tokio::test]
async fn unanswered_requests_block_nobody_else() {
    let proxy = Proxy::to(&testkit::new_database(Kind::Postgres)).unwrap();
    let locks = LockManager::new(&Database::connect(proxy.url()).await.unwrap());
    let kim = Owner::new("kim", "Kim");
    locks.try_lock(&LockKey::new("Order", "0"), &kim).await.unwrap();
    proxy.fall_silent_at("never heard");
    let mut asking = JoinSet::new();
    // Four go alone; the next two share a round trip, and later ones wait until it returns.
    for id in ["1", "2", "3", "4", "never heard 1", "never heard 2", "5", "6", "7", "8", "9"] {
        let (locks, kim) = (locks.clone(), kim.clone());
        asking.spawn(async move {
            locks.try_lock(&LockKey::new("Order", id), &kim).await.unwrap().holder().key.id().to_owned()
        });
    }
    let mut answered = Vec::new();
    while answered.len() < 9 {
        let next = tokio::time::timeout(Duration::from_secs(30), asking.join_next()).await;
        answered.push(next.expect("the others wait for two that are never answered").unwrap().unwrap());
    }
    answered.sort();
    assert_eq!(answered, ["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    assert!(asking.try_join_next().is_none(), "nobody has heard of the other two");
}

#[tokio::test]
async fn connection_not_at_read_committed_is_refused() {
    let url = testkit::new_database(Kind::Postgres);
    Database::connect(&url).await.unwrap().close().await;
    let proxy = Proxy::to(&url).unwrap();
    // Like a connection pooler that ignores settings.
    proxy.mishear("read committed", "serializable  ");
    let refused = Database::connect(proxy.url()).await.unwrap_err();
    assert!(
        matches!(&refused, tenure::error::DatabaseError::Schema(what) if what.contains("serializable")),
        "{refused:?}"
    );
}

#[tokio::test]
async fn transaction_not_at_read_committed_is_refused() {
    let proxy = Proxy::to(&testkit::new_database(Kind::Postgres)).unwrap();
    let db = Database::connect(proxy.url()).await.unwrap();
    proxy.mishear("begin isolation level read committed", "begin isolation level serializable  ");
    let refused = db.begin().await.unwrap_err();
    assert!(
        matches!(&refused, tenure::error::DatabaseError::Schema(what) if what.contains("serializable")),
        "{refused:?}"
    );
}

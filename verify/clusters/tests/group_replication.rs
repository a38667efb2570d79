//! MySQL Group Replication with one primary, and all nodes in the URL: a primary without a quorum is not used. The
//! test starts nodes of its own; `TENURE_MYSQL_PROGRAMS` names the programs of MySQL.

#![allow(missing_docs, clippy::unwrap_used)]

use std::time::{Duration, Instant};

use tenure::storage::ConnectOptions;
use tenure::{Database, Error};
use testkit::{DATABASE, GroupReplication};

/// The group itself needs about twenty seconds to replace a primary.
const PATIENCE: Duration = Duration::from_secs(90);

const NOTES: &str = "create table notes (id bigint primary key)";

/// A transaction that writes.
async fn note(db: &Database, id: i64) -> Result<(), Error> {
    let mut tx = db.begin().await?;
    sqlx::query("insert into notes values (?)").bind(id).execute(tx.mysql()?).await?;
    tx.commit().await
}

async fn until_ok<E: std::fmt::Display>(operation: impl AsyncFn() -> Result<(), E>) -> Duration {
    let begun = Instant::now();
    while let Err(error) = operation().await {
        assert!(begun.elapsed() < PATIENCE, "after {:?}: {error}", begun.elapsed());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    begun.elapsed()
}

async fn connect(group: &GroupReplication) -> Database {
    Database::connect_with(&group.url(), ConnectOptions::new().synchronous_failover()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn primary_without_a_quorum_is_not_used() {
    let group = GroupReplication::start(3, false, &[]).unwrap();
    group.nodes()[0].query(DATABASE, NOTES).unwrap();
    let db = connect(&group).await;
    note(&db, 1).await.unwrap();

    group.nodes()[1].pause();
    group.nodes()[2].pause();
    let begun = Instant::now();
    let refused = loop {
        assert!(begun.elapsed() < PATIENCE, "the primary is still used");
        if let Err(error) = Database::connect(&group.url()).await {
            break error.to_string();
        }
    };
    println!("the primary without a quorum was refused after {:?}", begun.elapsed());
    assert!(refused.contains("has no quorum: it reaches 1 of 3"), "{refused}");

    group.nodes()[1].resume();
    group.nodes()[2].resume();
    group.rejoin().unwrap();
    until_ok(async || note(&db, 2).await).await;
}

//! MySQL Group Replication with one primary, behind one address. The test starts nodes of its own; `TENURE_MYSQL_PROGRAMS` names the
//! programs of MySQL.

#![allow(missing_docs, clippy::unwrap_used)]

use std::time::{Duration, Instant};

use tenure::{Database, Error};
use testkit::{DATABASE, GroupReplication, Proxy};

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

#[tokio::test(flavor = "multi_thread")]
async fn next_primary_is_used_behind_the_address() {
    let group = GroupReplication::start(3, false, &[]).unwrap();
    let url = |node: usize| group.nodes()[node].url(DATABASE);
    group.nodes()[0].query(DATABASE, NOTES).unwrap();
    let address = Proxy::to(&url(0)).unwrap();
    // Newer versions of MySQL prove a password over TLS only.
    let db = Database::connect(address.url().split('?').next().unwrap()).await.unwrap();
    note(&db, 1).await.unwrap();

    group.nodes()[0].kill();
    group.wait_until_replaced(0).unwrap();
    let primary = group.primary(1).unwrap().unwrap();
    let other = if primary == 1 { 2 } else { 1 };
    address.lead_to(&url(other));
    let begun = Instant::now();
    while !matches!(note(&db, 2).await, Err(Error::Database(tenure::error::DatabaseError::ReadOnly))) {
        assert!(begun.elapsed() < PATIENCE, "a secondary is not found to be one");
    }
    address.lead_to(&url(primary));
    let took = until_ok(async || note(&db, 3).await).await;
    println!("the first commit after the change of the address: {took:?}");
    assert_eq!(
        group.nodes()[primary].query(DATABASE, "select group_concat(id order by id) from notes").unwrap(),
        "1,3"
    );
}

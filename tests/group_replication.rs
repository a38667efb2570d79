//! MySQL Group Replication with one primary, and all nodes in the URL: a member outside its group is not used, although it accepts writes. Each
//! test starts nodes of its own; `TENURE_MYSQL_PROGRAMS` names the programs of MySQL.

#![allow(missing_docs, clippy::unwrap_used)]

use std::time::{Duration, Instant};

use tenure::storage::ConnectOptions;
use tenure::{Database, Error, LockKey, LockManager, Owner};
use testkit::{DATABASE, GroupReplication};

/// The group itself needs about twenty seconds to replace a primary.
const PATIENCE: Duration = Duration::from_secs(90);

const NOTES: &str = "create table notes (id bigint primary key)";

fn kim() -> Owner {
    Owner::new("kim", "Kim Minji")
}

fn order(no: &str) -> LockKey {
    LockKey::new("Order", no)
}

/// Host and port of a node, as the URL has them.
fn host(group: &GroupReplication, node: usize) -> String {
    group.nodes()[node].url(DATABASE).rsplit_once('@').unwrap().1.split_once('/').unwrap().0.to_owned()
}

/// The host in use, and its epoch.
fn writer(db: &Database) -> (String, i64) {
    let writer = db.capabilities().writer.unwrap();
    (writer.host, writer.epoch)
}

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
async fn restarted_primary_outside_its_group_is_not_used() {
    let group = GroupReplication::start(3, false, &[]).unwrap();
    group.nodes()[0].query(DATABASE, NOTES).unwrap();
    let db = connect(&group).await;
    assert_eq!(writer(&db), (host(&group, 0), 1));
    let locks = LockManager::new(&db);
    let lease = locks.try_lock(&order("1"), &kim()).await.unwrap();
    note(&db, 1).await.unwrap();

    // It accepts writes at once, and the others have not replaced it yet.
    group.nodes()[0].kill();
    group.nodes()[0].restart().unwrap();
    assert_eq!(group.nodes()[0].query(DATABASE, "select @@super_read_only").unwrap(), "0");
    let screen = match Database::diagnose(&group.url()).await {
        Ok(doctor) => doctor.to_string(),
        Err(error) => error.to_string(),
    };
    assert!(
        screen.contains("this server has not joined its Group Replication") || screen.contains("`OFFLINE`"),
        "{screen}"
    );
    let took = until_ok(async || note(&db, 2).await).await;
    println!("the first commit after the kill: {took:?}");
    let (new, epoch) = writer(&db);
    assert_ne!((&new, epoch), (&host(&group, 0), 1));
    assert_eq!(epoch, 2);
    locks.check_lock(lease.id()).await.unwrap();
    assert_eq!(group.nodes()[0].query(DATABASE, "select group_concat(id) from notes").unwrap(), "1");

    group.rejoin().unwrap();
    note(&db, 3).await.unwrap();
    assert_eq!(writer(&db), (new, 2));
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

//! A Galera cluster of three nodes that all accept writes, of which one is declared and used. Each test uses an empty database of its own.

#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tenure::error::{DatabaseError, LockError};
use tenure::db::{ConnectOptions, Writers};
use tenure::{Aggregate, Database, Error, LockKey, LockManager, LockMode, Owner, Repository, Transaction};
use testkit::Galera;

/// All tests share it. The watchdog of each node ends it with this program.
static CLUSTER: LazyLock<Galera> = LazyLock::new(|| Galera::start(3, &[("max-connections", "400")]).unwrap());

#[derive(Debug, Clone, Aggregate)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
    note: String,
}

const TABLES: &str = "create table orders (no varchar(60) character set utf8mb4 collate utf8mb4_nopad_bin primary key,
    note text not null, version bigint not null);
    create table bulk (v int not null); insert into bulk select 0 from seq_1_to_2500";

/// The URLs of an empty database on each node.
fn empty() -> Vec<String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("case_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    CLUSTER.nodes()[0].create_database(&name).unwrap();
    for node in CLUSTER.nodes() {
        // Waits until this node has applied it.
        node.query("mysql", "set session wsrep_sync_wait = 1; select count(*) from user").unwrap();
    }
    CLUSTER.nodes().iter().map(|node| node.url(&name)).collect()
}

/// One process on a node.
struct Process {
    db: Database,
    orders: Repository<Order>,
    locks: LockManager,
}

impl Process {
    async fn on(url: &str) -> Self {
        let db = Database::connect_with(url, ConnectOptions::new().one_writer_node()).await.unwrap();
        Process { orders: Repository::new(&db), locks: LockManager::new(&db), db }
    }

    /// Keeps the other nodes busy for a second or more: without a key, they look for each changed row in the whole table. What this node
    /// commits next is ordered at once, and applied there later. So a transaction there commits in between.
    async fn delay_the_others(&self) {
        sqlx::raw_sql("update bulk set v = v + 1").execute(self.db.mysql().unwrap()).await.unwrap();
    }

    async fn save(&self, tx: &mut Transaction, no: &str) -> Result<(), Error> {
        let mut order = self.orders.find(tx, &no.to_owned(), LockMode::None).await?.unwrap();
        order.note.push('.');
        self.orders.save(tx, &mut order).await.map(drop)
    }

    async fn version(&self) -> i64 {
        self.orders.get(&"1".to_owned()).await.unwrap().unwrap().version().number()
    }
}

/// Processes on two nodes, with the order `1`: the declaration of each is true only while the other one does nothing.
async fn two() -> (Process, Process) {
    let urls = empty();
    let (one, other) = (Process::on(&urls[0]).await, Process::on(&urls[1]).await);
    sqlx::raw_sql(TABLES).execute(one.db.mysql().unwrap()).await.unwrap();
    let mut tx = one.db.begin().await.unwrap();
    one.orders.insert(&mut tx, Order { no: "1".into(), note: String::new() }).await.unwrap();
    tx.commit().await.unwrap();
    (one, other)
}

fn kim() -> Owner {
    Owner::new("kim", "Kim Minji")
}

fn lee() -> Owner {
    Owner::new("lee", "Lee Junho")
}

fn key() -> LockKey {
    LockKey::of::<Order>(&"1".to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_is_refused_unless_one_writer_is_declared() {
    let url = empty().remove(1);
    let refused = Database::connect(&url).await.unwrap_err();
    assert!(matches!(refused, DatabaseError::Unsupported(_)), "{refused:?}");
    assert!(refused.to_string().contains("ConnectOptions::one_writer_node"), "{refused}");
    let diagnosis = Database::diagnose(&url).await.unwrap();
    assert_eq!(diagnosis.writers, Writers::Refused("Galera"));
    assert!(!diagnosis.is_healthy(), "{diagnosis}");
    let declared = ConnectOptions::new().one_writer_node();
    Database::connect_with(&url, declared.clone()).await.unwrap();
    let diagnosis = Database::diagnose_with(&url, declared).await.unwrap();
    assert_eq!(diagnosis.writers, Writers::OneNodeOf("Galera"));
    assert!(diagnosis.is_healthy(), "{diagnosis}");
}

/// As after a change of the writer node.
#[tokio::test(flavor = "multi_thread")]
async fn lease_is_known_on_the_next_writer_node_at_once() {
    let (one, other) = two().await;
    // The key has no row the first time, and a row without a lease the second time.
    for _ in ["first", "again"] {
        one.delay_the_others().await;
        let lease = one.locks.try_lock(&key(), &kim()).await.unwrap();
        assert_eq!(other.locks.check_lock(lease.id()).await.unwrap().holder().generation, lease.holder().generation);
        assert!(matches!(other.locks.try_lock(&key(), &lee()).await, Err(LockError::AlreadyLocked(_))));
        other.locks.release_lock(lease.id()).await.unwrap();
    }
}

/// The cluster does not refuse it: a lock that is only read is not compared with the writes of other nodes.
#[tokio::test(flavor = "multi_thread")]
async fn false_declaration_of_one_writer_saves_after_the_break() {
    let (one, other) = two().await;
    let lease = one.locks.try_lock(&key(), &kim()).await.unwrap();
    let mut tx = one.db.begin().await.unwrap();
    tx.by(&kim()).holding(&key(), lease.id()).await.unwrap();
    other.delay_the_others().await;
    let broken = other.locks.break_lock(&key(), lease.holder().generation, &lee(), "now").await.unwrap();
    assert_eq!(broken.owner, kim());
    one.save(&mut tx, "1").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(one.version().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn save_that_loses_to_another_node_is_a_deadlock() {
    let (one, other) = two().await;
    let mut tx = one.db.begin().await.unwrap();
    one.save(&mut tx, "1").await.unwrap();
    let mut theirs = other.db.begin().await.unwrap();
    other.save(&mut theirs, "1").await.unwrap();
    theirs.commit().await.unwrap();
    let lost = tx.commit().await.unwrap_err();
    assert!(matches!(lost, Error::Database(DatabaseError::Deadlock)), "{lost:?}");
    assert_eq!(other.version().await, 2);
}

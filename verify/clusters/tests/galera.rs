//! Guarantees on a Galera cluster of three nodes that all accept writes. Each test uses an empty database of its own.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tenure::clock::ManualClock;
use tenure::error::{DatabaseError, LockError};
use tenure::storage::{ConnectOptions, Writers};
use tenure::unit_of_work::{Retry, RetryReason};
use tenure::{Aggregate, Database, Error, LockKey, LockManager, LockMode, Owner, Repository, Transaction, Version};
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
    async fn on(url: &str, options: ConnectOptions) -> Self {
        let db = Database::connect_with(url, options).await.unwrap();
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
}

/// Processes on two nodes, with the orders `1` and `2`.
async fn two() -> (Process, Process) {
    two_with(ConnectOptions::new()).await
}

async fn two_with(options: ConnectOptions) -> (Process, Process) {
    two_with_each(options.clone(), options).await
}

async fn two_with_each(ones: ConnectOptions, others: ConnectOptions) -> (Process, Process) {
    let urls = empty();
    let (one, other) = (Process::on(&urls[0], ones).await, Process::on(&urls[1], others).await);
    sqlx::raw_sql(TABLES).execute(one.db.mysql().unwrap()).await.unwrap();
    let mut tx = one.db.begin().await.unwrap();
    for no in ["1", "2"] {
        one.orders.insert(&mut tx, Order { no: no.into(), note: String::new() }).await.unwrap();
    }
    tx.commit().await.unwrap();
    (one, other)
}

fn kim() -> Owner {
    Owner::new("kim", "Kim Minji")
}

fn lee() -> Owner {
    Owner::new("lee", "Lee Junho")
}

fn key(no: &str) -> LockKey {
    LockKey::of::<Order>(&no.to_owned())
}

/// The cluster chose the transaction of the other node. The error comes with the commit, or with an operation before it.
#[track_caller]
fn lost(outcome: Result<(), Error>) {
    match outcome {
        Err(Error::Database(DatabaseError::Deadlock)) => {}
        Err(Error::Database(DatabaseError::Poisoned(first))) if matches!(*first, DatabaseError::Deadlock) => {}
        other => panic!("{other:?}"),
    }
}

async fn versions(process: &Process) -> [i64; 2] {
    let mut versions = [0; 2];
    for (no, version) in ["1", "2"].into_iter().zip(&mut versions) {
        *version = process.orders.get(&no.to_owned()).await.unwrap().unwrap().version().number();
    }
    versions
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_has_several_writers_unless_one_is_declared() {
    let url = empty().remove(1);
    let several = Database::connect(&url).await.unwrap().capabilities();
    assert!(several.several_writers && !several.shared_locks);
    assert!(several.to_string().contains("several writing nodes     yes"), "{several}");
    let diagnosis = Database::diagnose(&url).await.unwrap();
    assert_eq!(diagnosis.writers, Writers::Several("Galera"));
    assert!(diagnosis.is_healthy(), "{diagnosis}");
    let declared = ConnectOptions::new().one_writer_node();
    let one = Database::connect_with(&url, declared.clone()).await.unwrap().capabilities();
    assert!(!one.several_writers && one.shared_locks);
    let diagnosis = Database::diagnose_with(&url, declared).await.unwrap();
    assert_eq!(diagnosis.writers, Writers::OneNodeOf("Galera"));
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_on_three_nodes_migrate_at_once() {
    for _ in 0..3 {
        let urls = empty();
        let [one, two, three] = [0, 1, 2].map(|at| Database::connect(&urls[at]));
        let (one, two, three) = tokio::join!(one, two, three);
        for db in [one.unwrap(), two.unwrap(), three.unwrap()] {
            LockManager::new(&db).try_lock(&LockKey::new("Order", "x"), &kim()).await.map(drop).or_else(held).unwrap();
        }
        let diagnosis = Database::diagnose(&urls[2]).await.unwrap();
        assert_eq!(diagnosis.applied, diagnosis.known);
    }
}

fn held(error: LockError) -> Result<(), LockError> {
    match error {
        LockError::AlreadyLocked(_) => Ok(()),
        error => Err(error),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lease_is_known_on_every_node_once_it_is_granted() {
    let (one, other) = two().await;
    // The key has no row the first time, and a row without a lease the second time.
    for _ in ["first", "again"] {
        let key = key("1");
        one.delay_the_others().await;
        let lease = one.locks.try_lock(&key, &kim()).await.unwrap();
        assert_eq!(other.locks.check_lock(lease.id()).await.unwrap().holder().generation, lease.holder().generation);
        assert!(matches!(other.locks.try_lock(&key, &lee()).await, Err(LockError::AlreadyLocked(_))));
        other.locks.release_lock(lease.id()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn save_under_a_lease_fails_after_a_break_on_another_node() {
    let (one, other) = two().await;
    let lease = one.locks.try_lock(&key("1"), &kim()).await.unwrap();
    let mut tx = one.db.begin().await.unwrap();
    tx.by(&kim()).holding(&key("1"), lease.id()).await.unwrap();
    other.delay_the_others().await;
    other.locks.break_lock(&key("1"), lease.holder().generation, &lee(), "now").await.unwrap();
    lost(async { one.save(&mut tx, "1").await.and(tx.commit().await) }.await);
    assert_eq!(versions(&other).await, [1, 1]);
}

/// The cluster does not refuse it: a lock that is only read is not compared with the writes of other nodes.
#[tokio::test(flavor = "multi_thread")]
async fn false_declaration_of_one_writer_saves_after_the_break() {
    let (one, other) = two_with(ConnectOptions::new().one_writer_node()).await;
    let lease = one.locks.try_lock(&key("1"), &kim()).await.unwrap();
    let mut tx = one.db.begin().await.unwrap();
    tx.by(&kim()).holding(&key("1"), lease.id()).await.unwrap();
    other.delay_the_others().await;
    let broken = other.locks.break_lock(&key("1"), lease.holder().generation, &lee(), "now").await.unwrap();
    assert_eq!(broken.owner, kim());
    one.save(&mut tx, "1").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(versions(&one).await, [2, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn save_unless_locked_fails_after_a_grant_on_another_node() {
    let (one, other) = two().await;
    // The key has no row the first time, and a row without a lease the second time.
    for _ in ["first", "again"] {
        let mut tx = one.db.begin().await.unwrap();
        tx.unless_locked(&key("1")).await.unwrap();
        other.delay_the_others().await;
        let lease = other.locks.try_lock(&key("1"), &lee()).await.unwrap();
        lost(async { one.save(&mut tx, "1").await.and(tx.commit().await) }.await);
        other.locks.release_lock(lease.id()).await.unwrap();
    }
    assert_eq!(versions(&other).await, [1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn required_version_fails_after_a_save_on_another_node() {
    let (one, other) = two().await;
    let mut tx = one.db.begin().await.unwrap();
    one.orders.assert_unchanged(&mut tx, &"1".into(), Version::FIRST).await.unwrap();
    other.delay_the_others().await;
    let mut theirs = other.db.begin().await.unwrap();
    other.save(&mut theirs, "1").await.unwrap();
    theirs.commit().await.unwrap();
    lost(async { one.save(&mut tx, "2").await.and(tx.commit().await) }.await);
    assert_eq!(versions(&other).await, [2, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn row_lock_without_a_save_conflicts_with_another_node() {
    for mode in [LockMode::PessimisticRead, LockMode::PessimisticWrite] {
        let (one, other) = two().await;
        let mut tx = one.db.begin().await.unwrap();
        one.orders.find(&mut tx, &"1".into(), mode).await.unwrap().unwrap();
        other.delay_the_others().await;
        let mut theirs = other.db.begin().await.unwrap();
        other.save(&mut theirs, "1").await.unwrap();
        theirs.commit().await.unwrap();
        lost(async { one.save(&mut tx, "2").await.and(tx.commit().await) }.await);
        assert_eq!(versions(&other).await, [2, 1]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn held_rows_are_the_same_after_the_commit() {
    let (one, other) = two().await;
    let mut tx = one.db.begin().await.unwrap();
    one.orders.find(&mut tx, &"1".into(), LockMode::PessimisticRead).await.unwrap().unwrap();
    one.orders.assert_unchanged(&mut tx, &"2".into(), Version::FIRST).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(versions(&other).await, [1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn update_that_lost_to_another_node_is_run_again() {
    let (one, other) = two().await;
    let (locks, here, attempts) = (&other.locks, &one.locks, &AtomicU32::new(0));
    let update = one.orders.update(&"1".into()).unless_locked().also(move |_tx, _order| async move {
        if attempts.fetch_add(1, Ordering::Relaxed) == 0 {
            let lease = locks.try_lock(&key("1"), &lee()).await.unwrap();
            locks.release_lock(lease.id()).await.unwrap();
            // On a busy machine this node may show the lease for a moment more.
            while !here.holders(&key("1")).await.unwrap().is_empty() {}
        }
        Ok(())
    });
    let again = update.retrying(Retry::transient(3)).run(|order| {
        order.note.push('.');
        Ok::<_, std::convert::Infallible>(())
    });
    assert_eq!(again.await.unwrap().reasons, [RetryReason::Deadlock]);
    assert_eq!(versions(&other).await, [2, 1]);
}

/// Each node judges a lease by its own clock. Here the other node's is ten minutes ahead, so the lease has expired there.
#[tokio::test(flavor = "multi_thread")]
async fn fast_clock_of_a_node_ends_a_lease_and_its_saves() {
    let (ours, theirs) = (ManualClock::new(), ManualClock::new());
    theirs.advance(Duration::from_secs(600));
    let by = |clock: &ManualClock| ConnectOptions::new().clock(clock.clone());
    let (one, other) = two_with_each(by(&ours), by(&theirs)).await;
    let lease = one.locks.try_lock(&key("1"), &kim()).await.unwrap();
    let mut tx = one.db.begin().await.unwrap();
    tx.by(&kim()).holding(&key("1"), lease.id()).await.unwrap();
    other.delay_the_others().await;
    let next = other.locks.try_lock(&key("1"), &lee()).await.unwrap();
    assert_eq!(next.holder().generation, lease.holder().generation + 1);
    lost(async { one.save(&mut tx, "1").await.and(tx.commit().await) }.await);
    assert!(one.locks.check_lock(lease.id()).await.is_err());
    assert_eq!(versions(&other).await, [1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_nodes_inserts_an_id() {
    let (one, other) = two().await;
    let new = || Order { no: "3".into(), note: String::new() };
    let mut tx = one.db.begin().await.unwrap();
    one.orders.insert(&mut tx, new()).await.unwrap();
    other.delay_the_others().await;
    let mut theirs = other.db.begin().await.unwrap();
    other.orders.insert(&mut theirs, new()).await.unwrap();
    theirs.commit().await.unwrap();
    lost(tx.commit().await);
    let mut tx = one.db.begin().await.unwrap();
    assert!(matches!(one.orders.insert(&mut tx, new()).await, Err(Error::AlreadyExists { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn waiter_on_another_node_gets_the_released_lease() {
    let (one, other) = two().await;
    let lease = one.locks.try_lock(&key("1"), &kim()).await.unwrap();
    let waiting = other.locks.lock(&key("1"), &lee()).within(Duration::from_secs(30));
    let (granted, released) = tokio::join!(waiting, one.locks.release_lock(lease.id()));
    released.unwrap();
    assert_eq!(granted.unwrap().holder().generation, lease.holder().generation + 1);
}

/// In a loop, because the moment decides where the cluster aborts the loser.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_nodes_is_granted_an_expired_key() {
    let clock = ManualClock::new();
    let (one, other) = two_with(ConnectOptions::new().clock(clock.clone())).await;
    let (key, kim, lee) = (key("1"), kim(), lee());
    for generation in 1..=300 {
        let (first, second) = tokio::join!(one.locks.try_lock(&key, &kim), other.locks.try_lock(&key, &lee));
        let granted: Vec<_> = [first, second].into_iter().flatten().collect();
        assert_eq!(granted.len(), 1, "{granted:?}");
        let lease = other.locks.check_lock(granted[0].id()).await.unwrap();
        assert_eq!(lease.holder().generation, generation);
        clock.advance(Duration::from_secs(600));
    }
}

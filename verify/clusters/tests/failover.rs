//! Databases whose URL names several hosts: the writer is found, followed after a failover, and never replaced by an older one. Each test
//! starts servers of its own.

#![allow(missing_docs, clippy::unwrap_used)]

use std::future::IntoFuture;
use std::time::{Duration, Instant};

use tenure::clock::ManualClock;
use tenure::error::{DatabaseError, LeaseError, LockError};
use tenure::storage::ConnectOptions;
use tenure::{Database, Error, LockId, LockKey, LockManager, Owner};
use testkit::{DATABASE, Galera, MariaDb, MariaDbPair, Postgres, PostgresPair};

/// A failover takes about a second here; other builds may keep the machine busy.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time to live of the default policy: the pause of grants without a declaration.
const PAUSE: Duration = Duration::from_secs(300);

const NOTES: &str = "create table notes (id bigint primary key)";

fn kim() -> Owner {
    Owner::new("kim", "Kim Minji")
}

fn lee() -> Owner {
    Owner::new("lee", "Lee Junho")
}

fn order(no: &str) -> LockKey {
    LockKey::new("Order", no)
}

/// Host and port of a server, as the URL has them.
fn host(url: &str) -> String {
    url.rsplit_once('@').unwrap().1.split_once('/').unwrap().0.to_owned()
}

/// The host in use, and its epoch.
fn writer(db: &Database) -> (String, i64) {
    let writer = db.capabilities().writer.unwrap();
    (writer.host, writer.epoch)
}

/// Repeats an operation until it succeeds; returns how long that took.
async fn until_ok<T, E: std::fmt::Display>(operation: impl AsyncFn() -> Result<T, E>) -> (T, Duration) {
    let begun = Instant::now();
    loop {
        match operation().await {
            Ok(done) => return (done, begun.elapsed()),
            Err(error) => assert!(begun.elapsed() < PATIENCE, "after {:?}: {error}", begun.elapsed()),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A transaction that writes.
async fn note(db: &Database, id: i64) -> Result<(), Error> {
    let mut tx = db.begin().await?;
    if let Ok(connection) = tx.postgres() {
        sqlx::query("insert into notes values ($1)").bind(id).execute(connection).await?;
    } else {
        sqlx::query("insert into notes values (?)").bind(id).execute(tx.mysql()?).await?;
    }
    tx.commit().await
}

fn paused<T: std::fmt::Debug>(answer: Result<T, LockError>) -> Duration {
    match answer {
        Err(LockError::Database(DatabaseError::GrantsPaused { remaining })) => remaining,
        other => panic!("{other:?}"),
    }
}

/// Ends the primary without a chance to clean up, and makes the standby the primary.
fn fail_over(pair: &PostgresPair) {
    pair.servers()[0].kill();
    pair.promote().unwrap();
}

fn notes(server: &Postgres) -> String {
    server.query(DATABASE, "select string_agg(id::text, ',' order by id) from notes").unwrap()
}

fn notes_of_mariadb(server: &MariaDb) -> String {
    server.query(DATABASE, "select group_concat(id order by id) from notes").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn writer_is_found_whatever_the_order_of_the_hosts() {
    let pair = PostgresPair::start().unwrap();
    let [primary, standby] = pair.servers().each_ref().map(|server| host(&server.url(DATABASE)));
    for order in [[0, 1], [1, 0]] {
        let url = pair.url(order);
        let db = Database::connect(&url).await.unwrap();
        assert_eq!(writer(&db), (primary.clone(), 1));
        db.begin().await.unwrap().commit().await.unwrap();
        let doctor = Database::diagnose(&url).await.unwrap();
        assert!(doctor.is_healthy(), "{doctor}");
        let screen = doctor.to_string();
        assert!(screen.contains(&format!("{primary}: accepts writes, epoch 1")), "{screen}");
        assert!(screen.contains(&format!("{standby}: it is a standby")), "{screen}");
        assert!(screen.contains(&format!("writer                    {primary}, epoch 1")), "{screen}");
        db.close().await;
    }
    assert_eq!(Database::connect(&pair.servers()[0].url(DATABASE)).await.unwrap().capabilities().writer, None);
    let role = "create role reader login password 'secret' in role pg_read_all_data";
    pair.servers()[0].query(DATABASE, role).unwrap();
    pair.wait_until_the_same().unwrap();
    let reader = Database::connect(&pair.url([1, 0]).replace("tenure:", "reader:")).await.unwrap();
    assert_eq!(writer(&reader), (primary.clone(), 1));

    pair.servers()[0].kill();
    let refused = Database::connect(&pair.url([0, 1])).await.unwrap_err().to_string();
    assert!(refused.contains(&format!("{primary}: ")) && refused.contains("refused"), "{refused}");
    assert!(refused.contains(&format!("{standby}: it is a standby")), "{refused}");
    assert!(!refused.contains("secret"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn same_database_goes_on_after_a_failover_and_never_back() {
    let pair = PostgresPair::start().unwrap();
    let [old, new] = pair.servers();
    old.query(DATABASE, NOTES).unwrap();
    let db = Database::connect(&pair.url([0, 1])).await.unwrap();
    let late = Database::connect(&pair.url([1, 0])).await.unwrap();
    for process in [&db, &late] {
        process.begin().await.unwrap().commit().await.unwrap();
    }
    note(&db, 1).await.unwrap();
    let mut open = db.begin().await.unwrap();
    pair.wait_until_the_same().unwrap();

    fail_over(&pair);
    let (_, took) = until_ok(async || note(&db, 2).await).await;
    println!("the first commit after the promotion: {took:?}");
    assert_eq!(writer(&db), (host(&new.url(DATABASE)), 2));
    assert!(open.postgres().is_err() || open.commit().await.is_err(), "it was on the old primary");

    // It answers as a primary again, in the old epoch. One process knows, and one has not noticed the failover.
    old.restart().unwrap();
    for id in 10..30 {
        until_ok(async || note(&db, id).await).await;
        until_ok(async || note(&late, 100 + id).await).await;
    }
    let (_, _) = until_ok(async || sqlx::query("select 1").execute(late.postgres().unwrap()).await).await;
    assert_eq!(writer(&late), (host(&new.url(DATABASE)), 2));
    let another = Database::connect(&pair.url([0, 1])).await.unwrap();
    assert_eq!(writer(&another), (host(&new.url(DATABASE)), 2));
    assert_eq!(notes(old), "1");
    assert_eq!(notes(new).split(',').count(), 42);

    // Without the new primary nothing is written, rather than to the old one.
    new.kill();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        note(&db, 1000).await.unwrap_err();
    }
    let refused = db.begin().await.unwrap_err();
    assert!(refused.is_retryable() && refused.to_string().contains("in the old epoch 1"), "{refused}");
    assert_eq!(notes(old), "1");
    new.restart().unwrap();
    until_ok(async || note(&db, 1001).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statement_on_the_old_primary_is_not_sent_after_a_failover() {
    let pair = PostgresPair::start().unwrap();
    let [old, new] = pair.servers();
    old.query(DATABASE, NOTES).unwrap();
    let db = Database::connect(&pair.url([0, 1])).await.unwrap();
    let mut open = db.begin().await.unwrap();
    note(&db, 1).await.unwrap();
    sqlx::query("insert into notes values (2)").execute(open.postgres().unwrap()).await.unwrap();
    let process: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(open.postgres().unwrap()).await.unwrap();
    pair.wait_until_the_same().unwrap();

    // Two primaries: the old one is not fenced, and the transaction on it still open.
    pair.promote().unwrap();
    let others = format!("application_name = 'tenure' and pid <> {process}");
    old.query(DATABASE, &format!("select pg_terminate_backend(pid) from pg_stat_activity where {others}")).unwrap();
    until_ok(async || note(&db, 3).await).await;
    assert_eq!(writer(&db), (host(&new.url(DATABASE)), 2));
    let failed = open.commit().await.unwrap_err();
    assert!(matches!(&failed, Error::Database(DatabaseError::ConnectionLost(_))), "{failed}");
    assert_eq!((&*notes(old), &*notes(new)), ("1", "1,3"));
}

#[tokio::test(flavor = "multi_thread")]
async fn primary_that_was_replaced_unnoticed_is_left_after_a_while() {
    let pair = PostgresPair::start().unwrap();
    let [old, new] = pair.servers();
    old.query(DATABASE, NOTES).unwrap();
    let db = Database::connect(&pair.url([0, 1])).await.unwrap();
    note(&db, 1).await.unwrap();
    pair.wait_until_the_same().unwrap();

    // No connection is lost, and the old primary does not know it.
    pair.promote().unwrap();
    let begun = Instant::now();
    let mut id = 1;
    while writer(&db).1 < 2 {
        assert!(begun.elapsed() < PATIENCE, "still on the old primary");
        id += 1;
        until_ok(async || note(&db, id).await).await;
    }
    println!("the old primary was left after {:?}", begun.elapsed());
    until_ok(async || note(&db, 100_000).await).await;
    assert!(notes(new).ends_with(",100000") && !notes(old).ends_with(",100000"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_granted_for_one_ttl_after_an_asynchronous_failover() {
    let pair = PostgresPair::start().unwrap();
    let clock = ManualClock::new();
    let options = ConnectOptions::new().clock(clock.clone());
    let url = pair.url([0, 1]);
    let db = Database::connect_with(&url, options.clone()).await.unwrap();
    let locks = LockManager::new(&db);
    let surviving = locks.try_lock(&order("1"), &kim()).await.unwrap();
    pair.wait_until_the_same().unwrap();
    pair.stop_replication().unwrap();
    let lost = locks.try_lock(&order("2"), &kim()).await.unwrap();

    fail_over(&pair);
    until_ok(async || db.begin().await?.commit().await).await;
    assert!(locks.keep_alive(&[lost.id().clone()]).await.unwrap()[0].is_err(), "the failover has lost it");
    let other = Database::connect_with(&url, options).await.unwrap();
    for locks in [&locks, &LockManager::new(&other)] {
        // Kim may still rely on it.
        assert_eq!(paused(locks.try_lock(&order("2"), &lee()).await), PAUSE);
        assert_eq!(paused(locks.try_lock(&order("5"), &kim()).await), PAUSE);
        let generation = surviving.holder().generation;
        let taken =
            locks.take_over(&order("1"), generation, &kim(), LockId::random(), "another tab").await.unwrap_err();
        assert!(taken.to_string().contains("no lock is granted for another"), "{taken}");
    }
    clock.advance(PAUSE - Duration::from_secs(1));
    assert!(locks.keep_alive(&[surviving.id().clone()]).await.unwrap()[0].is_ok());
    locks.check_lock(surviving.id()).await.unwrap();
    let again = locks.try_lock_as(&order("1"), &kim(), surviving.id().clone()).await.unwrap();
    assert_eq!(again.holder().generation, surviving.holder().generation);
    assert_eq!(paused(locks.try_lock(&order("2"), &lee()).await), Duration::from_secs(1));
    let waiting = tokio::spawn(locks.lock(&order("2"), &lee()).within(PATIENCE).into_future());
    locks.release_lock(surviving.id()).await.unwrap();

    clock.advance(Duration::from_secs(1));
    assert_eq!(waiting.await.unwrap().unwrap().holder().owner, lee());
    locks.try_lock(&order("1"), &lee()).await.unwrap();
    let ended = locks.check_lock(lost.id()).await.unwrap_err();
    assert!(matches!(ended, LeaseError::NoLock(_)), "{ended}");
}

#[tokio::test(flavor = "multi_thread")]
async fn declared_synchronous_failover_grants_at_once() {
    let pair = PostgresPair::start().unwrap();
    let options = ConnectOptions::new().synchronous_failover();
    let db = Database::connect_with(&pair.url([0, 1]), options).await.unwrap();
    let locks = LockManager::new(&db);
    let lease = locks.try_lock(&order("1"), &kim()).await.unwrap();
    pair.wait_until_the_same().unwrap();
    fail_over(&pair);
    let (granted, _) = until_ok(async || locks.try_lock(&order("2"), &lee()).await).await;
    assert_eq!(writer(&db).1, 2);
    locks.check_lock(lease.id()).await.unwrap();
    locks.release_lock(granted.id()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn waiters_move_to_the_new_primary() {
    let pair = PostgresPair::start().unwrap();
    let options = ConnectOptions::new().synchronous_failover();
    let (one, two) = (
        Database::connect_with(&pair.url([0, 1]), options.clone()).await.unwrap(),
        Database::connect_with(&pair.url([0, 1]), options).await.unwrap(),
    );
    let (hers, his) = (LockManager::new(&one), LockManager::new(&two));
    let lease = hers.try_lock(&order("1"), &kim()).await.unwrap();
    pair.wait_until_the_same().unwrap();
    let waiting = tokio::spawn(his.lock(&order("1"), &lee()).within(PATIENCE).into_future());
    fail_over(&pair);
    pair.servers()[0].restart().unwrap();
    until_ok(async || hers.release_lock(lease.id()).await).await;
    assert_eq!(waiting.await.unwrap().unwrap().holder().owner, lee());
}

#[tokio::test(flavor = "multi_thread")]
async fn replica_of_mariadb_that_was_promoted_is_a_new_epoch() {
    let pair = MariaDbPair::start().unwrap();
    let [old, new] = pair.servers();
    old.query(DATABASE, NOTES).unwrap();
    let pause = Duration::from_secs(3);
    let options = ConnectOptions::new().longest_ttl(pause);
    let db = Database::connect_with(&pair.url([1, 0]), options.clone()).await.unwrap();
    assert_eq!(writer(&db), (host(&old.url(DATABASE)), 1));
    let screen = Database::diagnose(&pair.url([0, 1])).await.unwrap().to_string();
    assert!(screen.contains("it is read-only (`read_only` is ON)"), "{screen}");
    let locks = LockManager::new(&db);
    let surviving = locks.try_lock(&order("1"), &kim()).await.unwrap();
    note(&db, 1).await.unwrap();
    pair.wait_until_the_same().unwrap();

    old.kill();
    pair.promote().unwrap();
    let (_, took) = until_ok(async || note(&db, 2).await).await;
    println!("the first commit after the promotion: {took:?}");
    let begun = Instant::now();
    assert_eq!(writer(&db), (host(&new.url(DATABASE)), 2));
    assert!(paused(locks.try_lock(&order("2"), &lee()).await) <= pause);
    assert!(locks.keep_alive(&[surviving.id().clone()]).await.unwrap()[0].is_ok());
    locks.lock(&order("2"), &lee()).within(PATIENCE).await.unwrap();
    println!("granted {:?} after the first commit", begun.elapsed());

    // The old primary accepts writes again.
    old.restart().unwrap();
    for id in 10..30 {
        until_ok(async || note(&db, id).await).await;
    }
    let another = Database::connect_with(&pair.url([0, 1]), options).await.unwrap();
    assert_eq!(writer(&another), (host(&new.url(DATABASE)), 2));
    assert_eq!(notes_of_mariadb(old), "1");
    assert_eq!(notes_of_mariadb(new).split(',').count(), 22);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_writers_of_one_epoch_are_refused() {
    let pair = MariaDbPair::start().unwrap();
    drop(Database::connect(&pair.url([0, 1])).await.unwrap());
    pair.wait_until_the_same().unwrap();
    pair.servers()[1].query("mysql", "set global read_only = 0").unwrap();
    let refused = Database::connect(&pair.url([0, 1])).await.unwrap_err().to_string();
    assert_eq!(refused.matches("so does another host").count(), 2, "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn galera_node_that_is_lost_or_has_no_quorum_leaves_the_pool() {
    let cluster = Galera::start(3, &[("max-connections", "400")]).unwrap();
    let nodes: Vec<String> = cluster.urls().iter().map(|url| host(url)).collect();
    let url = cluster.url();
    let db = Database::connect(&url).await.unwrap();
    cluster.nodes()[0].query(DATABASE, NOTES).unwrap();
    assert_eq!(writer(&db), (nodes[0].clone(), 0));
    assert!(db.capabilities().several_writers);
    let locks = LockManager::new(&db);
    let lease = locks.try_lock(&order("1"), &kim()).await.unwrap();
    note(&db, 1).await.unwrap();

    // It still accepts connections, and answers `select 1`.
    cluster.isolate(0, true).unwrap();
    let (_, took) = until_ok(async || note(&db, 2).await).await;
    println!("the first commit after the isolation: {took:?}");
    assert_eq!(writer(&db).0, nodes[1]);
    let screen = Database::diagnose(&url).await.unwrap().to_string();
    assert!(screen.contains(&format!("{}: this node of a Galera cluster has no quorum", nodes[0])), "{screen}");
    until_ok(async || locks.check_lock(lease.id()).await).await;
    locks.try_lock(&order("2"), &lee()).await.unwrap();

    cluster.isolate(0, false).unwrap();
    cluster.wait_until_synced(0).unwrap();
    cluster.nodes()[1].kill();
    let (_, took) = until_ok(async || note(&db, 3).await).await;
    println!("the first commit after the kill: {took:?}");
    assert_eq!(writer(&db).0, nodes[0]);
    locks.release_lock(lease.id()).await.unwrap();

    let declared = ConnectOptions::new().one_writer_node();
    let refused = Database::connect_with(&url, declared).await.unwrap_err().to_string();
    assert!(refused.contains("name one host"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn faulty_lists_of_hosts_are_refused_before_connecting() {
    for (url, reason) in [
        ("postgres://kim:secret@a,,b/shop", "host 2 of the list is empty"),
        ("postgres://kim:secret@a,a:5432/shop", "names the host a:5432 twice"),
        ("postgres://kim:secret@a,b/shop?host=c", "several hosts, and `host`"),
        ("mysql://kim:secret@a:0,b/shop", "no valid port"),
        ("mysql://kim:secret@a,b/shop?socket=c", "several hosts, and `socket`"),
        ("sqlite://a:1,b:2/shop.db", "no list of hosts"),
    ] {
        let refused = Database::connect(url).await.unwrap_err().to_string();
        assert!(refused.contains(reason) && !refused.contains("secret"), "{url}: {refused}");
    }
}

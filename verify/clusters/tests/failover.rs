//! One address in front of several servers, which leads to another one after a failover. Each test starts servers of its own.

#![allow(missing_docs, clippy::unwrap_used)]

use std::time::{Duration, Instant};

use tenure::db::ConnectOptions;
use tenure::error::{DatabaseError, ErrorCode, LeaseError};
use tenure::lease::LockPolicy;
use tenure::unit_of_work::{Retry, Transient};
use tenure::{Database, Error, LockKey, LockManager, Owner};
use testkit::{DATABASE, Galera, MariaDb, MariaDbPair, Postgres, PostgresPair, Proxy};

/// A failover takes about a second here; other builds may keep the machine busy.
const PATIENCE: Duration = Duration::from_secs(30);

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

/// Ends the primary without a chance to clean up, makes the standby the primary, and lets the address lead there.
fn fail_over(pair: &PostgresPair, address: &Proxy) {
    pair.servers()[0].kill();
    pair.promote().unwrap();
    address.lead_to(&pair.servers()[1].url(DATABASE));
}

fn notes(server: &Postgres) -> String {
    server.query(DATABASE, "select string_agg(id::text, ',' order by id) from notes").unwrap()
}

fn notes_of_mariadb(server: &MariaDb) -> String {
    server.query(DATABASE, "select group_concat(id order by id) from notes").unwrap()
}

fn is_read_only(error: &DatabaseError) -> bool {
    matches!(error, DatabaseError::ReadOnly) && error.is_retryable()
}

#[tokio::test(flavor = "multi_thread")]
async fn same_database_goes_on_after_a_failover() {
    let pair = PostgresPair::start().unwrap();
    let [old, new] = pair.servers();
    old.query(DATABASE, NOTES).unwrap();
    let address = Proxy::to(&old.url(DATABASE)).unwrap();
    let db = Database::connect(address.url()).await.unwrap();
    let locks = LockManager::new(&db);
    let lease = locks.try_lock(&order("1"), &kim()).await.unwrap();
    note(&db, 1).await.unwrap();
    let mut open = db.begin().await.unwrap();
    pair.wait_until_the_same().unwrap();

    fail_over(&pair, &address);
    let (_, took) = until_ok(async || note(&db, 2).await).await;
    println!("the first commit after the promotion: {took:?}");
    assert!(open.postgres().is_err() || open.commit().await.is_err(), "it was on the old primary");
    until_ok(async || locks.check_lock(lease.id()).await).await;
    until_ok(async || locks.release_lock(lease.id()).await).await;
    assert_eq!(notes(new), "1,2");
}

#[tokio::test(flavor = "multi_thread")]
async fn standby_behind_the_address_is_left_as_soon_as_it_leads_elsewhere() {
    let pair = PostgresPair::start().unwrap();
    let [primary, standby] = pair.servers();
    primary.query(DATABASE, NOTES).unwrap();
    let address = Proxy::to(&primary.url(DATABASE)).unwrap();
    let db = Database::connect(address.url()).await.unwrap();
    note(&db, 1).await.unwrap();
    pair.wait_until_the_same().unwrap();

    address.lead_to(&standby.url(DATABASE));
    let of_tenure = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tenure'";
    primary.query(DATABASE, of_tenure).unwrap();
    let refused = loop {
        match note(&db, 2).await.unwrap_err() {
            Error::Database(DatabaseError::ConnectionLost(_)) => {}
            Error::Database(error) => break error,
            error => panic!("{error}"),
        }
    };
    assert!(is_read_only(&refused), "{refused:?}");
    for options in [ConnectOptions::new(), ConnectOptions::new().allow_unsafe_durability()] {
        let refused = Database::connect_with(address.url(), options).await.unwrap_err();
        assert!(is_read_only(&refused), "{refused:?}");
    }
    let doctor = Database::diagnose(address.url()).await.unwrap();
    assert!(!doctor.is_healthy() && doctor.to_string().contains("This is a standby"), "{doctor}");
    assert!(LockManager::new(&db).try_lock(&order("1"), &kim()).await.is_err());

    address.lead_to(&primary.url(DATABASE));
    note(&db, 3).await.unwrap();
    LockManager::new(&db).try_lock(&order("1"), &kim()).await.unwrap();
    assert_eq!(notes(primary), "1,3");
}

/// As after a change of a DNS name.
#[tokio::test(flavor = "multi_thread")]
async fn connection_to_a_replaced_server_ends_with_its_longest_life() {
    let pair = PostgresPair::start().unwrap();
    let [old, new] = pair.servers();
    old.query(DATABASE, NOTES).unwrap();
    let address = Proxy::to(&old.url(DATABASE)).unwrap();
    let options = ConnectOptions::new().connection_lifetime(Duration::from_millis(1500));
    let db = Database::connect_with(address.url(), options).await.unwrap();
    note(&db, 1).await.unwrap();
    pair.wait_until_the_same().unwrap();

    // Nothing fences the old primary off: the connections stay, and it accepts writes.
    pair.promote().unwrap();
    address.lead_to(&new.url(DATABASE));
    let begun = Instant::now();
    let mut id = 2;
    while !notes(new).contains(&format!(",{}", id - 1)) || id == 2 {
        assert!(begun.elapsed() < PATIENCE, "still on the old primary");
        note(&db, id).await.unwrap();
        id += 1;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    println!("the old primary was left after {:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_grant_is_granted_again_and_its_first_holder_cannot_save() {
    let pair = PostgresPair::start().unwrap();
    let address = Proxy::to(&pair.servers()[0].url(DATABASE)).unwrap();
    let db = Database::connect(address.url()).await.unwrap();
    let locks = LockManager::new(&db).with_policy("Order", LockPolicy::exclusive());
    let ended = locks.try_lock(&order("1"), &kim()).await.unwrap();
    pair.wait_until_the_same().unwrap();
    pair.stop_replication().unwrap();
    locks.release_lock(ended.id()).await.unwrap();
    let lost = locks.try_lock(&order("2"), &kim()).await.unwrap();

    fail_over(&pair, &address);
    // An end that was lost returns.
    until_ok(async || locks.check_lock(ended.id()).await).await;
    let (again, _) = until_ok(async || locks.try_lock(&order("2"), &lee()).await).await;
    assert_eq!(again.holder().generation, lost.holder().generation, "generations repeat");
    let refused = loop {
        match locks.check_lock(lost.id()).await.unwrap_err() {
            // Each connection finds out by itself.
            LeaseError::Database(error) if error.is_retryable() => {}
            refused => break refused,
        }
    };
    assert!(matches!(refused, LeaseError::NoLock(_)), "{refused}");
    let (mut tx, _) = until_ok(async || db.begin().await).await;
    let refused = tx.by(&kim()).holding(&order("2"), lost.id()).await.unwrap_err();
    assert!(matches!(refused, Error::NoLock(_)), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn transaction_on_a_server_that_became_read_only_is_run_again_on_the_writer() {
    let pair = MariaDbPair::start().unwrap();
    let [old, new] = pair.servers();
    old.query(DATABASE, NOTES).unwrap();
    // Whoever has all rights writes to a read-only server.
    let clerk = format!("create user clerk identified by 'secret'; grant all on {DATABASE}.* to clerk");
    old.query(DATABASE, &clerk).unwrap();
    let url = |server: &MariaDb| server.url(DATABASE).replace("tenure:secret@", "clerk:secret@");
    let address = Proxy::to(&url(old)).unwrap();
    let db = Database::connect(address.url()).await.unwrap();
    let locks = LockManager::new(&db);
    let lease = locks.try_lock(&order("1"), &kim()).await.unwrap();
    note(&db, 1).await.unwrap();
    let mut open = db.begin().await.unwrap();
    pair.wait_until_the_same().unwrap();

    // The old primary has become a replica; its connections stay open.
    old.query("mysql", "set global read_only = 1").unwrap();
    match open.unless_locked(&order("2")).await.unwrap_err() {
        Error::Database(error) => assert!(is_read_only(&error), "{error:?}"),
        error => panic!("{error}"),
    }
    assert!(open.commit().await.is_err());
    pair.promote().unwrap();
    address.lead_to(&url(new));
    let db = &db;
    let done = db.retry(Retry::transient(3).within(PATIENCE), || async {
        let mut tx = db.begin().await?;
        tx.unless_locked(&order("2")).await?;
        sqlx::query("insert into notes values (3)").execute(tx.mysql()?).await?;
        tx.commit().await
    });
    let reasons = done.await.unwrap_or_else(|error| panic!("{error} ({:?})", error.retry_reason())).reasons;
    let expected = [ErrorCode::ConnectionLost, ErrorCode::ReadOnly];
    assert!(reasons.iter().all(|reason| expected.contains(reason)), "{reasons:?}");
    assert!(locks.keep_alive(&[lease.id().clone()]).await.unwrap()[0].is_ok());
    assert_eq!((notes_of_mariadb(old), notes_of_mariadb(new)), ("1".to_owned(), "1,3".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn replica_of_mariadb_takes_the_place_of_a_killed_primary() {
    let pair = MariaDbPair::start().unwrap();
    let [old, new] = pair.servers();
    old.query(DATABASE, NOTES).unwrap();
    let address = Proxy::to(&old.url(DATABASE)).unwrap();
    let db = Database::connect(address.url()).await.unwrap();
    note(&db, 1).await.unwrap();
    pair.wait_until_the_same().unwrap();
    old.kill();
    address.lead_to(&new.url(DATABASE));
    let refused = loop {
        match note(&db, 2).await.unwrap_err() {
            Error::Database(DatabaseError::ConnectionLost(_)) => {}
            Error::Database(error) => break error,
            error => panic!("{error}"),
        }
    };
    assert!(is_read_only(&refused), "{refused:?}");
    pair.promote().unwrap();
    let (_, took) = until_ok(async || note(&db, 3).await).await;
    println!("the first commit after the promotion: {took:?}");
    assert_eq!(notes_of_mariadb(new), "1,3");
}

#[tokio::test(flavor = "multi_thread")]
async fn galera_node_without_a_quorum_is_left() {
    let cluster = Galera::start(3, &[("max-connections", "400")]).unwrap();
    let urls = cluster.urls();
    cluster.nodes()[0].query(DATABASE, NOTES).unwrap();
    let address = Proxy::to(&urls[0]).unwrap();
    let db = Database::connect_with(address.url(), ConnectOptions::new().one_writer_node()).await.unwrap();
    let locks = LockManager::new(&db);
    let lease = locks.try_lock(&order("1"), &kim()).await.unwrap();
    note(&db, 1).await.unwrap();

    // It still accepts connections, and answers `select 1`.
    cluster.isolate(0, true).unwrap();
    address.lead_to(&urls[1]);
    let (_, took) = until_ok(async || note(&db, 2).await).await;
    println!("the first commit after the isolation: {took:?}");
    until_ok(async || locks.check_lock(lease.id()).await).await;
    // Each connection finds out by itself.
    until_ok(async || locks.try_lock(&order("2"), &lee()).await).await;

    cluster.isolate(0, false).unwrap();
    cluster.wait_until_synced(0).unwrap();
    cluster.nodes()[1].kill();
    address.lead_to(&urls[0]);
    let (_, took) = until_ok(async || note(&db, 3).await).await;
    println!("the first commit after the kill: {took:?}");
    until_ok(async || locks.release_lock(lease.id()).await).await;
}

#[tokio::test]
async fn several_hosts_in_a_url_are_refused_before_connecting() {
    for url in [
        "postgres://kim:secret@a,b/shop",
        "postgres://kim:secret@a:1,b:2/shop",
        "postgres:///shop?host=a,b",
        "mysql://kim:secret@a,b:3306/shop",
    ] {
        let refused = Database::connect(url).await.unwrap_err().to_string();
        assert!(refused.contains("it names several hosts") && refused.contains("docs/clusters.md"), "{url}: {refused}");
        assert!(!refused.contains("secret"), "{url}: {refused}");
    }
}

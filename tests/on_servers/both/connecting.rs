//! Connections of a process: the driver's own options, the application's statements, changing passwords, and their number.

use std::time::Duration;

use sqlx::mysql::MySqlConnectOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use tenure::db::ConnectOptions;
use tenure::error::DatabaseError;
use tenure::{Database, LockKey, LockManager, Owner, Wait};
use testkit::{DATABASE, MariaDb, Postgres};

async fn locks_something(db: &Database) {
    let key = LockKey::new("Order", tenure::LockId::random().reveal());
    let locks = LockManager::new(db);
    let lease = locks.try_lock(&key, &Owner::new("kim", "Kim")).await.unwrap();
    locks.release_lock(lease.id()).await.unwrap();
}

#[tokio::test]
async fn options_of_each_driver_take_the_place_of_a_url() {
    let directory = tempfile::tempdir().unwrap();
    let file = SqliteConnectOptions::new().filename(directory.path().join("shop.db")).pragma("cache_size", "-7000");
    let db = Database::connect_driver(file, ConnectOptions::new()).await.unwrap();
    locks_something(&db).await;
    let cache: i64 =
        sqlx::query_scalar("select * from pragma_cache_size").fetch_one(db.sqlite().unwrap()).await.unwrap();
    assert_eq!(cache, -7000);
    let memory = SqliteConnectOptions::new().in_memory(true);
    let refused = Database::connect_driver(memory, ConnectOptions::new()).await;
    assert!(matches!(refused, Err(DatabaseError::Unreachable { .. })), "{refused:?}");

    let options: PgConnectOptions = testkit::server_url(testkit::Kind::Postgres).parse().unwrap();
    let db = Database::connect_driver(options.clone(), ConnectOptions::new()).await.unwrap();
    locks_something(&db).await;
    let elsewhere = options.host("192.0.2.1").ssl_mode(sqlx::postgres::PgSslMode::Disable);
    let refused = Database::connect_driver(elsewhere, ConnectOptions::new()).await.unwrap_err();
    assert!(refused.to_string().contains("in the clear"), "{refused}");

    let options: MySqlConnectOptions = testkit::server_url(testkit::Kind::MariaDb).parse().unwrap();
    let db = Database::connect_driver(options.clone(), ConnectOptions::new()).await.unwrap();
    locks_something(&db).await;
    let elsewhere = options.host("192.0.2.1").ssl_mode(sqlx::mysql::MySqlSslMode::Disabled);
    let refused = Database::connect_driver(elsewhere, ConnectOptions::new()).await.unwrap_err();
    assert!(refused.to_string().contains("in the clear"), "{refused}");
}

#[tokio::test]
async fn own_statements_run_on_every_connection_before_the_librarys() {
    // With a comment at its end, and a setting that tenure overrides.
    let own = "set session characteristics as transaction isolation level serializable; set my.own = 'set' -- own";
    let options = ConnectOptions::new().after_connect(own);
    let db = Database::connect_with(&testkit::server_url(testkit::Kind::Postgres), options).await.unwrap();
    locks_something(&db).await;
    for _ in 0..2 {
        let mut tx = db.begin().await.unwrap();
        let both = "select current_setting('my.own') || ', ' || current_setting('transaction_isolation')";
        let both: String = sqlx::query_scalar(both).fetch_one(tx.postgres().unwrap()).await.unwrap();
        assert_eq!(both, "set, read committed");
        tx.rollback().await.unwrap();
    }
    let own = "set session transaction isolation level serializable; set @own = 'set' -- own";
    let options = ConnectOptions::new().after_connect(own);
    let db = Database::connect_with(&testkit::server_url(testkit::Kind::MariaDb), options).await.unwrap();
    locks_something(&db).await;
    let mut tx = db.begin().await.unwrap();
    let both = "select concat(@own, ', ', @@tx_isolation)";
    let both: String = sqlx::query_scalar(both).fetch_one(tx.mysql().unwrap()).await.unwrap();
    assert_eq!(both, "set, READ-COMMITTED");
    tx.rollback().await.unwrap();

    let wrong = ConnectOptions::new().after_connect("set role nobody_has_this_role");
    let refused = Database::connect_with(&testkit::server_url(testkit::Kind::Postgres), wrong).await.unwrap_err();
    assert!(refused.to_string().contains("after_connect"), "{refused}");
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/shop.db", directory.path().display());
    let refused = Database::connect_with(&url, ConnectOptions::new().after_connect("select 1")).await;
    assert!(matches!(refused, Err(DatabaseError::Unsupported(_))), "{refused:?}");
}

/// Of at most two connections one is in use, and `close_the_other` closes the other: the next connection signs in again.
async fn password_changes(url: &str, change: impl AsyncFn(), close_the_other: impl AsyncFn(&Database)) {
    let two = ConnectOptions::new().max_connections(2.try_into().unwrap());
    let db = Database::connect_with(&url.replace("tenure:secret@", "app:first@"), two).await.unwrap();
    let short = Wait::Within(Duration::from_secs(2));
    let open = db.begin_within(short).await.unwrap();
    close_the_other(&db).await;
    change().await;
    let refused = db.begin_within(short).await;
    assert!(refused.is_err(), "the old password is accepted");
    db.set_password("second").unwrap();
    let with_the_new = db.begin_within(short).await.unwrap();
    locks_something(&db).await;
    with_the_new.rollback().await.unwrap();
    open.rollback().await.unwrap();
    db.close().await;
}

#[tokio::test]
async fn new_connections_use_the_new_password_on_postgres() {
    let server = Postgres::start().unwrap();
    let url = server.url(DATABASE);
    Database::connect(&url).await.unwrap().close().await;
    server.query(DATABASE, "create role app login password 'first'").unwrap();
    server.query(DATABASE, "grant all on all tables in schema public to app").unwrap();
    let change = async || drop(server.query(DATABASE, "alter role app password 'second'").unwrap());
    let close = async |db: &Database| db.postgres().unwrap().acquire().await.unwrap().close().await.unwrap();
    password_changes(&url, change, close).await;
}

#[tokio::test]
async fn new_connections_use_the_new_password_on_mariadb() {
    let server = MariaDb::start().unwrap();
    let url = server.url(DATABASE);
    Database::connect(&url).await.unwrap().close().await;
    server.query(DATABASE, "create user app identified by 'first'").unwrap();
    server.query(DATABASE, &format!("grant all on {DATABASE}.* to app")).unwrap();
    let change = async || drop(server.query(DATABASE, "alter user app identified by 'second'").unwrap());
    let close = async |db: &Database| db.mysql().unwrap().acquire().await.unwrap().close().await.unwrap();
    password_changes(&url, change, close).await;
}

#[tokio::test]
async fn process_says_how_many_connections_it_opens() {
    let four = || ConnectOptions::new().max_connections(4.try_into().unwrap());
    for kind in [testkit::Kind::Postgres, testkit::Kind::MariaDb] {
        let url = testkit::server_url(kind);
        let db = Database::connect_with(&url, four()).await.unwrap();
        let connections = db.connections();
        assert_eq!((connections.total(), connections.application), (16, 4));
        let diagnosis = Database::diagnose_with(&url, four()).await.unwrap();
        assert_eq!(diagnosis.connections, connections);
        assert!(diagnosis.connections_allowed.is_some_and(|allowed| allowed >= 16));
        let said = "connections               16 per process at most: 4 for the application";
        assert!(diagnosis.to_string().contains(said), "{diagnosis}");
    }
}

//! Failures of MariaDB: the reported errors, and recovery when the server returns.

use std::time::{Duration, Instant};

use tenure::{
    Database, Error, LockKey, LockManager, LockMode, Owner, Version, Wait,
    db::ConnectOptions,
    error::{DatabaseError, UpdateError},
};
use testkit::{DATABASE, MariaDb};
use tokio::task::JoinSet;

use super::is_mysql;
use crate::faults::{deposit, is_unsafe, open, refused};

crate::faults::cases!(MariaDb);

#[tokio::test]
async fn unsafe_durability_settings_are_refused_unless_allowed() {
    let log: &[(&str, &str)] = &[("log-bin", "log"), ("sync-binlog", "0")];
    let settings: [(&str, &[(&str, &str)]); 3] = [
        ("innodb_flush_log_at_trx_commit", &[("innodb-flush-log-at-trx-commit", "2")]),
        ("innodb_doublewrite", &[("innodb-doublewrite", "off")]),
        ("sync_binlog", log),
    ];
    for (name, settings) in settings {
        let server = settings.iter().fold(MariaDb::builder(), |server, (name, value)| server.setting(*name, *value));
        let server = server.start().unwrap();
        is_unsafe(&server.url(DATABASE), name).await;
        let options = ConnectOptions::new().allow_unsafe_durability();
        Database::connect_with(&server.url(DATABASE), options).await.unwrap();
    }
}

/// The server itself has no limit for it but one day, `lock_wait_timeout`.
#[tokio::test]
async fn commit_that_waits_for_the_server_ends_as_unknown() {
    let server = MariaDb::start().unwrap();
    let (db, accounts) = open(&server).await;
    let mut tx = db.begin_within(Wait::Within(Duration::from_millis(300))).await.unwrap();
    let mut account = accounts.find(&mut tx, &"a".into(), LockMode::PessimisticWrite).await.unwrap().unwrap();
    account.balance = 7;
    accounts.save(&mut tx, &mut account).await.unwrap();
    // As backups do: from here on nothing can be committed.
    let mut backup = sqlx::MySqlPool::connect(&server.url(DATABASE)).await.unwrap().acquire().await.unwrap();
    sqlx::raw_sql("flush tables with read lock").execute(&mut *backup).await.unwrap();
    let asked = Instant::now();
    match tx.commit().await.unwrap_err() {
        Error::Database(DatabaseError::CommitUnknown(_)) => {}
        // MySQL has a limit of its own here, a whole second: it may have been first, and has rolled back.
        Error::Database(DatabaseError::LockTimeout { waited, .. }) if is_mysql(&db) && !waited.is_zero() => {}
        other => panic!("{other:?}"),
    }
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?} of 300 ms", asked.elapsed());
    sqlx::raw_sql("unlock tables").execute(&mut *backup).await.unwrap();
    // Its connection is not used again. Whether the server commits depends on when it detects the closed connection.
    let saved = accounts.update(&"a".into()).run(deposit).await.unwrap();
    assert!([1, 8].contains(&saved.balance), "{}", saved.balance);
}

/// The password is sent over TLS, or not at all.
#[tokio::test]
async fn sign_in_that_needs_tls_is_refused_with_advice() {
    let server = MariaDb::start().unwrap();
    let (db, _) = open(&server).await;
    server.query(DATABASE, "create user clerk identified by 'secret'").unwrap();
    server.query(DATABASE, &format!("grant all on {DATABASE}.* to clerk")).unwrap();
    let as_clerk = server.url(DATABASE).replace("tenure:secret@", "clerk:secret@");
    let plaintext = format!("{as_clerk}?ssl-mode=disabled");
    if is_mysql(&db) {
        let said = refused(&plaintext).await;
        assert!(said.contains("caching_sha2_password") && said.contains("the feature `tls`"), "{said}");
    } else {
        Database::connect(&plaintext).await.unwrap();
    }
    Database::connect(&as_clerk).await.unwrap();
}

#[tokio::test]
async fn a_server_that_only_reads_is_refused_as_such() {
    let server = MariaDb::start().unwrap();
    open(&server).await.0.close().await;
    server.query(DATABASE, "set global read_only = on").unwrap();
    let options = ConnectOptions::new().allow_unsafe_durability();
    for options in [ConnectOptions::new(), options] {
        let refused = Database::connect_with(&server.url(DATABASE), options).await;
        assert!(matches!(refused, Err(DatabaseError::ReadOnly)), "{refused:?}");
    }
}

/// For any defaults of the server: every connection sets its own values.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_unfavourable_defaults_is_used_as_any_other() {
    let server = MariaDb::builder()
        .setting("character-set-server", "latin1")
        .setting("collation-server", "latin1_swedish_ci")
        .setting("sql-mode", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES")
        .setting("transaction-isolation", "SERIALIZABLE")
        // Newer versions of MariaDB only.
        .setting("loose-innodb-snapshot-isolation", "on")
        .setting("innodb-lock-wait-timeout", "1")
        .setting("autocommit", "off")
        .setting("default-time-zone", "+09:00")
        .setting("log-bin", "log")
        .setting("sync-binlog", "1")
        .start()
        .unwrap();
    let (db, accounts) = open(&server).await;
    let key = LockKey::new("계정", "주문 💐");
    let locks = LockManager::new(&db);
    let lease = locks.try_lock(&key, &Owner::new("김", "김민지 💐")).await.unwrap();
    assert_eq!(locks.holders(&key).await.unwrap()[0].owner.name, "김민지 💐");
    let age = lease.holder().since.elapsed().unwrap_or_else(|ahead| ahead.duration());
    assert!(age < Duration::from_secs(60), "{age:?}");
    // Longer than the server's own wait.
    let mut holder = db.begin().await.unwrap();
    accounts.find(&mut holder, &"a".into(), LockMode::PessimisticWrite).await.unwrap();
    let waiting = accounts.clone();
    let waiting = tokio::spawn(async move {
        waiting.update(&"a".into()).locking(LockMode::PessimisticWrite).run(deposit).await.map(|saved| saved.balance)
    });
    tokio::time::sleep(Duration::from_millis(2_200)).await;
    assert!(!waiting.is_finished());
    holder.rollback().await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap(), 1);
    super::server::saves_and_heartbeats_do_not_deadlock(&server.url(DATABASE)).await;
}

#[tokio::test]
async fn connection_exhaustion_is_reported_and_recovers() {
    let server = MariaDb::builder().setting("max-connections", "10").start().unwrap();
    let (db, accounts) = open(&server).await;
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(db.begin().await.unwrap());
    }
    let others: Vec<_> = {
        let mut others = Vec::new();
        while let Ok(other) = sqlx::MySqlPool::connect(&server.url(DATABASE)).await {
            others.push(other);
        }
        others
    };
    let refused = Database::connect(&server.url(DATABASE)).await.unwrap_err();
    assert!(refused.to_string().contains("close other connections"), "{refused}");
    drop((held, others));
    // They are returned in the background.
    let mut tries = 0;
    let saved = loop {
        match accounts.update(&"a".into()).run(deposit).await {
            Err(UpdateError::Failed(error)) if error.is_retryable() && tries < 100 => tries += 1,
            saved => break saved.unwrap(),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(saved.version() > Version::FIRST);
}

/// Creating tables is not transactional here, and sqlx's own lock does not work on MariaDB.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_and_interrupted_migrations_complete() {
    let server = MariaDb::start().unwrap();
    let mut starts = JoinSet::new();
    for _ in 0..8 {
        let url = server.url(DATABASE);
        starts.spawn(async move { Database::connect(&url).await.map(drop) });
    }
    for started in starts.join_all().await {
        started.unwrap();
    }
    let count = format!("select count(*) from information_schema.tables where table_schema = '{DATABASE}'");
    let all = server.query(DATABASE, &count).unwrap();
    server.query(DATABASE, "update _tenure_migrations set success = false; drop table tenure_revision").unwrap();
    Database::connect(&server.url(DATABASE)).await.unwrap().close().await;
    assert_eq!(server.query(DATABASE, &count).unwrap(), all);
}

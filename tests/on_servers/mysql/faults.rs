//! Server failures: the reported errors, and recovery when the server returns.

use std::time::{Duration, Instant};

use tenure::{
    Aggregate, Database, Error, LockKey, LockManager, LockMode, Owner, Repository, Version, Wait,
    db::ConnectOptions,
    error::{DatabaseError, LockError, UpdateError},
};
use testkit::{DATABASE, MariaDb};
use tokio::task::JoinSet;

use super::is_mysql;

#[derive(Aggregate, Debug)]
#[aggregate(table = "account")]
struct Account {
    #[aggregate(id)]
    id: String,
    balance: i64,
}

const TABLE: &str = "
    create table account (id varchar(20) primary key, balance bigint not null, version bigint not null) engine = InnoDB";

async fn open(server: &MariaDb) -> (Database, Repository<Account>) {
    let db = Database::connect(&server.url(DATABASE)).await.unwrap();
    let accounts = Repository::new(&db);
    sqlx::raw_sql(TABLE).execute(db.mysql().unwrap()).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    accounts.insert(&mut tx, Account { id: "a".into(), balance: 0 }).await.unwrap();
    tx.commit().await.unwrap();
    (db, accounts)
}

fn deposit(account: &mut Account) -> Result<(), std::convert::Infallible> {
    account.balance += 1;
    Ok(())
}

async fn refused(url: &str) -> String {
    match Database::connect(url).await {
        Err(error @ (DatabaseError::Unreachable { .. } | DatabaseError::Schema(_))) => error.to_string(),
        other => panic!("expected a refusal, found {other:?}"),
    }
}

#[tokio::test]
async fn killed_server_keeps_commits_and_is_used_after_restart() {
    let server = MariaDb::start().unwrap();
    let (db, accounts) = open(&server).await;
    let (locks, key) = (LockManager::new(&db), LockKey::new("Account", "a"));
    let lease = locks.try_lock(&key, &Owner::new("kim", "Kim")).await.unwrap();
    let mut acknowledged = 0;
    for _ in 0..20 {
        acknowledged += i64::from(accounts.update(&"a".into()).run(deposit).await.is_ok());
    }
    let mut half_done = db.begin().await.unwrap();
    let mut account = accounts.find(&mut half_done, &"a".into(), LockMode::PessimisticWrite).await.unwrap().unwrap();
    account.balance += 1_000;
    accounts.save(&mut half_done, &mut account).await.unwrap();
    server.kill();
    let lost = half_done.commit().await.unwrap_err();
    assert!(matches!(lost, Error::Database(DatabaseError::CommitUnknown(_))), "{lost:?}");
    let down = accounts.update(&"a".into()).run(deposit).await.unwrap_err();
    assert!(
        matches!(&down, UpdateError::Failed(error) if error.code() == tenure::error::ErrorCode::Unavailable && error.is_retryable()),
        "{down:?}"
    );
    server.restart().unwrap();
    // Old connections are dead. Each is detected once, and replaced; none blocks the program.
    let mut tries = 0;
    let saved = loop {
        match accounts.update(&"a".into()).run(deposit).await {
            Ok(saved) => break saved,
            Err(UpdateError::Failed(error)) if error.is_retryable() && tries < 20 => tries += 1,
            Err(error) => panic!("after {tries} tries: {error:?}"),
        }
    };
    assert_eq!((saved.balance, saved.version().number()), (acknowledged + 1, acknowledged + 2));
    let held = loop {
        match locks.try_lock(&key, &Owner::new("lee", "Lee")).await {
            Err(LockError::AlreadyLocked(holder)) => break holder,
            Err(LockError::Database(error)) if error.is_retryable() && tries < 20 => tries += 1,
            other => panic!("after {tries} tries: {other:?}"),
        }
    };
    assert_eq!((held.owner.id.as_str(), held.generation), ("kim", lease.holder().generation));
}

#[tokio::test]
async fn wrong_address_password_and_database_have_own_errors() {
    let server = MariaDb::start().unwrap();
    let url = server.url(DATABASE);
    assert!(refused(&server.url("nowhere")).await.contains("create it"));
    assert!(refused(&server.url("")).await.contains("add one"));
    let wrong = url.replace(":secret@", ":wrong@");
    let said = refused(&wrong).await;
    assert!(said.contains("check the user and the password") && !said.contains(":wrong@"), "{said}");
    assert!(refused("mysql://tenure@127.0.0.1:1/tenure").await.contains("check host and port"));
    assert!(refused("mysql://tenure@host.invalid/tenure").await.contains("check host and port"));
}

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
        let said = refused(&server.url(DATABASE)).await;
        assert!(said.contains(name) && said.contains("allow_unsafe_durability"), "{said}");
        let diagnosis = Database::diagnose(&server.url(DATABASE)).await.unwrap();
        assert!(!diagnosis.is_healthy() && diagnosis.to_string().contains("BAD"), "{diagnosis}");
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

#[tokio::test]
async fn missing_table_privilege_is_named_and_next_one_works() {
    let server = MariaDb::start().unwrap();
    let (db, accounts) = open(&server).await;
    server.query(DATABASE, "create user clerk identified by 'secret'").unwrap();
    let tables = ["tenure_lock", "tenure_lock_history", "tenure_revision", "_tenure_migrations"];
    for table in tables {
        server
            .query(DATABASE, &format!("grant select, insert, update, delete on {DATABASE}.{table} to clerk"))
            .unwrap();
    }
    server.query(DATABASE, &format!("grant select, insert on {DATABASE}.account to clerk")).unwrap();
    let as_clerk = server.url(DATABASE).replace("tenure:secret@", "clerk:secret@");
    let clerks = Database::connect(&as_clerk).await.unwrap();
    let refused = Repository::<Account>::new(&clerks).update(&"a".into()).run(deposit).await;
    let Err(UpdateError::Failed(Error::Database(DatabaseError::NotPermitted(what)))) = refused else {
        panic!("{refused:?}")
    };
    assert!(what.contains("account"), "{what}");
    let balance = Repository::<Account>::new(&clerks).get(&"a".into()).await.unwrap().unwrap().balance;
    assert_eq!(balance, 0);
    // Without the privilege to see the blocking transaction, a wait ends too, and the error names no holder.
    let mut holder = db.begin().await.unwrap();
    accounts.find(&mut holder, &"a".into(), LockMode::PessimisticWrite).await.unwrap();
    let mut tx = clerks.begin_within(Wait::Within(Duration::from_millis(150))).await.unwrap();
    let insert = Repository::<Account>::new(&clerks).find(&mut tx, &"a".into(), LockMode::PessimisticRead).await;
    assert!(matches!(insert, Err(Error::Database(_))), "{insert:?}");
    drop(holder);
    accounts.update(&"a".into()).run(deposit).await.unwrap();
    db.close().await;
}

#[tokio::test]
async fn newer_schema_and_that_of_an_unreleased_checkout_are_refused() {
    let server = MariaDb::start().unwrap();
    let older = Database::diagnose(&server.url(DATABASE)).await.unwrap();
    assert!(older.is_healthy() && older.applied.is_empty(), "{older}");
    open(&server).await.0.close().await;
    // Without the right to create tables.
    server
        .query(
            DATABASE,
            &format!(
                "create user clerk identified by 'secret'; grant select on {DATABASE}._tenure_migrations to clerk"
            ),
        )
        .unwrap();
    let urls =
        ["tenure", "clerk"].map(|role| server.url(DATABASE).replace("tenure:secret@", &format!("{role}:secret@")));
    let newer = "insert into _tenure_migrations values (9999, 'from the future', now(), true, '', 0)";
    server.query(DATABASE, newer).unwrap();
    for url in &urls {
        let said = refused(url).await;
        assert!(said.contains("migration 9999") && said.contains("newer release"), "{said}");
    }
    assert!(!Database::diagnose(&server.url(DATABASE)).await.unwrap().is_healthy());
    let older = "update _tenure_migrations set version = version - 8; delete from _tenure_migrations where version > 8";
    server.query(DATABASE, older).unwrap();
    for url in &urls {
        let said = refused(url).await;
        assert!(said.contains("before the first release") && said.contains("drop the tables"), "{said}");
    }
    assert!(!Database::diagnose(&server.url(DATABASE)).await.unwrap().is_healthy());
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

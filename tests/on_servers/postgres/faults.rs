//! Server failures: the reported errors, and recovery when the server returns.

use std::time::{Duration, Instant};

use tenure::{
    Aggregate, Database, Error, LockId, LockKey, LockManager, LockMode, Owner, Repository, Version, Wait,
    db::ConnectOptions,
    error::{DatabaseError, LockError, UpdateError},
};
use testkit::{DATABASE, Postgres};

#[derive(Aggregate, Debug)]
#[aggregate(table = "account")]
struct Account {
    #[aggregate(id)]
    id: String,
    balance: i64,
}

const TABLE: &str = "create table account (id text primary key, balance bigint not null, version bigint not null)";

async fn open(server: &Postgres) -> (Database, Repository<Account>) {
    let db = Database::connect(&server.url(DATABASE)).await.unwrap();
    let accounts = Repository::new(&db);
    let mut tx = db.begin().await.unwrap();
    sqlx::raw_sql(TABLE).execute(tx.postgres().unwrap()).await.unwrap();
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
    let server = Postgres::start().unwrap();
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
    assert!(
        matches!(lost, Error::Database(DatabaseError::CommitUnknown(_) | DatabaseError::ConnectionLost(_))),
        "{lost:?}"
    );
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
    let server = Postgres::start().unwrap();
    let url = server.url(DATABASE);
    assert!(refused(&server.url("nowhere")).await.contains("create it"));
    let wrong = url.replace(":secret@", ":wrong@");
    let said = refused(&wrong).await;
    assert!(said.contains("check the user and the password") && !said.contains(":wrong@"), "{said}");
    assert!(refused("postgres://tenure@127.0.0.1:1/tenure").await.contains("check host and port"));
    assert!(refused("postgres://tenure@host.invalid/tenure").await.contains("check host and port"));
}

#[tokio::test]
async fn unsafe_durability_settings_are_refused_unless_allowed() {
    let off = [("fsync", "off"), ("synchronous_commit", "off"), ("full_page_writes", "off")].map(|one| (one, ""));
    // The commit waits for a standby, but not for its flush.
    let weak = [("synchronous_commit", "local"), ("synchronous_commit", "remote_write")].map(|one| (one, "s1"));
    for ((setting, value), standby) in off.into_iter().chain(weak) {
        let server = Postgres::builder().setting(setting, value).start().unwrap();
        waits_for(&server, standby);
        let said = refused(&server.url(DATABASE)).await;
        assert!(said.contains(setting) && said.contains("allow_unsafe_durability"), "{said}");
        let diagnosis = Database::diagnose(&server.url(DATABASE)).await.unwrap();
        assert!(!diagnosis.is_healthy() && diagnosis.to_string().contains("BAD"), "{diagnosis}");
        waits_for(&server, "");
        let options = ConnectOptions::new().allow_unsafe_durability();
        Database::connect_with(&server.url(DATABASE), options).await.unwrap();
    }
}

/// Makes commits wait for this standby. It does not exist, so they wait without a limit.
fn waits_for(server: &Postgres, standby: &str) {
    // A setting of the command line would come before this one.
    server.query(DATABASE, &format!("alter system set synchronous_standby_names = '{standby}'")).unwrap();
    server.query(DATABASE, "select pg_reload_conf()").unwrap();
    let asked = Instant::now();
    // The signal reaches the sessions a moment later.
    while server.query(DATABASE, "show synchronous_standby_names").unwrap() != standby {
        assert!(asked.elapsed() < Duration::from_secs(30));
    }
}

/// The server itself has no limit for it: not even `statement_timeout` ends the wait for a standby.
#[tokio::test]
async fn commit_that_waits_for_a_lost_standby_ends_as_unknown() {
    let server = Postgres::start().unwrap();
    let (db, accounts) = open(&server).await;
    let locks = LockManager::new(&db);
    waits_for(&server, "lost");
    let waits = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'";
    let (no, key) = ("a".to_owned(), LockKey::new("Account", "a"));
    let mut tx = db.begin_within(Wait::Within(Duration::from_millis(300))).await.unwrap();
    let mut account = accounts.find(&mut tx, &no, LockMode::PessimisticWrite).await.unwrap().unwrap();
    account.balance = 7;
    accounts.save(&mut tx, &mut account).await.unwrap();
    sqlx::raw_sql("set local statement_timeout = '50ms'").execute(tx.postgres().unwrap()).await.unwrap();
    let asked = Instant::now();
    let unknown = tx.commit().await.unwrap_err();
    assert!(matches!(unknown, Error::Database(DatabaseError::CommitUnknown(_))), "{unknown:?}");
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?} of 300 ms", asked.elapsed());
    // Under a lock id of the caller's, because a request that nobody can repeat is undone.
    let (kim, id) = (Owner::new("kim", "Kim"), LockId::random());
    let unknown = locks.try_lock_as(&key, &kim, id).await.unwrap_err();
    assert!(matches!(unknown, LockError::Database(DatabaseError::OutcomeUnknown(_))), "{unknown:?}");
    assert_ne!(server.query(DATABASE, waits).unwrap(), "0", "no session of the server waits for the standby");
    waits_for(&server, "");
    // None of the connections that wait is used again.
    let saved = accounts.update(&no).run(deposit).await.unwrap();
    assert_eq!(saved.balance, 8, "it was committed after all");
    assert_eq!(locks.holders(&key).await.unwrap()[0].owner.id, "kim", "and so was the lease");
}

#[tokio::test]
async fn connection_exhaustion_is_reported_and_recovers() {
    let server = Postgres::builder().setting("max_connections", "13").start().unwrap();
    let (db, accounts) = open(&server).await;
    let mut held = Vec::new();
    for _ in 0..9 {
        held.push(db.begin().await.unwrap());
    }
    // The pool allows ten connections; the tenth may already exceed the server's remaining ones.
    let tenth = db.begin_within(Wait::Within(Duration::from_millis(200))).await;
    let eleventh = accounts.update(&"a".into()).within(Duration::from_millis(200)).run(deposit).await;
    if tenth.is_ok() {
        let Err(UpdateError::Failed(error)) = eleventh else { panic!("an eleventh of ten connections") };
        assert!(
            error.code() == tenure::error::ErrorCode::Unavailable && error.to_string().contains("connection"),
            "{error}"
        );
    }
    drop((held, tenth));
    let update = accounts.update(&"a".into()).run(deposit).await.unwrap();
    assert!(update.version() > Version::FIRST);
}

#[tokio::test]
async fn missing_table_privilege_is_named_and_next_one_works() {
    let server = Postgres::start().unwrap();
    let (db, accounts) = open(&server).await;
    server.query(DATABASE, "create role clerk login password 'secret'").unwrap();
    server.query(DATABASE, "grant all on all tables in schema public to clerk").unwrap();
    server.query(DATABASE, "revoke update on account from clerk").unwrap();
    let as_clerk = server.url(DATABASE).replace("tenure:secret@", "clerk:secret@");
    let clerks = Database::connect(&as_clerk).await.unwrap();
    let refused = Repository::<Account>::new(&clerks).update(&"a".into()).run(deposit).await;
    let Err(UpdateError::Failed(Error::Database(DatabaseError::NotPermitted(what)))) = refused else {
        panic!("{refused:?}")
    };
    assert!(what.contains("account"), "{what}");
    let balance = Repository::<Account>::new(&clerks).get(&"a".into()).await.unwrap().unwrap().balance;
    assert_eq!(balance, 0);
    accounts.update(&"a".into()).run(deposit).await.unwrap();
    db.close().await;
}

#[tokio::test]
async fn statement_timeout_rolls_back_the_transaction() {
    let server = Postgres::start().unwrap();
    let (db, accounts) = open(&server).await;
    let mut tx = db.begin().await.unwrap();
    let mut account = accounts.find(&mut tx, &"a".into(), LockMode::PessimisticWrite).await.unwrap().unwrap();
    account.balance = 7;
    accounts.save(&mut tx, &mut account).await.unwrap();
    let slow = "set local statement_timeout = '50ms'; select pg_sleep(5)";
    assert!(sqlx::raw_sql(slow).execute(tx.postgres().unwrap()).await.is_err());
    assert!(tx.commit().await.is_err());
    assert_eq!(accounts.get(&"a".into()).await.unwrap().unwrap().balance, 0);
}

#[tokio::test]
async fn newer_schema_and_that_of_an_unreleased_checkout_are_refused() {
    let server = Postgres::start().unwrap();
    let older = Database::diagnose(&server.url(DATABASE)).await.unwrap();
    assert!(older.is_healthy() && older.applied.is_empty(), "{older}");
    open(&server).await.0.close().await;
    // Without the right to create tables.
    server
        .query(DATABASE, "create role clerk login password 'secret'; grant select on _tenure_migrations to clerk")
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

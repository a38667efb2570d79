//! Failures of PostgreSQL: the reported errors, and recovery when the server returns.

use std::time::{Duration, Instant};

use tenure::{
    Database, Error, LockId, LockKey, LockManager, LockMode, Owner, Version, Wait,
    db::ConnectOptions,
    error::{DatabaseError, LockError, UpdateError},
};
use testkit::{DATABASE, Postgres};

use crate::faults::{deposit, is_unsafe, open};

crate::faults::cases!(Postgres);

#[tokio::test]
async fn unsafe_durability_settings_are_refused_unless_allowed() {
    let off = [("fsync", "off"), ("synchronous_commit", "off"), ("full_page_writes", "off")].map(|one| (one, ""));
    // The commit waits for a standby, but not for its flush.
    let weak = [("synchronous_commit", "local"), ("synchronous_commit", "remote_write")].map(|one| (one, "s1"));
    for ((setting, value), standby) in off.into_iter().chain(weak) {
        let server = Postgres::builder().setting(setting, value).start().unwrap();
        waits_for(&server, standby);
        is_unsafe(&server.url(DATABASE), setting).await;
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
        assert!(error.code() == tenure::error::ErrorCode::Busy && error.to_string().contains("connection"), "{error}");
    }
    drop((held, tenth));
    let update = accounts.update(&"a".into()).run(deposit).await.unwrap();
    assert!(update.version() > Version::FIRST);
}

/// As an operator sets it for a role.
#[tokio::test]
async fn statement_timeout_that_ends_a_wait_is_a_lock_timeout() {
    let server = Postgres::start().unwrap();
    let (db, accounts) = open(&server).await;
    let mut first = db.begin().await.unwrap();
    accounts.find(&mut first, &"a".into(), LockMode::PessimisticWrite).await.unwrap().unwrap();
    let mut second = db.begin_within(Wait::Within(Duration::from_secs(60))).await.unwrap();
    sqlx::raw_sql("set local statement_timeout = '50ms'").execute(second.postgres().unwrap()).await.unwrap();
    let refused = accounts.find(&mut second, &"a".into(), LockMode::PessimisticWrite).await.unwrap_err();
    let Error::Database(DatabaseError::LockTimeout { waited, .. }) = refused else { panic!("{refused:?}") };
    assert!(waited < Duration::from_secs(30), "it waited {waited:?} although the server ends it after 50 ms");
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

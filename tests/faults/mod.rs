//! Server failures: the reported errors, and recovery when the server returns.

use std::future::IntoFuture;
use std::time::Duration;

use tenure::{
    Aggregate, Database, Error, LockKey, LockManager, LockMode, Owner, Repository, Wait,
    error::{DatabaseError, LockError, UpdateError},
    unit_of_work::Retry,
};
use testkit::{DATABASE, Engine, Kind, Server, Stopwatch};

/// One test for each case, on a new server of this kind.
macro_rules! cases {
    ($server:ty) => {
        $crate::faults::cases! { $server;
            killed_server_keeps_commits_and_is_used_after_restart,
            operations_on_a_frozen_server_end_at_one_deadline,
            wrong_address_password_and_database_have_own_errors,
            missing_table_privilege_is_named_and_next_one_works,
            newer_schema_and_that_of_an_unreleased_checkout_are_refused
        }
    };
    ($server:ty; $($case:ident),+) => {$(
        #[tokio::test]
        async fn $case() {
            $crate::faults::$case(<$server>::start().unwrap()).await;
        }
    )+};
}
pub(crate) use cases;

#[derive(Aggregate, Debug)]
#[aggregate(table = "account")]
pub struct Account {
    #[aggregate(id)]
    id: String,
    pub balance: i64,
}

const TABLE: &str =
    "create table account (id varchar(20) primary key, balance bigint not null, version bigint not null)";

/// Connects, with a table of one account, `a`.
pub async fn open<E: Engine>(server: &Server<E>) -> (Database, Repository<Account>) {
    let db = Database::connect(&server.url(DATABASE)).await.unwrap();
    server.query(DATABASE, TABLE).unwrap();
    let accounts = Repository::new(&db);
    let mut tx = db.begin().await.unwrap();
    accounts.insert(&mut tx, Account { id: "a".into(), balance: 0 }).await.unwrap();
    tx.commit().await.unwrap();
    (db, accounts)
}

pub fn deposit(account: &mut Account) -> Result<(), std::convert::Infallible> {
    account.balance += 1;
    Ok(())
}

pub async fn refused(url: &str) -> String {
    match Database::connect(url).await {
        Err(error @ (DatabaseError::Unreachable { .. } | DatabaseError::Schema(_))) => error.to_string(),
        other => panic!("expected a refusal, found {other:?}"),
    }
}

/// This setting of the server loses acknowledged commits: that is refused, and the doctor says so.
pub async fn is_unsafe(url: &str, setting: &str) {
    let said = refused(url).await;
    assert!(said.contains(setting) && said.contains("allow_unsafe_durability"), "{said}");
    let diagnosis = Database::diagnose(url).await.unwrap();
    assert!(!diagnosis.is_healthy() && diagnosis.to_string().contains("BAD"), "{diagnosis}");
}

/// A user with these rights on tables, and no other; returns its URL.
fn clerk<E: Engine>(server: &Server<E>, rights: &[(&str, &str)]) -> String {
    let (user, of) = match E::KIND {
        Kind::Postgres => ("create role clerk login password 'secret'", String::new()),
        Kind::MariaDb => ("create user clerk identified by 'secret'", format!("{DATABASE}.")),
    };
    server.query(DATABASE, user).unwrap();
    for (right, table) in rights {
        server.query(DATABASE, &format!("grant {right} on {of}{table} to clerk")).unwrap();
    }
    server.url(DATABASE).replace("tenure:secret@", "clerk:secret@")
}

pub async fn killed_server_keeps_commits_and_is_used_after_restart<E: Engine>(server: Server<E>) {
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
    match half_done.commit().await.unwrap_err() {
        Error::Database(DatabaseError::CommitUnknown(_)) => {}
        Error::Database(DatabaseError::ConnectionLost(_)) if E::KIND == Kind::Postgres => {}
        other => panic!("{other:?}"),
    }
    let down = accounts.update(&"a".into()).run(deposit).await.unwrap_err();
    assert!(
        matches!(&down, UpdateError::Failed(error) if error.code().public_text().is_some() && error.is_retryable()),
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

/// The time for an answer, which a statement has at least, counts once, though each of them takes several statements.
pub async fn operations_on_a_frozen_server_end_at_one_deadline<E: Engine>(server: Server<E>) {
    async fn overshoot<T>(limit: Duration, work: impl Future<Output = T>) -> Duration {
        let watch = Stopwatch::start();
        drop(work.await);
        watch.stop().saturating_sub(limit)
    }
    let (db, accounts) = open(&server).await;
    let (locks, kim, no) = (LockManager::new(&db), Owner::new("kim", "Kim"), "a".to_owned());
    let [free, held] = ["free", "held"].map(|id| LockKey::new("Account", id));
    locks.try_lock(&held, &Owner::new("lee", "Lee")).await.unwrap();
    for limit in [1, 3].map(Duration::from_secs) {
        server.pause();
        let overshoots: [Duration; 4] = tokio::join!(
            overshoot(limit, locks.lock(&free, &kim).within(limit).into_future()),
            overshoot(limit, locks.lock(&held, &kim).within(limit).into_future()),
            overshoot(limit, accounts.update(&no).within(limit).run(deposit)),
            overshoot(limit, db.begin_within(Wait::Within(limit))),
        )
        .into();
        server.resume();
        println!("overshoot of {limit:?}: {overshoots:?}");
        let most = Duration::from_millis(1_500);
        assert!(overshoots.iter().all(|overshoot| *overshoot < most), "{overshoots:?} beyond {limit:?}");
        accounts.update(&no).retrying(Retry::transient(20)).run(deposit).await.unwrap();
    }
}

pub async fn wrong_address_password_and_database_have_own_errors<E: Engine>(server: Server<E>) {
    let url = server.url(DATABASE);
    assert!(refused(&server.url("nowhere")).await.contains("create it"));
    if E::KIND == Kind::MariaDb {
        assert!(refused(&server.url("")).await.contains("add one"));
    }
    let said = refused(&url.replace(":secret@", ":wrong@")).await;
    assert!(said.contains("check the user and the password") && !said.contains(":wrong@"), "{said}");
    let (scheme, _) = url.split_once("://").unwrap();
    for host in ["127.0.0.1:1", "host.invalid"] {
        assert!(refused(&format!("{scheme}://tenure@{host}/tenure")).await.contains("check host and port"));
    }
}

pub async fn missing_table_privilege_is_named_and_next_one_works<E: Engine>(server: Server<E>) {
    let (db, accounts) = open(&server).await;
    let all = "select, insert, update, delete";
    let tables =
        ["tenure_lock", "tenure_lock_history", "tenure_revision", "_tenure_migrations"].map(|table| (all, table));
    let url = clerk(&server, &[&tables[..], &[("select, insert", "account")]].concat());
    let clerks = Database::connect(&url).await.unwrap();
    let refused = Repository::<Account>::new(&clerks).update(&"a".into()).run(deposit).await;
    let Err(UpdateError::Failed(Error::Database(DatabaseError::NotPermitted(what)))) = refused else {
        panic!("{refused:?}")
    };
    assert!(what.contains("account"), "{what}");
    let balance = Repository::<Account>::new(&clerks).get(&"a".into()).await.unwrap().unwrap().balance;
    assert_eq!(balance, 0);
    // Without the privilege to see the blocking transaction, a wait ends too.
    let mut holder = db.begin().await.unwrap();
    accounts.find(&mut holder, &"a".into(), LockMode::PessimisticWrite).await.unwrap();
    let mut tx = clerks.begin_within(Wait::Within(Duration::from_millis(150))).await.unwrap();
    let read = Repository::<Account>::new(&clerks).find(&mut tx, &"a".into(), LockMode::PessimisticRead).await;
    assert!(matches!(read, Err(Error::Database(_))), "{read:?}");
    drop(holder);
    accounts.update(&"a".into()).run(deposit).await.unwrap();
    db.close().await;
}

pub async fn newer_schema_and_that_of_an_unreleased_checkout_are_refused<E: Engine>(server: Server<E>) {
    let url = server.url(DATABASE);
    let older = Database::diagnose(&url).await.unwrap();
    assert!(older.is_healthy() && older.applied.is_empty(), "{older}");
    open(&server).await.0.close().await;
    // Without the right to create tables.
    let urls = [clerk(&server, &[("select", "_tenure_migrations")]), url];
    for (change, said) in [
        (
            "insert into _tenure_migrations values (9999, 'from the future', now(), true, '', 0)",
            ["migration 9999", "newer release"],
        ),
        (
            "update _tenure_migrations set version = version - 8; delete from _tenure_migrations where version > 8",
            ["before the first release", "drop the tables"],
        ),
    ] {
        server.query(DATABASE, change).unwrap();
        for url in &urls {
            let text = refused(url).await;
            assert!(said.iter().all(|said| text.contains(said)), "{text}");
            assert!(!Database::diagnose(url).await.unwrap().is_healthy());
        }
    }
}

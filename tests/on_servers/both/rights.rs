//! The rights that each role needs on a server: `docs/databases.md` lists them, and these tests grant nothing else.

use std::convert::Infallible;
use std::time::Duration;

use tenure::db::ConnectOptions;
use tenure::error::{DatabaseError, Error, LockError, UpdateError};
use tenure::lease::Holder;
use tenure::unit_of_work::Retry;
use tenure::version::Merge;
use tenure::{Aggregate, Database, LockId, LockKey, LockManager, LockMode, LockPolicy, Owner, Repository, Version};
use testkit::{DATABASE, MariaDb, Postgres};

#[derive(Aggregate, Debug)]
#[aggregate(table = "account", revisions = 3)]
struct Account {
    #[aggregate(id)]
    id: String,
    balance: i64,
}

const TABLE: &str =
    "create table account (id varchar(64) primary key, balance bigint not null, version bigint not null)";
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The tables of tenure that its processes change.
const TABLES: [&str; 6] = [
    "tenure_lock",
    "tenure_lock_history",
    "tenure_lock_floor",
    "tenure_revision",
    "tenure_operation",
    "tenure_removed",
];

fn deposit(account: &mut Account) -> Result<(), Infallible> {
    account.balance += 1;
    Ok(())
}

/// The grants of `docs/databases.md`.
fn grants(database: &str, app: &str, reader: &str) -> Vec<String> {
    let mut grants = Vec::new();
    for table in TABLES.iter().chain(&["account"]) {
        grants.push(format!("grant select, insert, update, delete on {database}{table} to {app}"));
        grants.push(format!("grant select on {database}{table} to {reader}"));
    }
    for role in [app, reader] {
        grants.push(format!("grant select on {database}_tenure_migrations to {role}"));
    }
    grants
}

/// A bit of everything.
async fn core(db: &Database) {
    let accounts = Repository::<Account>::new(db);
    let (kim, lee) = (Owner::new("kim", "Kim"), Owner::new("lee", "Lee"));
    let id = String::from("a");
    let mut tx = db.begin().await.unwrap();
    tx.by(&kim).command("open");
    let mut account = accounts.insert(&mut tx, Account { id: id.clone(), balance: 0 }).await.unwrap();
    account.balance = 3;
    accounts.save(&mut tx, &mut account).await.unwrap();
    tx.commit().await.unwrap();
    accounts.update(&id).by(&kim).locking(LockMode::PessimisticWrite).unless_locked().run(deposit).await.unwrap();
    // Both deposits give the same balance, so they are no conflict.
    let merging = accounts.update(&id).expecting(Version::FIRST).merging(Merge::Disjoint);
    merging.retrying(Retry::transient(3)).run(deposit).await.unwrap();
    let resolving = db.clone().resolving_commits();
    Repository::<Account>::new(&resolving).update(&id).run(deposit).await.unwrap();
    assert_eq!(db.forget_operations(DAY).await.unwrap(), 0);

    let locks = LockManager::new(db)
        .with_policy("Note", LockPolicy::advisory())
        .with_take_over_permission("Account", |_: &Owner, _: &Holder| true);
    let key = LockKey::of::<Account>(&id);
    let lease = locks.try_lock(&key, &kim).await.unwrap();
    let asked = locks.lock(&key, &lee).within(Duration::from_millis(50)).await;
    assert!(matches!(asked, Err(LockError::LockTimeout { .. })), "{asked:?}");
    locks.keep_alive(&[lease.id().clone()]).await.unwrap().pop().unwrap().unwrap();
    locks.extend_lock_expiration(lease.id(), Duration::from_secs(1)).await.unwrap();
    accounts.update(&id).by(&kim).holding(lease.id()).run(deposit).await.unwrap();
    locks.release_lock(lease.id()).await.unwrap();
    let lees = locks.try_lock(&key, &lee).await.unwrap();
    let taken = locks.take_over(&key, lees.holder().generation, &kim, LockId::random(), "needed").await.unwrap();
    locks.break_lock(&key, taken.holder().generation, &lee, "enough").await.unwrap();
    let guard = locks.hold(&key, &kim).await.unwrap();
    guard.release().await.unwrap();
    locks.try_lock(&LockKey::new("Note", "1"), &kim).await.unwrap();
    locks.release_all("kim").await.unwrap();
    reads(db).await;
    locks.sweep(30 * DAY).run().await.unwrap();
    accounts.update(&id).unless_locked().delete(|_| Ok::<_, Infallible>(())).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let again = accounts.insert(&mut tx, Account { id, balance: 0 }).await.unwrap();
    assert!(again.version() > Version::FIRST);
    tx.commit().await.unwrap();
}

/// The operations of a read-only role.
async fn reads(db: &Database) {
    let (accounts, locks) = (Repository::<Account>::new(db), LockManager::new(db));
    accounts.get(&"a".into()).await.unwrap().unwrap();
    accounts.changes(&"a".into(), 3).await.unwrap();
    locks.holders(&LockKey::new("Account", "a")).await.unwrap();
    locks.list().run().await.unwrap();
    locks.history(&LockKey::new("Account", "a")).run().await.unwrap();
    locks.held_by_type().await.unwrap();
    let unknown = locks.check_lock(&LockId::random()).await;
    assert!(matches!(unknown, Err(tenure::error::LeaseError::NoLock(_))), "{unknown:?}");
}

async fn is_refused_to_write(db: &Database) {
    let saved = Repository::<Account>::new(db).update(&"a".into()).run(deposit).await;
    let Err(UpdateError::Failed(Error::Database(DatabaseError::NotPermitted(what)))) = &saved else {
        panic!("{saved:?}")
    };
    assert!(what.contains("account"), "{what}");
    let locked = LockManager::new(db).try_lock(&LockKey::new("Account", "new"), &Owner::new("kim", "Kim")).await;
    assert!(matches!(&locked, Err(LockError::Database(DatabaseError::NotPermitted(_)))), "{locked:?}");
    reads(db).await;
}

/// The script of a DBA creates the tables; then the roles work with their own rights only.
async fn roles_work(url: &str, roles: impl AsyncFn(&str), granted: Vec<String>) {
    let script = Database::migration_script(url, ConnectOptions::new()).await.unwrap();
    for statement in [script.as_str(), TABLE] {
        roles(statement).await;
    }
    assert_eq!(Database::migration_script(url, ConnectOptions::new()).await.unwrap(), "");
    for grant in &granted {
        roles(grant).await;
    }
    let app = Database::connect(&url.replace("tenure:secret@", "app:secret@")).await.unwrap();
    core(&app).await;
    let reader = Database::connect(&url.replace("tenure:secret@", "reader:secret@")).await.unwrap();
    is_refused_to_write(&reader).await;
    reader.close().await;
    app.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_have_the_rights_that_they_need_on_postgres() {
    let server = Postgres::start().unwrap();
    let url = server.url(DATABASE);
    let dba = sqlx::PgPool::connect(&url).await.unwrap();
    let run = async |statement: &str| {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).execute(&dba).await.unwrap();
    };
    run("create role app login password 'secret'; create role reader login password 'secret'").await;
    roles_work(&url, run, grants("", "app", "reader")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_have_the_rights_that_they_need_on_mariadb() {
    let server = MariaDb::start().unwrap();
    let url = server.url(DATABASE);
    let dba = sqlx::MySqlPool::connect(&url).await.unwrap();
    let run = async |statement: &str| {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).execute(&dba).await.unwrap();
    };
    for role in ["app", "reader"] {
        server.query(DATABASE, &format!("create user {role} identified by 'secret'")).unwrap();
    }
    let by_root = async |statement: &str| match statement.starts_with("grant") {
        true => drop(server.query(DATABASE, statement).unwrap()),
        false => run(statement).await,
    };
    roles_work(&url, by_root, grants(&format!("{DATABASE}."), "app", "reader")).await;
}

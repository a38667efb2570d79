//! What the code relies on in PostgreSQL itself, and what it promises there beyond the suite. If a new server version
//! behaves differently, these fail and say in which point.

#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Duration;

use sqlx::{Connection, PgConnection, PgPool};
use tenure::{Aggregate, Database, DatabaseError, Error, LockMode, Owner, Repository, UpdateError, Wait};

#[derive(Aggregate, Debug)]
#[aggregate(table = "pinned")]
struct Pinned {
    #[aggregate(id)]
    id: String,
    count: i64,
}

fn url() -> String {
    testkit::server_url(testkit::Kind::Postgres)
}

async fn pinned() -> (Database, Repository<Pinned>, String) {
    let db = Database::connect(&url()).await.unwrap();
    let table =
        "create table if not exists pinned (id text primary key, count integer not null, version bigint not null)";
    // Two tests that create one table at the same moment collide in the catalogue, so they queue.
    let mut tx = db.begin().await.unwrap();
    sqlx::raw_sql("select pg_advisory_xact_lock(7)").execute(tx.postgres().unwrap()).await.unwrap();
    sqlx::raw_sql(table).execute(tx.postgres().unwrap()).await.unwrap();
    let pins = Repository::new(&db);
    let id = tenure::LockId::random().reveal();
    pins.insert(&mut tx, Pinned { id: id.clone(), count: 0 }).await.unwrap();
    tx.commit().await.unwrap();
    (db, pins, id)
}

fn add(pinned: &mut Pinned) -> Result<(), std::convert::Infallible> {
    pinned.count += 1;
    Ok(())
}

#[tokio::test]
async fn a_commit_after_a_swallowed_error_of_ones_own_statement_is_an_error_and_saved_nothing() {
    let (db, pins, id) = pinned().await;
    let mut tx = db.begin().await.unwrap();
    let mut one = pins.find(&mut tx, &id, LockMode::Optimistic).await.unwrap().unwrap();
    one.count = 7;
    pins.save(&mut tx, &mut one).await.unwrap();
    let _swallowed = sqlx::query("select 1 / 0").execute(tx.postgres().unwrap()).await;
    assert!(tx.commit().await.is_err());
    assert_eq!(pins.get(&id).await.unwrap().unwrap().count, 0);
}

/// Why the statement before COMMIT is there: the driver takes the server's ROLLBACK for success.
#[tokio::test]
async fn the_server_answers_commit_of_an_aborted_transaction_without_an_error() {
    let mut connection = PgConnection::connect(&url()).await.unwrap();
    sqlx::raw_sql("begin").execute(&mut connection).await.unwrap();
    assert!(sqlx::raw_sql("select 1 / 0").execute(&mut connection).await.is_err());
    assert!(sqlx::raw_sql("commit").execute(&mut connection).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_in_the_way_is_named_by_who_they_are_and_what_they_do() {
    let (db, pins, id) = pinned().await;
    let (holding, go_on) = (std::sync::Arc::new(tokio::sync::Barrier::new(2)), tokio::sync::oneshot::channel::<()>());
    let (barrier, other, number) = (holding.clone(), pins.clone(), id.clone());
    let (finish, finished) = go_on;
    // The command is synchronous, so a transaction of its own holds the row: begun by an update for its label.
    let holder = tokio::spawn(async move {
        let handle = tokio::runtime::Handle::current();
        let update = other
            .update(&number)
            .by(&Owner::new("kim", "Kim"))
            .command("it's \"counting\"")
            .locking(LockMode::PessimisticWrite);
        let wait = move |pinned: &mut Pinned| {
            tokio::task::block_in_place(|| {
                handle.block_on(async {
                    barrier.wait().await;
                    let _ = finished.await;
                })
            });
            add(pinned)
        };
        update.run(wait).await.map(drop)
    });
    holding.wait().await;
    let waiting =
        pins.update(&id).locking(LockMode::PessimisticWrite).within(Duration::from_millis(300)).run(add).await;
    finish.send(()).unwrap();
    let Err(UpdateError::Failed(Error::Database(DatabaseError::LockTimeout { waited, holder: Some(named) }))) = waiting
    else {
        panic!("{waiting:?}")
    };
    assert!(named.starts_with("kim: it's \"counting\"") && waited >= Duration::from_millis(300), "{named} {waited:?}");
    holder.await.unwrap().unwrap();
    db.close().await;
}

#[tokio::test]
async fn settings_of_a_transaction_do_not_reach_the_next_user_of_its_connection() {
    let (db, pins, id) = pinned().await;
    let settings = "select current_setting('lock_timeout') || current_setting('application_name') || current_setting('transaction_isolation')";
    let pool: &PgPool = db.postgres().unwrap();
    for _ in 0..3 {
        let update = pins.update(&id).by(&Owner::new("kim", "Kim")).command("count").within(Duration::from_millis(123));
        update.run(add).await.unwrap();
        drop(db.begin_within(Wait::Within(Duration::from_millis(77))).await.unwrap());
        for _ in 0..4 {
            let seen: String = sqlx::query_scalar(settings).fetch_one(pool).await.unwrap();
            assert_eq!(seen, "0tenureread committed");
        }
    }
}

#[tokio::test]
async fn a_transaction_runs_at_read_committed_whatever_the_default_of_the_database_is() {
    let (db, _, _) = pinned().await;
    let mut tx = db.begin().await.unwrap();
    let level: String =
        sqlx::query_scalar("show transaction_isolation").fetch_one(tx.postgres().unwrap()).await.unwrap();
    assert_eq!(level, "read committed");
}

#[tokio::test]
async fn heartbeats_are_hot_updates() {
    let (db, _, id) = pinned().await;
    let locks = tenure::LockManager::new(&db);
    let lease = locks.try_lock(&tenure::LockKey::new("Pinned", id), &Owner::new("kim", "Kim")).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let indexed =
        "select exists (select 1 from pg_indexes where tablename = 'tenure_lock' and indexdef like '%expires_at%')";
    let indexed: bool = sqlx::query_scalar(indexed).fetch_one(tx.postgres().unwrap()).await.unwrap();
    let before: i64 = hot(&mut tx).await;
    let beat = "update tenure_lock set expires_at = expires_at + 1 where lock_hash = sha256(decode($1, 'hex'))";
    let beats = sqlx::query(beat).bind(lease.id().reveal()).execute(tx.postgres().unwrap()).await.unwrap();
    assert_eq!((indexed, beats.rows_affected(), hot(&mut tx).await - before), (false, 1, 1));
}

async fn hot(tx: &mut tenure::Transaction) -> i64 {
    let select = "select pg_stat_get_xact_tuples_hot_updated('tenure_lock'::regclass)";
    sqlx::query_scalar(select).fetch_one(tx.postgres().unwrap()).await.unwrap()
}

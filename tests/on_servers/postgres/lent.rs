//! Settings that the application leaves on a connection do not reach the next user of the same connection.

use tenure::{Error, Transaction, error::DatabaseError};

use super::open;
use crate::conformance::support::random;

/// The application's statement, and a question whose answer must be the same for the next user.
const SETTINGS: [(&str, &str); 12] = [
    ("set synchronous_commit = off", "select current_setting('synchronous_commit')"),
    ("create schema if not exists other; set search_path = other", "select current_setting('search_path')"),
    ("select set_config('search_path', 'pg_catalog', false)", "select current_setting('search_path')"),
    ("set role pg_read_all_data", "select current_user::text"),
    ("set session authorization pg_read_all_data", "select session_user::text"),
    ("set default_transaction_read_only = on", "select current_setting('default_transaction_read_only')"),
    ("set statement_timeout = 1", "select current_setting('statement_timeout')"),
    (
        "set idle_in_transaction_session_timeout = '2min'",
        "select current_setting('idle_in_transaction_session_timeout')",
    ),
    ("create temp table test_order (no text)", "select to_regclass('pg_temp.test_order')::text is null || ''"),
    ("listen mine", "select count(*)::text from pg_listening_channels()"),
    ("prepare mine as select 1", "select count(*)::text from pg_prepared_statements where from_sql"),
    (
        "select pg_advisory_lock(4711)",
        "select count(*)::text from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()",
    ),
];

async fn answer(tx: &mut Transaction, question: &'static str) -> (String, i32) {
    let process = sqlx::query_scalar("select pg_backend_pid()").fetch_one(tx.postgres().unwrap()).await.unwrap();
    (sqlx::query_scalar(question).fetch_one(tx.postgres().unwrap()).await.unwrap(), process)
}

#[tokio::test]
async fn setting_of_the_application_ends_with_its_transaction() {
    let t = open().await;
    let db = t.another_process_with(1).await;
    let orders = tenure::Repository::<crate::conformance::order::Order>::new(&db);
    let no = t.order().await;
    for way in ["commit", "rollback", "drop"] {
        for (own, question) in SETTINGS {
            let mut tx = db.begin().await.unwrap();
            let before = answer(&mut tx, question).await;
            tx.commit().await.unwrap();
            let mut tx = db.begin().await.unwrap();
            t.by_hand_in(&mut tx, own.to_owned()).await.unwrap();
            match way {
                "commit" => tx.commit().await.unwrap(),
                "rollback" => tx.rollback().await.unwrap(),
                _ => drop(tx),
            }
            let line = random();
            let sent = orders.update(&no).run(|order| order.send_to(&line)).await;
            assert_eq!(sent.unwrap().ship_to.line1, line, "{own} and {way}");
            let mut tx = db.begin().await.unwrap();
            assert_eq!(answer(&mut tx, question).await, before, "{own} and {way}, on the same connection");
            tx.commit().await.unwrap();
        }
    }
}

/// At its commit a deferred trigger reads the setting.
#[tokio::test]
async fn save_is_flushed_although_its_transaction_switched_that_off() {
    let t = open().await;
    let name = format!("durable_{}", random().replace('-', "_"));
    let table = format!(
        "create table {name} (at_commit text);
         create function {name}() returns trigger language plpgsql as $$ begin
             update {name} set at_commit = current_setting('synchronous_commit'); return null; end $$;
         create constraint trigger {name} after insert on {name} deferrable initially deferred
             for each row execute function {name}()"
    );
    t.by_hand(table).await.unwrap();
    for (own, wanted) in [("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")] {
        t.by_hand(format!("set local synchronous_commit = {own}; insert into {name} values (null)")).await.unwrap();
        let seen = sqlx::AssertSqlSafe(format!("delete from {name} returning at_commit"));
        let seen: String = sqlx::query_scalar(seen).fetch_one(t.db.postgres().unwrap()).await.unwrap();
        assert_eq!(seen, wanted, "set to {own}");
    }
}

/// A role, or the server, gets other settings while the program runs.
#[tokio::test]
async fn new_connection_that_would_lose_commits_is_refused() {
    let server = testkit::Postgres::start().unwrap();
    let db = tenure::Database::connect(&server.url(testkit::DATABASE)).await.unwrap();
    let before = db.begin().await.unwrap();
    server.query(testkit::DATABASE, "alter role tenure set synchronous_commit = off").unwrap();
    let asked = std::time::Instant::now();
    let refused = async {
        // One that was opened before is still good.
        let mut others = Vec::new();
        loop {
            match db.begin().await {
                Ok(tx) => others.push(tx),
                Err(error) => return error,
            }
        }
    };
    let refused: Error = refused.await.into();
    assert!(matches!(&refused, Error::Database(DatabaseError::Schema(_))), "{refused:?}");
    let text = refused.to_string();
    assert!(text.contains("synchronous_commit is `off`") && text.contains("allow_unsafe_durability"), "{text}");
    assert!(asked.elapsed() < std::time::Duration::from_secs(4), "{:?}", asked.elapsed());
    before.commit().await.unwrap();
    server.query(testkit::DATABASE, "alter role tenure reset synchronous_commit").unwrap();
    let (_one, _two) = (db.begin().await.unwrap(), db.begin().await.unwrap());
}

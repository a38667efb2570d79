//! Settings that the application leaves on a connection do not reach its next user: the connection is closed.

use tenure::error::{DatabaseError, UpdateError};
use tenure::{Database, Error, Transaction, db::ConnectOptions};

use super::{is_mysql, open};
use crate::conformance::support::random;

/// Whether the lock can be had. The server releases it when it notices that its connection was closed.
const FREE: &str = "select cast(coalesce(release_lock(if(get_lock('mine', 9), 'mine', 'none')), 0) as char)";

/// The application's statement, and a question whose answer must be the same for the next user.
const SETTINGS: [(&str, &str); 10] = [
    ("set sql_mode = ''", "select @@sql_mode"),
    ("use information_schema", "select database()"),
    ("set session transaction read only", "select cast(@@READ_ONLY as char)"),
    ("set session transaction isolation level serializable", "select @@ISOLATION"),
    ("set foreign_key_checks = 0", "select cast(@@foreign_key_checks as char)"),
    ("set sql_select_limit = 1", "select cast(@@sql_select_limit as char)"),
    ("set time_zone = '+09:00'", "select @@time_zone"),
    ("set autocommit = 1", "select cast(@@autocommit as char)"),
    ("set @mine = 'set'", "select cast(coalesce(@mine, 'none') as char)"),
    ("do get_lock('mine', 0)", FREE),
];

fn question(db: &Database, text: &str) -> String {
    let (read_only, isolation) = match is_mysql(db) {
        true => ("transaction_read_only", "transaction_isolation"),
        false => ("tx_read_only", "tx_isolation"),
    };
    text.replace("READ_ONLY", read_only).replace("ISOLATION", isolation)
}

async fn answer(tx: &mut Transaction, question: &str) -> String {
    let question = sqlx::AssertSqlSafe(question.to_owned());
    sqlx::query_scalar(question).fetch_one(tx.mysql().unwrap()).await.unwrap()
}

#[tokio::test]
async fn setting_of_the_application_ends_with_its_transaction() {
    let t = open().await;
    let db = t.another_process_with(4).await;
    let orders = tenure::Repository::<crate::conformance::order::Order>::new(&db);
    let no = t.order().await;
    for way in ["commit", "rollback", "drop"] {
        for (own, text) in SETTINGS {
            let question = question(&db, text);
            let mut tx = db.begin().await.unwrap();
            let before = answer(&mut tx, &question).await;
            tx.rollback().await.unwrap();
            let mut tx = db.begin().await.unwrap();
            t.by_hand_in(&mut tx, own.to_owned()).await.unwrap();
            match way {
                "commit" => drop(tx.commit().await),
                "rollback" => drop(tx.rollback().await),
                _ => drop(tx),
            }
            // All connections of the pool, and an own save.
            let mut all = Vec::new();
            for _ in 0..4 {
                let mut tx = db.begin().await.unwrap();
                assert_eq!(answer(&mut tx, &question).await, before, "{own} and {way}");
                all.push(tx);
            }
            drop(all);
            let line = random();
            let sent = orders.update(&no).run(|order| order.send_to(&line)).await;
            assert_eq!(sent.unwrap().ship_to.line1, line, "{own} and {way}");
        }
    }
}

/// As it was attacked: the next save must not store less than it was given.
#[tokio::test]
async fn too_long_text_is_refused_after_a_lenient_transaction() {
    let t = open().await;
    let db = t.another_process_with(1).await;
    let orders = tenure::Repository::<crate::conformance::order::Order>::new(&db);
    let no = t.order().await;
    let mut tx = db.begin().await.unwrap();
    t.by_hand_in(&mut tx, "set sql_mode = ''; create temporary table test_order_line (no int)".into()).await.unwrap();
    tx.commit().await.unwrap();
    let refused = orders.update(&no).run(|order| order.send_to(&"x".repeat(70_000))).await.unwrap_err();
    assert!(matches!(&refused, UpdateError::Failed(Error::Database(DatabaseError::DoesNotFit(_)))), "{refused:?}");
    assert_eq!(orders.get(&no).await.unwrap().unwrap().lines.len(), t.stored(&no).await.0.lines.len());
}

/// The server gets other settings while the program runs.
#[tokio::test]
async fn new_connection_that_would_lose_commits_is_refused() {
    let server = testkit::MariaDb::start().unwrap();
    let db = Database::connect(&server.url(testkit::DATABASE)).await.unwrap();
    let before = db.begin().await.unwrap();
    server.query(testkit::DATABASE, "set global innodb_flush_log_at_trx_commit = 2").unwrap();
    let asked = std::time::Instant::now();
    let mut others = Vec::new();
    let refused = loop {
        match db.begin().await {
            Ok(tx) => others.push(tx),
            Err(error) => break error,
        }
    };
    assert!(matches!(&refused, DatabaseError::Schema(_)), "{refused:?}");
    let text = refused.to_string();
    assert!(
        text.contains("innodb_flush_log_at_trx_commit is `2`") && text.contains("allow_unsafe_durability"),
        "{text}"
    );
    assert!(asked.elapsed() < std::time::Duration::from_secs(4), "{:?}", asked.elapsed());
    before.commit().await.unwrap();
    server.query(testkit::DATABASE, "set global innodb_flush_log_at_trx_commit = 1").unwrap();
    let (_one, _two) = (db.begin().await.unwrap(), db.begin().await.unwrap());
}

#[tokio::test]
async fn server_that_limits_selects_is_used_as_any_other() {
    let server = testkit::MariaDb::start().unwrap();
    server.query(testkit::DATABASE, "set global sql_select_limit = 1").unwrap();
    let db = Database::connect(&server.url(testkit::DATABASE)).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let rows = sqlx::query("select 1 as a union all select 2").fetch_all(tx.mysql().unwrap()).await.unwrap();
    assert_eq!(rows.len(), 2);
}

#[tokio::test]
async fn dialect_of_oracle_is_refused_by_name() {
    let server = testkit::MariaDb::start().unwrap();
    let db = Database::connect(&server.url(testkit::DATABASE)).await.unwrap();
    if is_mysql(&db) {
        // It has no such mode.
        assert!(server.query(testkit::DATABASE, "set global sql_mode = 'ORACLE'").is_err());
        return;
    }
    server.query(testkit::DATABASE, "set global sql_mode = 'ORACLE'").unwrap();
    let refused = Database::connect(&server.url(testkit::DATABASE)).await.unwrap_err();
    assert!(matches!(&refused, DatabaseError::Unsupported(_)), "{refused:?}");
    assert!(refused.to_string().contains("`sql_mode` contains ORACLE"), "{refused}");
    let own = ConnectOptions::new().after_connect("set sql_mode = ''");
    Database::connect_with(&server.url(testkit::DATABASE), own).await.unwrap();
}

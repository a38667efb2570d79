//! The conformance suite on MariaDB or MySQL: one server for all tests, random keys, a clock per test.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod conformance;
/// Server failures.
#[path = "mysql/faults.rs"]
mod faults;
/// The connection that waits for the next transaction.
#[path = "mysql/kept.rs"]
mod kept;
/// Settings that the application leaves behind.
#[path = "mysql/lent.rs"]
mod lent;
/// Batches of requests to the lock table.
#[path = "mysql/lock_batches.rs"]
mod lock_batches;
/// Assumptions about the server, and guarantees there beyond the suite.
#[path = "mysql/server.rs"]
mod server;
/// Requests that the server delays.
#[path = "mysql/waits.rs"]
mod waits;

use conformance::support::{TestDb, options};
use tenure::{Database, clock::ManualClock};

/// Whether the server is MySQL and not MariaDB: some names and features differ.
fn is_mysql(db: &Database) -> bool {
    db.capabilities().database.starts_with("MySQL")
}

/// SQL for the number of open transactions on this connection.
fn in_transaction(db: &Database) -> &'static str {
    match is_mysql(db) {
        true => "(select count(*) from information_schema.innodb_trx where trx_mysql_thread_id = connection_id())",
        false => "@@in_transaction",
    }
}

async fn open() -> TestDb {
    let url = testkit::server_url(testkit::Kind::MariaDb);
    let clock = ManualClock::new();
    let db = Database::connect_with(&url, options().clock(clock.clone())).await.unwrap();
    db.migrate(&sqlx::migrate!("tests/tables/mysql")).await.unwrap();
    TestDb::new(db, url, clock, ())
}

conformance!(crate::open);
conformance!(crate::open, with row locks);

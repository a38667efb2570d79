//! The conformance suite on MariaDB: one server for all tests, random keys, a clock per test.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod conformance;
/// Server failures.
#[path = "mysql/faults.rs"]
mod faults;
/// The connection that waits for the next transaction.
#[path = "mysql/kept.rs"]
mod kept;
/// Batches of requests to the lock table.
#[path = "mysql/lock_batches.rs"]
mod lock_batches;
/// Assumptions about the server, and guarantees there beyond the suite.
#[path = "mysql/server.rs"]
mod server;

use conformance::support::TestDb;
use tenure::{Database, clock::ManualClock, storage::ConnectOptions};

async fn open() -> TestDb {
    let url = testkit::server_url(testkit::Kind::MariaDb);
    let clock = ManualClock::new();
    let db = Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await.unwrap();
    db.migrate(&sqlx::migrate!("tests/tables/mysql")).await.unwrap();
    TestDb::new(db, url, clock, ())
}

conformance!(crate::open);
conformance!(crate::open, with row locks);

//! The conformance suite on PostgreSQL: one server for all tests, random keys, a clock per test.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod conformance;
/// Settings that the application leaves behind.
#[path = "postgres/lent.rs"]
mod lent;

use conformance::support::TestDb;
use tenure::{Database, clock::ManualClock, storage::ConnectOptions};

async fn open() -> TestDb {
    let url = testkit::server_url(testkit::Kind::Postgres);
    let clock = ManualClock::new();
    let db = Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await.unwrap();
    db.migrate(&sqlx::migrate!("tests/tables/postgres")).await.unwrap();
    TestDb::new(db, url, clock, ())
}

conformance!(crate::open);
conformance!(crate::open, with row locks);

//! The conformance suite on PostgreSQL: one server for all tests, random keys, a clock per test.

mod answers;
mod edits;
mod encodings;
mod faults;
mod hidden;
mod lent;
mod server;

use tenure::{Database, clock::ManualClock, db::ConnectOptions};

use crate::conformance::support::TestDb;

pub async fn open() -> TestDb {
    let url = testkit::server_url(testkit::Kind::Postgres);
    let clock = ManualClock::new();
    let db = Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await.unwrap();
    db.migrate(&sqlx::migrate!("tests/tables/postgres")).await.unwrap();
    TestDb::new(db, url, clock, ())
}

crate::conformance!(crate::postgres::open);
crate::conformance!(crate::postgres::open, with row locks);
crate::conformance!(crate::postgres::open, with dropping triggers);

//! The conformance suite on MariaDB or MySQL: one server for all tests, random keys, a clock per test.

mod answers;
mod edits;
mod faults;
mod kept;
mod lent;
mod lock_batches;
mod server;
mod waits;

use tenure::{Database, clock::ManualClock};

use crate::conformance::support::{TestDb, options};

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

pub async fn open() -> TestDb {
    let url = testkit::server_url(testkit::Kind::MariaDb);
    let clock = ManualClock::new();
    let db = Database::connect_with(&url, options().clock(clock.clone())).await.unwrap();
    db.migrate(&sqlx::migrate!("tests/tables/mysql")).await.unwrap();
    TestDb::new(db, url, clock, ())
}

crate::conformance!(crate::mysql::open);
crate::conformance!(crate::mysql::open, with row locks);

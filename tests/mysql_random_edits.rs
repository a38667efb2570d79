//! Random edits on MariaDB.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod random_edits;

use tenure::Database;

#[test]
fn the_database_equals_the_model_after_any_edits() {
    random_edits::the_database_equals_the_model_after_any_edits(48, async || {
        let db = Database::connect(&testkit::server_url(testkit::Kind::MariaDb)).await.unwrap();
        db.migrate(&sqlx::migrate!("tests/tables/mysql")).await.unwrap();
        db
    });
}

//! Random edits on PostgreSQL.

use tenure::Database;

use crate::random_edits;

#[test]
fn the_database_equals_the_model_after_any_edits() {
    random_edits::the_database_equals_the_model_after_any_edits(48, async || {
        let db = Database::connect(&testkit::server_url(testkit::Kind::Postgres)).await.unwrap();
        db.migrate(&sqlx::migrate!("tests/tables/postgres")).await.unwrap();
        db
    });
}

//! Random edits on MariaDB.

use tenure::Database;
use tenure::db::ConnectOptions;

use crate::random_edits;

#[test]
fn the_database_equals_the_model_after_any_edits() {
    random_edits::the_database_equals_the_model_after_any_edits(48, async || {
        // It also runs on one node of a Galera cluster.
        let options = ConnectOptions::new().one_writer_node();
        let db = Database::connect_with(&testkit::server_url(testkit::Kind::MariaDb), options).await.unwrap();
        db.migrate(&sqlx::migrate!("tests/tables/mysql")).await.unwrap();
        db
    });
}

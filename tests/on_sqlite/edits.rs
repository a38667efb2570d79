//! Random edits on SQLite.

use tenure::Database;

use crate::random_edits;

#[test]
fn the_database_equals_the_model_after_any_edits() {
    let directory = tempfile::tempdir().unwrap();
    random_edits::the_database_equals_the_model_after_any_edits(64, async || {
        let url = format!("sqlite://{}/test.db", directory.path().display());
        let db = Database::connect(&url).await.unwrap();
        let mut tx = db.begin().await.unwrap();
        let tables = include_str!("../tables/sqlite/0003_children.sql");
        sqlx::raw_sql(tables).execute(tx.sqlite().unwrap()).await.unwrap();
        tx.commit().await.unwrap();
        db
    });
}

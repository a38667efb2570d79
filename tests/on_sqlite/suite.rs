//! The conformance suite on SQLite: a file per test, because its one writer would make parallel tests wait.

use tenure::{Database, clock::ManualClock, db::ConnectOptions};

use crate::conformance::support::TestDb;

const TABLES: &str = "
    create table test_order (no text primary key, state text not null, ship_to_line1 text not null,
        ship_to_zip text not null, gift_card text, gift_wrapped integer, version integer not null);
    create table test_order_line (order_no text not null references test_order (no), line_no integer not null,
        product text not null, quantity integer not null, primary key (order_no, line_no));
    create table test_counter (name text primary key, count integer not null, version integer not null);
    create table test_kinds (id blob primary key,
        always_flag integer not null, always_number integer not null, always_small integer not null,
        always_real real not null, always_short real not null, always_price text not null, always_text text not null,
        always_bytes blob not null, always_uuid blob not null, always_json text not null, always_typed text not null,
        always_at integer not null, always_day text not null, always_moment text not null, always_hour text not null,
        perhaps_flag integer, perhaps_number integer, perhaps_small integer, perhaps_real real, perhaps_short real,
        perhaps_price text, perhaps_text text, perhaps_bytes blob, perhaps_uuid blob, perhaps_json text,
        perhaps_typed text, perhaps_at integer, perhaps_day text, perhaps_moment text, perhaps_hour text,
        note text, version integer not null);
    create table test_kinds_stay (kinds_id blob not null references test_kinds (id), room blob not null,
        day text not null, price text not null, hour text, primary key (kinds_id, room, day));
    create table test_note (id text primary key, board text not null, text text not null, pinned integer,
        version integer not null, changed_by text, changed_by_name text, changed_at integer, changed_command text);
    create table test_tag (code text collate nocase primary key, text text not null, version integer not null);
";

pub async fn open() -> TestDb {
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let url = format!("sqlite://{}/test.db", directory.path().display());
    let db = Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let tables = [
        TABLES,
        include_str!("../tables/sqlite/0003_children.sql"),
        include_str!("../tables/sqlite/0020_existing.sql"),
        include_str!("../tables/sqlite/0021_check.sql"),
        include_str!("../tables/sqlite/0022_tree.sql"),
        include_str!("../tables/sqlite/0023_words.sql"),
        include_str!("../tables/sqlite/0024_generated.sql"),
        include_str!("../tables/sqlite/0025_kept.sql"),
        include_str!("../tables/sqlite/0026_narrow.sql"),
        include_str!("../tables/sqlite/0027_odd.sql"),
        include_str!("../tables/sqlite/0028_document.sql"),
        include_str!("../tables/sqlite/0029_unversioned.sql"),
    ];
    for tables in tables {
        sqlx::raw_sql(tables).execute(tx.sqlite().unwrap()).await.unwrap();
    }
    tx.commit().await.unwrap();
    TestDb::new(db, url, clock, directory)
}

crate::conformance!(crate::suite::open);
crate::conformance!(crate::suite::open, with dropping triggers);

//! Values that other programs write into the untyped columns of a SQLite table: accepted and refused ones.

use jiff::civil::{Date, DateTime, Time};
use rust_decimal::Decimal;
use tenure::aggregate::value::Json;
use tenure::{Aggregate, Database, LockMode, Repository, Version};
use uuid::Uuid;

#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "stored")]
struct Stored {
    #[aggregate(id)]
    id: u32,
    price: Option<Decimal>,
    uuid: Option<Uuid>,
    json: Option<Json<Vec<f64>>>,
    day: Option<Date>,
    moment: Option<DateTime>,
    hour: Option<Time>,
}

const NOTHING: Stored = Stored { id: 1, price: None, uuid: None, json: None, day: None, moment: None, hour: None };

/// Column types that people would choose on another database; SQLite turns some of them into numbers.
async fn with(row: &str) -> (Database, Repository<Stored>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::connect(&format!("sqlite://{}/test.db", directory.path().display())).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let table = "create table stored (id integer primary key, price decimal(10, 2), uuid uuid, json json, day date, \
                                      moment timestamp, hour time, version integer)";
    for sql in [table, &format!("insert into stored values (1, {row}, 1)")] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(tx.sqlite().unwrap()).await.unwrap();
    }
    tx.commit().await.unwrap();
    (db.clone(), Repository::new(&db), directory)
}

#[tokio::test]
async fn other_programs_formats_are_read_and_not_rewritten() {
    let row = "12, '6CCD780CBABA102695645B8C656024DB', 7, date('2026-11-20'), datetime('2026-11-20 10:00'), '10:00'";
    let same =
        "'12', '6ccd780c-baba-1026-9564-5b8c656024db', '[7.0]', '2026-11-20', '2026-11-20T10:00:00.0', '10:00:00'";
    for row in [row.replace(", 7,", ", ' [ 7 ] ',"), same.to_owned()] {
        let (db, repository, _directory) = with(&row).await;
        let expected = Stored {
            id: 1,
            price: Some(12.into()),
            uuid: Some(Uuid::from_u128(0x6ccd780c_baba_1026_9564_5b8c656024db)),
            json: Some(Json(vec![7.0])),
            day: Some(Date::constant(2026, 11, 20)),
            moment: Some(DateTime::constant(2026, 11, 20, 10, 0, 0, 0)),
            hour: Some(Time::constant(10, 0, 0, 0)),
        };
        let mut tx = db.begin().await.unwrap();
        let mut loaded = repository.find(&mut tx, &1, LockMode::Optimistic).await.unwrap().unwrap();
        assert_eq!(Stored::clone(&loaded), expected);
        *loaded = expected;
        assert_eq!(repository.save(&mut tx, &mut loaded).await.unwrap(), Version::FIRST);
    }
}

#[tokio::test]
async fn nulls_are_none_whatever_the_type_of_the_column() {
    let (_db, repository, _directory) = with("null, null, null, null, null, null").await;
    assert_eq!(repository.get(&1).await.unwrap().unwrap().into_inner(), NOTHING);
}

#[tokio::test]
async fn unfitting_value_is_refused_with_column_and_advice() {
    for (row, words) in [
        (
            "12.5, null, null, null, null, null",
            "column `price`: a floating-point number is stored, which is not exact; give",
        ),
        ("'much', null, null, null, null, null", "column `price`: `much` is no decimal number"),
        ("'1' || hex(zeroblob(20)), null, null, null, null, null", "column `price`: "),
        ("null, 'me', null, null, null, null", "column `uuid`: `me` is no UUID"),
        ("null, x'ff', null, null, null, null", "column `uuid`: 1 bytes are no UUID"),
        ("null, null, '{', null, null, null", "column `json`: not JSON"),
        ("null, null, '{}', null, null, null", "column `json`: the JSON is no "),
        ("null, null, null, '2026-02-30', null, null", "column `day`: `2026-02-30` is no date"),
        (
            "null, null, null, null, '2026-11-20 10:00Z', null",
            "column `moment`: `2026-11-20 10:00Z` is no date and time",
        ),
        ("null, null, null, null, null, '25:00'", "column `hour`: `25:00` is no time of day"),
        ("null, null, null, 20261120, null, null", "column `day`: "),
    ] {
        let (_db, repository, _directory) = with(row).await;
        let refused = repository.get(&1).await.unwrap_err().to_string();
        assert!(refused.starts_with("table `stored`, ") && refused.contains(words), "{refused}");
    }
}

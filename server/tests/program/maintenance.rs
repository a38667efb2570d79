//! Creating the tables by hand, and sweeping.

use std::process::{Command, Output};
use std::time::Duration;

use tenure::clock::ManualClock;
use tenure::db::ConnectOptions;
use tenure::{Database, LockKey, LockManager, Owner};

fn tenure(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tenure")).args(arguments).env_remove("ALLOW_PLAINTEXT").output().unwrap()
}

fn said(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test]
async fn migrate_makes_the_tables_and_print_only_prints_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shop.db");
    std::fs::File::create(&path).unwrap();
    let url = format!("sqlite://{}", path.display());
    let script = said(&tenure(&["migrate", "--print", "--database-url", &url]));
    assert!(script.contains("create table tenure_lock "), "{script}");
    assert!(Database::diagnose(&url).await.unwrap().applied.is_empty());
    assert!(said(&tenure(&["migrate", "--database-url", &url])).contains("up to date"));
    assert_eq!(said(&tenure(&["migrate", "--print", "--database-url", &url])), "");
    let diagnosis = Database::diagnose(&url).await.unwrap();
    assert_eq!(diagnosis.applied, diagnosis.known);
    assert_eq!(tenure(&["migrate", "--database-url", "oracle://host/db"]).status.code(), Some(2));
}

#[tokio::test]
async fn printed_script_makes_what_connecting_makes() {
    let directory = tempfile::tempdir().unwrap();
    let [made, scripted] = ["made.db", "scripted.db"].map(|name| {
        std::fs::File::create(directory.path().join(name)).unwrap();
        format!("sqlite://{}", directory.path().join(name).display())
    });
    let script = said(&tenure(&["migrate", "--print", "--database-url", &scripted]));
    let pool = tenure::sqlx::SqlitePool::connect(&scripted).await.unwrap();
    tenure::sqlx::raw_sql(tenure::sqlx::AssertSqlSafe(script)).execute(&pool).await.unwrap();
    let mut schemas = Vec::new();
    for url in [made, scripted] {
        let db = Database::connect(&url).await.unwrap();
        // The text of the ledger differs.
        let schema =
            "select group_concat(sql, ';') from sqlite_schema where name <> '_tenure_migrations' order by name";
        let ledger =
            "select group_concat(version || hex(checksum) || description || success, ';') from _tenure_migrations";
        for question in [schema, ledger] {
            let text: String = tenure::sqlx::query_scalar(question).fetch_one(db.sqlite().unwrap()).await.unwrap();
            schemas.push(text);
        }
        db.close().await;
    }
    assert_eq!(schemas[..2], schemas[2..]);
}

#[tokio::test]
async fn sweep_deletes_what_ended_long_ago() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/shop.db", directory.path().display());
    let clock = ManualClock::new();
    clock.set(std::time::SystemTime::now() - Duration::from_secs(40 * 24 * 3600));
    let db = Database::connect_with(&url, ConnectOptions::new().clock(clock)).await.unwrap();
    let locks = LockManager::new(&db);
    let lease = locks.try_lock(&LockKey::new("Order", "1"), &Owner::new("kim", "Kim")).await.unwrap();
    locks.release_lock(lease.id()).await.unwrap();
    db.close().await;
    let swept = said(&tenure(&["sweep", "--database-url", &url]));
    assert!(swept.contains("keys      1\n") && swept.contains("history   0\n"), "{swept}");
    let swept = said(&tenure(&["sweep", "--history", "30d", "--database-url", &url]));
    assert!(swept.contains("keys      0\n") && swept.contains("history   1\n"), "{swept}");
    let young = tenure(&["sweep", "--keys", "1h", "--database-url", &url]);
    assert_eq!(young.status.code(), Some(2));
    assert!(!String::from_utf8_lossy(&young.stderr).is_empty());
}

//! The output and the exit status of the doctor.

use std::process::{Command, Output};

use tempfile::TempDir;
use tenure::{Aggregate, Database};

fn doctor(url: &str) -> Output {
    doctor_with(url, &[])
}

fn doctor_with(url: &str, more: &[&str]) -> Output {
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_tenure"));
    doctor.args(["doctor", "--database-url", url]).args(more).env_remove("ALLOW_PLAINTEXT").output().unwrap()
}

fn says(output: &Output, words: &str) {
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(text.contains(words), "{words:?} is not in:\n{text}");
}

#[tokio::test]
async fn healthy_database_prints_one_screen_and_exits_0() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/shop.db", directory.path().display());
    Database::connect(&url).await.unwrap().close().await;
    let output = doctor(&url);
    assert_eq!(output.status.code(), Some(0));
    says(&output, "SQLite 3.");
    says(&output, "up to date (9)");
    says(&output, "healthy");
    assert!(String::from_utf8_lossy(&output.stdout).lines().count() <= 24);
}

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
    message: String,
}

fn mapping_in(directory: &TempDir, text: &str) -> String {
    let file = directory.path().join("mapping.json");
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

#[tokio::test]
async fn mappings_are_compared_with_the_live_tables() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/shop.db", directory.path().display());
    let one = mapping_in(&directory, &serde_json::to_string(Order::mapping()).unwrap());
    let db = Database::connect(&url).await.unwrap();
    let missing = doctor_with(&url, &["--mapping", &one]);
    assert_eq!(missing.status.code(), Some(1));
    says(&missing, "table `orders`: there is no such table");
    let mut tx = db.begin().await.unwrap();
    let table = "create table orders (no text primary key not null, version integer not null)";
    tenure::sqlx::query(table).execute(tx.sqlite().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    let list = mapping_in(&directory, &serde_json::to_string(&[Order::mapping()]).unwrap());
    let incomplete = doctor_with(&url, &["--mapping", &list]);
    assert_eq!(incomplete.status.code(), Some(1));
    says(&incomplete, "column `message`: the table has no such column");
    let mut tx = db.begin().await.unwrap();
    let column = "alter table orders add column message text not null default ''";
    tenure::sqlx::query(column).execute(tx.sqlite().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    let fits = doctor_with(&url, &["--mapping", &list]);
    assert_eq!(fits.status.code(), Some(0));
    says(&fits, "Order                     0 errors, 0 warnings");
}

#[tokio::test]
async fn mapping_that_cannot_be_compared_is_refused_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.db");
    std::fs::write(&file, "").unwrap();
    let url = format!("sqlite://{}", file.display());
    let good = serde_json::to_string(Order::mapping()).unwrap();
    let early = doctor_with(&url, &["--mapping", &mapping_in(&directory, &good)]);
    assert_eq!(early.status.code(), Some(2));
    says(&early, "tenure migrate");
    Database::connect(&url).await.unwrap().close().await;
    let injected = good.replace("\"orders\"", "\"orders; drop table orders\"");
    let far = good.replace("\"key\":1", "\"key\":7");
    assert!(injected != good && far != good);
    for (text, why) in
        [("", "no mapping"), ("{}", "missing field"), (&injected, "letters, digits"), (&far, "more columns")]
    {
        let refused = doctor_with(&url, &["--mapping", &mapping_in(&directory, text)]);
        assert_eq!(refused.status.code(), Some(2), "{text}");
        says(&refused, why);
    }
    assert_eq!(doctor_with(&url, &["--mapping", "/no/such/file"]).status.code(), Some(2));
}

#[tokio::test]
async fn a_newer_schema_is_not_healthy_and_exits_with_1() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/shop.db", directory.path().display());
    let db = Database::connect(&url).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let newer = "insert into _tenure_migrations values (9999, 'from the future', current_timestamp, true, x'00', 0)";
    tenure::sqlx::query(newer).execute(tx.sqlite().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    db.close().await;
    let output = doctor(&url);
    assert_eq!(output.status.code(), Some(1));
    says(&output, "NEWER than this release");
}

#[test]
fn unopenable_database_is_named_with_exit_status_2() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.db");
    let output = doctor(&format!("sqlite://{}", file.display()));
    assert_eq!(output.status.code(), Some(2));
    says(&output, "shop.db");
    assert!(!file.exists());
    assert_eq!(doctor("oracle://host/db").status.code(), Some(2));
}

#[test]
fn doctor_reports_refused_and_allowed_plaintext() {
    let url = testkit::new_database(testkit::Kind::Postgres);
    says(&doctor(&url), "plaintext, on this machine");
    // It routes to this machine, but is no loopback address: a host like any other.
    let remote = url.replace("@127.0.0.1:", "@0.0.0.0:");
    let refused = doctor(&remote);
    assert_eq!(refused.status.code(), Some(2));
    says(&refused, "plaintext to it is refused");
    says(&refused, "--allow-plaintext");
    let allowed = doctor_with(&remote, &["--allow-plaintext"]);
    assert_eq!(allowed.status.code(), Some(0));
    says(&allowed, "PLAINTEXT over the network");
}

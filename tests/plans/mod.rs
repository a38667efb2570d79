//! A statement whose parameter is a list finds the rows of our tables by an index, whatever the statistics say: those of a table that was
//! empty make a scan look cheap, and a scan waits for the rows of others.

use sqlx::{AssertSqlSafe, Connection, Row};

use super::*;

/// What makes rows of a list.
const LISTS: [&str; 2] = ["jsonb_each(", "json_table("];

fn has_a_list(text: &str) -> bool {
    let text = text.to_lowercase();
    LISTS.iter().any(|list| text.contains(list))
}

/// Everything that was emitted by all operations.
#[cfg(feature = "sqlite")]
async fn emitted_by_everything(db: &Database, clock: &ManualClock) -> Vec<String> {
    let before = emitted().len();
    everything(db, clock, &LockId::random().reveal()[48..]).await;
    emitted()[before..].to_vec()
}

/// A field of an emitted line as the text that it was.
#[cfg(feature = "sqlite")]
fn field(line: &str, name: &str) -> Option<String> {
    let (_, rest) = line.split_once(&format!(" {name}=\""))?;
    let mut text = String::new();
    let mut chars = rest.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => return Some(text),
            '\\' => match chars.next()? {
                'n' => text.push('\n'),
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
    None
}

#[cfg(feature = "sqlite")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_read_by_index_on_sqlite() {
    let _one = ONE_AT_A_TIME.lock().await;
    let _ = tracing::subscriber::set_global_default(Capture);
    let directory = tempfile::tempdir().unwrap();
    let (clock, url) = (ManualClock::new(), format!("sqlite://{}/test.db", directory.path().display()));
    let options = || ConnectOptions::new().clock(clock.clone());
    let mut db = Database::connect_with(&url, options()).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    sqlx::raw_sql(TABLE).execute(tx.sqlite().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    for _ in ["empty", "filled"] {
        db.close().await;
        let mut by_hand = sqlx::SqliteConnection::connect(&url).await.unwrap();
        sqlx::raw_sql("analyze").execute(&mut by_hand).await.unwrap();
        db = Database::connect_with(&url, options()).await.unwrap();
        let emitted = emitted_by_everything(&db, &clock).await;
        let texts = emitted.iter().filter_map(|line| field(line, "db.statement"));
        let mut texts: Vec<String> = texts.filter(|text| has_a_list(text)).collect();
        texts.sort();
        texts.dedup();
        assert!(texts.len() >= 4, "{texts:#?}");
        // With the statistics as they were when the texts ran.
        for text in texts {
            // What it carries beside is no list.
            let text = text.split(';').find(|text| has_a_list(text)).unwrap();
            let explain = AssertSqlSafe(format!("explain query plan {text}"));
            for row in sqlx::query(explain).fetch_all(&mut by_hand).await.unwrap() {
                let step: String = row.get("detail");
                let is_of_list = ["json", "new", "(subquery", "CONSTANT"].iter().any(|list| step.contains(list));
                assert!(!step.starts_with("SCAN") || is_of_list, "{step}: {text}");
            }
        }
        by_hand.close().await.unwrap();
    }
}

#[cfg(feature = "mysql")]
#[ignore = "starts a server: cargo xtask test"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_read_by_index_on_mariadb() {
    let _one = ONE_AT_A_TIME.lock().await;
    let server = testkit::MariaDb::builder().setting("innodb-stats-auto-recalc", "0").setting("log-output", "TABLE");
    let server = server.start().unwrap();
    let (clock, url) = (ManualClock::new(), server.url(testkit::DATABASE));
    let db = Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await.unwrap();
    sqlx::raw_sql(TABLE).execute(db.mysql().unwrap()).await.unwrap();
    let mut by_hand = sqlx::MySqlConnection::connect(&url).await.unwrap();
    let tables = "show tables like 'tenure\\_%'";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut by_hand).await.unwrap();
    let analyze = || AssertSqlSafe(format!("analyze table {}", tables.join(", ")));
    sqlx::raw_sql(analyze()).execute(&mut by_hand).await.unwrap();
    // Its values stand in the text of a logged statement.
    sqlx::raw_sql("set global general_log = on").execute(&mut by_hand).await.unwrap();
    everything(&db, &clock, "1").await;
    sqlx::raw_sql("set global general_log = off").execute(&mut by_hand).await.unwrap();
    let logged = "select distinct argument from mysql.general_log where command_type in ('Execute', 'Query')";
    let logged = sqlx::raw_sql(logged).fetch_all(&mut by_hand).await.unwrap();
    let texts = logged.iter().map(|row| String::from_utf8_lossy(row.get::<&[u8], _>(0)).into_owned());
    let texts: Vec<String> = texts.filter(|text| has_a_list(text)).collect();
    assert!(texts.len() >= 4, "{texts:#?}");
    for _ in ["empty", "filled"] {
        for text in &texts {
            // Without the limits of its waits.
            let text = text
                .strip_prefix("set statement ")
                .and_then(|text| text.split_once(" for "))
                .map_or(&**text, |(_, text)| text);
            let explain = AssertSqlSafe(format!("explain {text}"));
            for row in sqlx::raw_sql(explain).fetch_all(&mut by_hand).await.unwrap() {
                let read = |column| row.get::<Option<String>, _>(column).unwrap_or_default();
                let (table, kind, extra) = (read("table"), read("type"), read("Extra"));
                let is_of_list = table.starts_with('<') || extra.contains("Table function");
                assert!(kind != "ALL" || is_of_list, "{table} is scanned, {extra}: {text}");
            }
        }
        sqlx::raw_sql(analyze()).execute(&mut by_hand).await.unwrap();
    }
    db.close().await;
}

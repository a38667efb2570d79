//! Invalid SQLite files, and their errors.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sqlx::sqlite::SqliteConnectOptions;
use tenure::{
    Database, LockKey, LockManager, Owner, Wait,
    db::ConnectOptions,
    error::{DatabaseError, LockError},
};
use tokio::task::JoinSet;

/// Far longer than any operation takes: a failing test reports it instead of hanging.
const PATIENCE: Duration = Duration::from_secs(30);

fn url(path: &Path) -> String {
    format!("sqlite://{}", path.display())
}

async fn refused(url: &str) -> DatabaseError {
    Database::connect(url).await.expect_err("the file was opened")
}

#[tokio::test]
async fn a_missing_file_is_made_and_found_again() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("주문 💐.db");
    let key = LockKey::new("Order", "1");
    let kim = Owner::new("kim", "Kim");
    let db = Database::connect(&url(&file)).await.unwrap();
    let lease = LockManager::new(&db).try_lock(&key, &kim).await.unwrap();
    db.close().await;
    let db = Database::connect(&url(&file)).await.unwrap();
    let locks = LockManager::new(&db);
    assert_eq!(locks.check_lock(lease.id()).await.unwrap().holder().owner, kim);
    assert!(matches!(locks.try_lock(&key, &kim).await, Err(LockError::AlreadyLocked(_))));
}

#[tokio::test]
async fn missing_directory_is_named_with_advice() {
    let directory = tempfile::tempdir().unwrap();
    let error = refused(&url(&directory.path().join("missing/shop.db"))).await;
    let text = error.to_string();
    assert!(matches!(error, DatabaseError::Unreachable { .. }), "{error:?}");
    assert!(text.contains("missing/shop.db") && text.contains("check that the directory"), "{text}");
}

#[tokio::test]
async fn a_directory_is_no_database() {
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(refused(&url(directory.path())).await, DatabaseError::Unreachable { .. }));
}

#[tokio::test]
async fn a_file_that_may_only_be_read_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.db");
    Database::connect(&url(&file)).await.unwrap().close().await;
    let error = refused(&format!("{}?mode=ro", url(&file))).await;
    assert!(matches!(error, DatabaseError::Unreachable { .. }) && error.to_string().contains("`mode=ro`"), "{error}");
}

/// No retry helps: it would poll to its deadline, and then say that the lock is held.
#[tokio::test]
async fn wait_for_a_lock_in_an_unwritable_file_fails_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.db");
    let writable = Database::connect(&url(&file)).await.unwrap();
    let (key, kim) = (LockKey::new("Order", "1"), Owner::new("kim", "Kim"));
    // As a user without the right to write opens it: that right does not stop root.
    let driver = SqliteConnectOptions::new().filename(&file).read_only(true);
    let unwritable = Database::connect_driver(driver, ConnectOptions::new()).await.unwrap();
    let refused = LockManager::new(&unwritable).lock(&key, &kim).within(PATIENCE).await.unwrap_err();
    let LockError::Database(error @ DatabaseError::NotPermitted(_)) = &refused else { panic!("{refused:?}") };
    assert!(!refused.is_retryable() && error.to_string().contains("may not write to the database file"), "{error}");
    LockManager::new(&writable).try_lock(&key, &kim).await.unwrap();
}

/// File permissions do not stop root, which tests in containers run as; there the test proves nothing.
#[cfg(unix)]
#[tokio::test]
async fn a_file_that_this_user_may_not_write_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.db");
    Database::connect(&url(&file)).await.unwrap().close().await;
    let only = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    only(&file, 0o444);
    only(directory.path(), 0o555);
    let root = std::fs::write(directory.path().join("probe"), "").is_ok();
    let opened = Database::connect(&url(&file)).await;
    only(directory.path(), 0o755);
    match opened {
        Err(DatabaseError::NotPermitted(_)) => assert!(!root),
        Ok(_) => assert!(root, "a file that may not be written was opened"),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn non_database_file_is_named_and_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("letter.txt");
    let letter = "Dear customer, ".repeat(100);
    std::fs::write(&file, &letter).unwrap();
    let text = refused(&url(&file)).await.to_string();
    assert!(text.contains("letter.txt") && text.contains("not a SQLite database"), "{text}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), letter);
}

#[tokio::test]
async fn file_of_a_newer_release_is_refused_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.db");
    let db = Database::connect(&url(&file)).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let newer = "insert into _tenure_migrations values (9999, 'from the future', current_timestamp, true, x'00', 0)";
    sqlx::query(newer).execute(tx.sqlite().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    db.close().await;
    let error = refused(&url(&file)).await;
    assert!(matches!(error, DatabaseError::Schema(_)), "{error:?}");
    assert!(error.to_string().contains("migration 9999") && error.to_string().contains("newer release"), "{error}");
}

#[tokio::test]
async fn file_of_an_unreleased_checkout_is_refused_with_advice() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.db");
    let db = Database::connect(&url(&file)).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let older = "update _tenure_migrations set version = 1, description = 'tenure', checksum = x'00'";
    sqlx::query(older).execute(tx.sqlite().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    db.close().await;
    let error = refused(&url(&file)).await;
    assert!(matches!(error, DatabaseError::Schema(_)), "{error:?}");
    assert!(error.to_string().contains("before the first release"), "{error}");
    assert!(error.to_string().contains("drop the tables"), "{error}");
    let diagnosis = Database::diagnose(&url(&file)).await.unwrap();
    assert!(!diagnosis.is_healthy() && diagnosis.to_string().contains("UNRELEASED"), "{diagnosis}");
}

#[tokio::test]
async fn memory_and_other_databases_are_refused_by_name() {
    assert!(refused("sqlite::memory:").await.to_string().contains("name a file"));
    assert!(matches!(refused("oracle://host/db").await, DatabaseError::Unsupported(_)));
    assert!(matches!(refused("").await, DatabaseError::Unsupported(_)));
}

#[tokio::test]
async fn two_processes_share_the_file_and_its_locks() {
    let directory = tempfile::tempdir().unwrap();
    let file = url(&directory.path().join("shop.db"));
    let (here, there) = (Database::connect(&file).await.unwrap(), Database::connect(&file).await.unwrap());
    let held = here.begin().await.unwrap();
    let waited = there.begin_within(Wait::Within(Duration::from_millis(120))).await.expect_err("two writers");
    assert!(
        matches!(waited, DatabaseError::LockTimeout { waited, .. } if waited >= Duration::from_millis(100)),
        "{waited:?}"
    );
    held.rollback().await.unwrap();
    there.begin_within(Wait::No).await.unwrap().rollback().await.unwrap();
    let key = LockKey::new("Order", "1");
    LockManager::new(&here).try_lock(&key, &Owner::new("kim", "Kim")).await.unwrap();
    let refused = LockManager::new(&there).try_lock(&key, &Owner::new("lee", "Lee")).await;
    assert!(matches!(refused, Err(LockError::AlreadyLocked(holder)) if holder.owner.id == "kim"));
}

#[tokio::test]
async fn acknowledged_commits_are_flushed_by_the_settings() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::connect(&url(&directory.path().join("shop.db"))).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let synchronous: i64 = sqlx::query_scalar("pragma synchronous").fetch_one(tx.sqlite().unwrap()).await.unwrap();
    let journal: String = sqlx::query_scalar("pragma journal_mode").fetch_one(tx.sqlite().unwrap()).await.unwrap();
    assert_eq!((synchronous, journal.as_str()), (2, "wal"));
}

#[tokio::test]
async fn a_lock_id_is_stored_only_as_a_hash() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::connect(&url(&directory.path().join("shop.db"))).await.unwrap();
    let lease = LockManager::new(&db).try_lock(&LockKey::new("Order", "1"), &Owner::new("kim", "Kim")).await.unwrap();
    db.close().await;
    let secret: Vec<u8> =
        (0..32).map(|at| u8::from_str_radix(&lease.id().reveal()[2 * at..2 * at + 2], 16).unwrap()).collect();
    for file in std::fs::read_dir(directory.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(32).any(|window| window == secret), "the secret itself is in the file");
        assert!(!bytes.windows(64).any(|window| window == lease.id().reveal().as_bytes()));
    }
}

#[tokio::test]
async fn the_pool_for_readers_cannot_write() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::connect(&url(&directory.path().join("shop.db"))).await.unwrap();
    let written = sqlx::query("delete from tenure_lock").execute(db.sqlite().unwrap()).await;
    assert!(written.unwrap_err().to_string().contains("readonly"));
}

#[tokio::test]
async fn a_closed_database_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::connect(&url(&directory.path().join("shop.db"))).await.unwrap();
    db.clone().close().await;
    let error = db.begin().await.expect_err("it is closed");
    assert!(error.to_string().contains("connect again"), "{error}");
}

#[tokio::test]
async fn lock_check_does_not_wait_for_writers() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::connect(&url(&directory.path().join("shop.db"))).await.unwrap();
    let (locks, kim) = (LockManager::new(&db), Owner::new("kim", "Kim"));
    let mut ids = Vec::new();
    for id in ["1", "2", "3", "4"] {
        ids.push(locks.try_lock(&LockKey::new("Order", id), &kim).await.unwrap().id().clone());
    }
    let checked = ids.pop().unwrap();
    let writing = db.begin().await.unwrap();
    let mut extending = JoinSet::new();
    for id in ids {
        let locks = locks.clone();
        extending.spawn(async move { locks.extend_lock_expiration(&id, PATIENCE).await });
    }
    // On this single thread all requests have been made by our next turn: more than go unbatched.
    tokio::task::yield_now().await;
    locks.check_lock(&checked).await.unwrap();
    assert!(extending.try_join_next().is_none(), "they wait for the transaction");
    writing.rollback().await.unwrap();
    assert!(extending.join_all().await.into_iter().all(|extended| extended.is_ok()));
}

/// This test as another process, which holds the given file.
const HOLDS: &str = "TENURE_TEST_HOLDS";

fn signal(process: u32, signal: &str) {
    let killed = Command::new("sh").arg("-c").arg(format!("kill -{signal} {process}")).status().unwrap();
    assert!(killed.success());
}

#[tokio::test]
async fn stopped_writer_is_named_to_waiters() {
    if let Ok(held) = std::env::var(HOLDS) {
        let db = Database::connect(&held).await.unwrap();
        let _writing = db.begin().await.unwrap();
        println!("it writes");
        // Until it is killed.
        std::io::stdin().read_line(&mut String::new()).unwrap();
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let url = url(&directory.path().join("shop.db"));
    let db = Database::connect(&url).await.unwrap();
    let locks = LockManager::new(&db);
    let arguments = ["--exact", "files::stopped_writer_is_named_to_waiters", "--nocapture"];
    let mut other = Command::new(std::env::current_exe().unwrap());
    let mut other =
        other.args(arguments).env(HOLDS, &url).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(other.stdout.take().unwrap());
    assert!(said.lines().map_while(Result::ok).any(|line| line.contains("it writes")));
    signal(other.id(), "STOP");
    let limit = Duration::from_millis(300);
    let asked = Instant::now();
    let refused = db.begin_within(Wait::Within(limit)).await.unwrap_err();
    let DatabaseError::LockTimeout { holder: Some(holder), .. } = &refused else { panic!("{refused:?}") };
    assert!(holder.contains(&other.id().to_string()) && holder.ends_with("which is stopped"), "{holder}");
    let refused = locks.lock(&LockKey::new("Order", "1"), &Owner::new("kim", "Kim")).within(limit).await;
    assert!(matches!(refused, Err(LockError::LockTimeout { .. })), "{refused:?}");
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?} of 600 ms", asked.elapsed());
    // One operation has one deadline, for any number of its transactions.
    let asked = Instant::now();
    let refused = locks.try_lock(&LockKey::new("Order", "1"), &Owner::new("kim", "Kim")).await;
    assert!(refused.is_err() && asked.elapsed() < Duration::from_secs(8), "{:?} of 5,000 ms", asked.elapsed());
    signal(other.id(), "KILL");
    other.wait().unwrap();
    locks.try_lock(&LockKey::new("Order", "1"), &Owner::new("kim", "Kim")).await.unwrap();
}

#[tokio::test]
async fn full_disk_has_its_own_error_and_saves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.db");
    Database::connect(&url(&file)).await.unwrap().close().await;
    // SQLite reports the limit of pages as it reports a full disk.
    let limited = sqlx::sqlite::SqliteConnectOptions::new().filename(&file).pragma("max_page_count", "1");
    let db = Database::connect_driver(limited, tenure::db::ConnectOptions::new()).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let own = sqlx::raw_sql("create table t (a); insert into t values (zeroblob(100000))");
    let full = DatabaseError::from(own.execute(tx.sqlite().unwrap()).await.unwrap_err());
    assert!(matches!(full, DatabaseError::DiskFull(_)) && full.code().as_str() == "disk-full", "{full:?}");
    assert!(full.to_string().contains("no space left") && full.to_string().contains("free disk space"), "{full}");
    tx.rollback().await.unwrap();
    let locks = LockManager::new(&db);
    let mut refused = None;
    for id in 0..10_000 {
        let request = locks.try_lock(&LockKey::new("Order", format!("{id:0100}")), &Owner::new("kim", "Kim")).await;
        match request {
            Ok(_) => {}
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    assert!(matches!(refused, Some(LockError::Database(DatabaseError::DiskFull(_)))), "{refused:?}");
}

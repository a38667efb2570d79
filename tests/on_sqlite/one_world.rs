//! One file is one world: two processes never lock and save in the same file without seeing each other.

use std::convert::Infallible;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tempfile::TempDir;
use tenure::{Aggregate, Database, LockKey, LockManager, Owner, Repository, db::ConnectOptions};

#[derive(Aggregate, Debug)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
    note: String,
}

const TABLE: &str = "create table orders (no text primary key, note text not null, version integer not null)";
const FILE: &str = "TENURE_TEST_WORLD";

fn at(file: &Path) -> String {
    format!("sqlite://{}", file.display())
}

/// A new folder with `shop.db`, which has order 1.
async fn shop() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.db");
    let db = Database::connect(&at(&file)).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    sqlx::raw_sql(TABLE).execute(tx.sqlite().unwrap()).await.unwrap();
    Repository::new(&db).insert(&mut tx, Order { no: "1".into(), note: String::new() }).await.unwrap();
    tx.commit().await.unwrap();
    db.close().await;
    (directory, file)
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", file.display()))
}

/// Saves order 1 without a lease.
async fn save(db: &Database, note: &str) -> Result<(), String> {
    let orders = Repository::<Order>::new(db);
    let saved = orders.update(&"1".to_owned()).run(|order| {
        order.note = note.into();
        Ok::<_, Infallible>(())
    });
    saved.await.map(drop).map_err(|error| error.to_string())
}

async fn note(db: &Database) -> String {
    Repository::<Order>::new(db).get(&"1".to_owned()).await.unwrap().unwrap().note.clone()
}

/// The other process: it opens the file, and runs one command per line of its input.
#[tokio::test]
async fn other_process() {
    let Ok(file) = std::env::var(FILE) else { return };
    let db = Database::connect(&at(Path::new(&file))).await;
    println!("\nsays {}", db.as_ref().map_or_else(|error| error.to_string().replace('\n', " "), |_| "open".into()));
    let Ok(db) = db else { return };
    for command in std::io::stdin().lines().map_while(Result::ok) {
        let answer = match &*command {
            "lock" => {
                let kim = Owner::new("kim", "Kim");
                let lease = LockManager::new(&db).try_lock(&LockKey::new("Order", "1"), &kim).await;
                lease
                    .map_or_else(|error| error.to_string(), |lease| format!("generation {}", lease.holder().generation))
            }
            "note" => note(&db).await,
            note => save(&db, note).await.map_or_else(|error| error, |()| "saved".into()),
        };
        println!("says {answer}");
    }
    db.close().await;
}

struct Other {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Other {
    /// It opens this file; the second value is its first answer.
    fn at(file: &Path) -> (Self, String) {
        Self::by(Command::new(std::env::current_exe().unwrap()), file)
    }

    fn by(mut command: Command, file: &Path) -> (Self, String) {
        let command = command.args(["--exact", "one_world::other_process", "--nocapture"]).env(FILE, file);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        let mut other = Other { process, input, output };
        let first = other.answer();
        (other, first)
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if let Some(answer) = line.strip_prefix("says ") {
                return answer.trim_end().to_owned();
            }
            line.clear();
        }
        panic!("the other process ended without an answer")
    }

    fn does(&mut self, command: &str) -> String {
        writeln!(self.input.as_mut().unwrap(), "{command}").unwrap();
        self.answer()
    }

    /// It closes the database, and ends.
    fn end(mut self) {
        drop(self.input.take());
        std::io::copy(&mut self.output, &mut std::io::sink()).unwrap();
        assert!(self.process.wait().unwrap().success());
    }
}

#[tokio::test]
async fn file_with_two_names_is_refused_by_each_of_them() {
    let (directory, file) = shop().await;
    let link = directory.path().join("link.db");
    fs::hard_link(&file, &link).unwrap();
    let (other, said) = Other::at(&link);
    other.end();
    let here = Database::connect(&at(&file)).await.map_or_else(|error| error.to_string(), |_| "open".into());
    for (said, name) in [(said, "link.db"), (here, "shop.db")] {
        assert!(said.contains(name) && said.contains("2 names (hard links)"), "{said}");
        let folder = format!("share the directory {}", directory.path().canonicalize().unwrap().display());
        assert!(said.contains(&folder) && said.contains("`ConnectOptions::allow_linked_file`"), "{said}");
    }
    assert!(!beside(&file, "-wal").exists() && !beside(&link, "-wal").exists());
    let diagnosis = Database::diagnose(&at(&file)).await.unwrap();
    assert!(!diagnosis.is_healthy() && diagnosis.to_string().contains("2 names (hard links)"), "{diagnosis}");
    fs::remove_file(&link).unwrap();
    Database::connect(&at(&file)).await.unwrap();
}

#[tokio::test]
async fn linked_file_is_accepted_if_that_is_declared() {
    let (directory, file) = shop().await;
    fs::hard_link(&file, directory.path().join("snapshot.db")).unwrap();
    let db = Database::connect_with(&at(&file), ConnectOptions::new().allow_linked_file()).await.unwrap();
    save(&db, "declared").await.unwrap();
}

#[tokio::test]
async fn file_mounted_by_itself_is_refused_and_the_folder_is_named() {
    let (directory, file) = shop().await;
    let mounted = directory.path().join("in the container").join("shop.db");
    fs::create_dir(mounted.parent().unwrap()).unwrap();
    fs::write(&mounted, "").unwrap();
    // A mount in a namespace of the other process, as a container has it.
    let mut command = Command::new("unshare");
    let script = r#"mount --bind "$1" "$2" && shift 2 && exec "$@""#;
    command.args(["--mount", "--map-root-user", "sh", "-c", script, "sh"]).arg(&file).arg(&mounted);
    command.arg(std::env::current_exe().unwrap());
    let (other, said) = Other::by(command, &mounted);
    other.end();
    let folder = format!("mount the directory {} instead", mounted.parent().unwrap().canonicalize().unwrap().display());
    assert!(said.contains("is mounted by itself") && said.contains(&folder), "{said}");
    assert!(said.contains("`ConnectOptions::allow_linked_file`"), "{said}");
}

/// The operation is refused because this file beside the database was lost.
fn lost(answer: Result<(), String>, file: &str, happened: &str) {
    let text = answer.expect_err("it was acknowledged");
    assert!(text.contains(&format!("{file} was {happened}")) && text.contains("start again"), "{text}");
}

#[tokio::test]
async fn deleted_side_files_end_the_world_that_used_them() {
    for deleted in [&["-wal", "-shm"][..], &["-shm"]] {
        let (_directory, file) = shop().await;
        let first = Database::connect(&at(&file)).await.unwrap();
        LockManager::new(&first).try_lock(&LockKey::new("Order", "1"), &Owner::new("lee", "Lee")).await.unwrap();
        save(&first, "before").await.unwrap();
        for ending in deleted {
            fs::remove_file(beside(&file, ending)).unwrap();
        }
        let (mut other, said) = Other::at(&file);
        assert_eq!(said, "open");
        assert_eq!(other.does("by the other"), "saved", "{deleted:?}");
        let ending = deleted[0];
        // It was made anew by the other process.
        lost(save(&first, "by the first").await, &format!("shop.db{ending}"), "replaced by another file");
        let refused = LockManager::new(&first).try_lock(&LockKey::new("Order", "2"), &Owner::new("lee", "Lee")).await;
        lost(refused.map(drop).map_err(|error| error.to_string()), &format!("shop.db{ending}"), "replaced");
        // The first writes nothing when it closes, neither beside the other nor after it.
        other.end();
        first.close().await;
        let (mut third, _) = Other::at(&file);
        assert_eq!(third.does("note"), "by the other", "{deleted:?}");
        third.end();
    }
}

#[tokio::test]
async fn log_that_was_deleted_and_not_replaced_is_stored_at_the_end() {
    let (_directory, file) = shop().await;
    let db = Database::connect(&at(&file)).await.unwrap();
    save(&db, "before").await.unwrap();
    fs::remove_file(beside(&file, "-wal")).unwrap();
    lost(save(&db, "after").await, "shop.db-wal", "moved or deleted");
    db.close().await;
    let (mut other, _) = Other::at(&file);
    assert_eq!(other.does("note"), "before");
    other.end();
}

/// Linux reports the locks of an open file; elsewhere this is not detected.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn locks_released_by_the_process_itself_stop_it() {
    let (_directory, file) = shop().await;
    let db = Database::connect(&at(&file)).await.unwrap();
    save(&db, "before").await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let orders = Repository::<Order>::new(&db);
    let mut order = orders.find(&mut tx, &"1".to_owned(), tenure::LockMode::None).await.unwrap().unwrap();
    order.note = "too late".into();
    orders.save(&mut tx, &mut order).await.unwrap();
    // A backup of the folder, in this process.
    drop(fs::read(beside(&file, "-shm")).unwrap());
    let (mut other, said) = Other::at(&file);
    assert_eq!(said, "open");
    assert_eq!(other.does("by the other"), "saved");
    let happened = "opened and closed by other code of this process";
    lost(tx.commit().await.map_err(|error| error.to_string()), "shop.db-shm", happened);
    lost(save(&db, "later").await, "shop.db-shm", happened);
    // Neither does a second database of this process work with the released locks.
    lost(Database::connect(&at(&file)).await.map(drop).map_err(|error| error.to_string()), "shop.db-shm", happened);
    db.close().await;
    assert_eq!(other.does("note"), "by the other");
    other.end();
}

#[tokio::test]
async fn transaction_dropped_outside_a_runtime_is_rolled_back() {
    let (_directory, file) = shop().await;
    let db = Database::connect(&at(&file)).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    sqlx::query("update orders set note = 'never'").execute(tx.sqlite().unwrap()).await.unwrap();
    std::thread::spawn(move || drop(tx)).join().unwrap();
    save(&db, "after").await.unwrap();
    assert_eq!(note(&db).await, "after");
    db.close().await;
}

//! A database file that is moved, deleted or replaced while it is open, and the permissions of created files.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tenure::{
    Aggregate, Database, Error, Lease, LockKey, LockManager, Owner, Repository, Wait,
    error::{DatabaseError, LeaseError, LockError, UpdateError},
};

#[derive(Aggregate, Debug)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
    note: String,
}

/// A shop with order 1, in a file that has a backup.
struct Shop {
    file: PathBuf,
    backup: PathBuf,
    _directory: TempDir,
}

impl Shop {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (file, backup) = (directory.path().join("shop.db"), directory.path().join("backup.db"));
        let db = open(&file).await;
        let mut tx = db.begin().await.unwrap();
        let table = "create table orders (no text primary key, note text not null, version integer not null)";
        sqlx::raw_sql(table).execute(tx.sqlite().unwrap()).await.unwrap();
        Repository::new(&db).insert(&mut tx, Order { no: "1".into(), note: String::new() }).await.unwrap();
        tx.commit().await.unwrap();
        db.close().await;
        fs::copy(&file, &backup).unwrap();
        Shop { file, backup, _directory: directory }
    }

    fn beside(&self, ending: &str) -> PathBuf {
        PathBuf::from(format!("{}{ending}", self.file.display()))
    }

    /// Puts the backup in its place, like a person who has lost the original.
    fn restore(&self) {
        fs::rename(&self.backup, &self.file).unwrap();
        for ending in ["-wal", "-shm"] {
            let _ = fs::remove_file(self.beside(ending));
        }
    }
}

async fn open(file: &Path) -> Database {
    Database::connect(&format!("sqlite://{}", file.display())).await.unwrap()
}

async fn lock(db: &Database, who: &str) -> Result<Lease, LockError> {
    LockManager::new(db).try_lock(&LockKey::new("Order", "1"), &Owner::new(who, who)).await
}

async fn save(db: &Database, note: &str, lease: &Lease) -> Result<(), UpdateError<Infallible>> {
    let orders = Repository::<Order>::new(db);
    let saved = orders.update(&"1".to_owned()).holding(lease.id()).run(|order| {
        order.note = note.into();
        Ok(())
    });
    saved.await.map(drop)
}

async fn note(db: &Database) -> String {
    Repository::<Order>::new(db).get(&"1".to_owned()).await.unwrap().unwrap().note.clone()
}

fn lost<T: std::fmt::Debug>(answer: Result<T, impl Into<Error>>, happened: &str) {
    match answer.map_err(Into::into) {
        Err(Error::Database(error @ DatabaseError::FileLost { .. })) => {
            let text = error.to_string();
            assert!(text.contains("shop.db was") && text.contains(happened), "{text}");
            assert!(!error.is_retryable() && error.code() == tenure::error::ErrorCode::FileLost);
        }
        other => panic!("the file was lost, and the answer is {other:?}"),
    }
}

fn of_lock<T>(answer: Result<T, LockError>) -> Result<T, DatabaseError> {
    answer.map_err(|error| match error {
        LockError::Database(error) => error,
        other => panic!("{other:?}"),
    })
}

fn of_save<T>(answer: Result<T, UpdateError<Infallible>>) -> Result<T, Error> {
    answer.map_err(|error| match error {
        UpdateError::Failed(error) => error,
        UpdateError::Refused(never) => match never {},
    })
}

/// Nothing is granted, kept alive, answered or saved any more.
async fn everything_stops(db: &Database, lease: &Lease, happened: &str) {
    let locks = LockManager::new(db);
    lost(of_save(save(db, "lost", lease).await), happened);
    lost(of_lock(lock(db, "lee").await), happened);
    lost(locks.check_lock(lease.id()).await.map_err(of_lease), happened);
    lost(locks.keep_alive(&[lease.id().clone()]).await, happened);
    lost(locks.extend_lock_expiration(lease.id(), Duration::from_secs(1)).await.map_err(of_lease), happened);
    lost(locks.release_lock(lease.id()).await.map_err(of_lease), happened);
    lost(locks.holders(&lease.holder().key).await, happened);
    lost(Repository::<Order>::new(db).get(&"1".to_owned()).await, happened);
    lost(db.begin().await.map(drop), happened);
    lost(db.sqlite().map(drop), happened);
}

fn of_lease(error: LeaseError) -> DatabaseError {
    match error {
        LeaseError::Database(error) => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn backup_moved_over_the_file_is_detected() {
    let shop = Shop::new().await;
    let first = open(&shop.file).await;
    let kims = lock(&first, "kim").await.unwrap();
    shop.restore();
    let second = open(&shop.file).await;
    // The second process does not know of Kim's lock, and cannot. So the first must stop.
    let lees = lock(&second, "lee").await.unwrap();
    save(&second, "by Lee", &lees).await.unwrap();
    everything_stops(&first, &kims, "replaced by another file").await;
    assert_eq!(note(&second).await, "by Lee");
    first.close().await;
    second.close().await;
}

#[tokio::test]
async fn deleted_file_is_detected_and_not_recreated() {
    let shop = Shop::new().await;
    let db = open(&shop.file).await;
    let lease = lock(&db, "kim").await.unwrap();
    fs::remove_file(&shop.file).unwrap();
    everything_stops(&db, &lease, "moved or deleted").await;
    assert!(!shop.file.exists(), "a reader made an empty file");
    // It does not continue either when a file of that name exists again: the changes in between are unknown.
    shop.restore();
    everything_stops(&db, &lease, "moved or deleted").await;
    db.close().await;
}

#[tokio::test]
async fn a_file_that_is_moved_during_a_save_takes_no_commit() {
    let shop = Shop::new().await;
    let db = open(&shop.file).await;
    let orders = Repository::<Order>::new(&db);
    let mut tx = db.begin().await.unwrap();
    let mut order = orders.find(&mut tx, &"1".to_owned(), tenure::LockMode::PessimisticWrite).await.unwrap().unwrap();
    order.note = "too late".into();
    orders.save(&mut tx, &mut order).await.unwrap();
    let moved = shop.beside(".moved");
    fs::rename(&shop.file, &moved).unwrap();
    lost(tx.commit().await, "moved or deleted");
    db.close().await;
    fs::rename(&moved, &shop.file).unwrap();
    assert_eq!(note(&open(&shop.file).await).await, "");
}

#[tokio::test]
async fn wait_for_a_writer_of_a_lost_file_ends_with_its_loss() {
    let shop = Shop::new().await;
    let db = open(&shop.file).await;
    let tx = db.begin().await.unwrap();
    fs::remove_file(&shop.file).unwrap();
    let told = async |wait| lost(db.begin_within(wait).await.map(drop), "moved or deleted");
    told(Wait::Within(Duration::from_millis(50))).await;
    told(Wait::No).await;
    drop(tx);
    db.close().await;
}

#[cfg(unix)]
#[tokio::test]
async fn created_files_are_private_to_the_user() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let directory = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    let (file, link) = (directory.path().join("shop.db"), directory.path().join("link.db"));
    symlink("shop.db", &link).unwrap();
    let db = open(&link).await;
    lock(&db, "kim").await.unwrap();
    for made in ["shop.db", "shop.db-wal", "shop.db-shm"] {
        assert_eq!(mode(&directory.path().join(made)), 0o600, "{made}");
    }
    db.close().await;
    // Existing permissions stay unchanged.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    open(&file).await.close().await;
    assert_eq!(mode(&file), 0o640);
}

#[tokio::test]
async fn a_file_that_must_be_there_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.db");
    let missing = Database::connect(&format!("sqlite://{}?mode=rw", file.display())).await;
    assert!(matches!(missing, Err(DatabaseError::Unreachable { .. })), "{missing:?}");
    assert!(!file.exists());
}

//! A database file that is replaced while it is in use, as by somebody who restores a backup.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::{Connection, SqliteConnection};

use crate::Result;
use crate::clock::now_ns;
use crate::random::Random;

/// Copies the file, lets writes go on for a while, and replaces the file by the copy. The lost file is kept under another name. When it was
/// lost, by the monotonic clock.
pub(super) async fn replace(file: &Path, lost: &Path, random: &mut Random) -> Result<u64> {
    let older = file.with_file_name("older.db");
    let mut connection = SqliteConnection::connect(&format!("sqlite://{}", file.display())).await?;
    let copy = format!("vacuum into '{}'", older.display());
    sqlx::raw_sql(sqlx::AssertSqlSafe(copy)).execute(&mut connection).await?;
    connection.close().await?;
    let pause = random.millis(300, 800);
    tokio::time::sleep(pause).await;
    fs::hard_link(file, lost)?;
    fs::hard_link(beside(file, "-wal"), beside(lost, "-wal"))?;
    fs::rename(&older, file)?;
    let at = now_ns();
    for ending in ["-wal", "-shm"] {
        fs::remove_file(beside(file, ending))?;
    }
    // What clients do with a file that is lost.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    Ok(at)
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", file.display()))
}

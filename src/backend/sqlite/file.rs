//! The file behind the path: made for this user alone, and looked at before each grant and each save, whether it is still the one
//! that was opened. A file that is moved, deleted or replaced while it is open goes on to take writes that nobody else sees, while
//! others lock and save in the one that has its name now.

use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use sqlx::SqlitePool;

use crate::error::DatabaseError;

/// The file that was opened, by a path.
#[derive(Debug)]
pub(crate) struct File {
    path: PathBuf,
    identity: Identity,
    /// What was noticed first. It stays: what happened meanwhile to the name, nobody knows.
    lost: OnceLock<&'static str>,
    /// What the application may read with directly, closed when something is noticed.
    readers: OnceLock<SqlitePool>,
}

/// What tells one file from another: the device and the number on it. Where there are none, the file is only looked for.
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(file: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (file.dev(), file.ino())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Identity {
    (0, 0)
}

impl File {
    /// The file that has this path now.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let identity = identity(&fs::metadata(path)?);
        Ok(File { path: path.to_owned(), identity, lost: OnceLock::new(), readers: OnceLock::new() })
    }

    /// Has these closed when something is noticed.
    pub(super) fn closes(&self, readers: &SqlitePool) {
        let _ = self.readers.set(readers.clone());
    }

    /// Whether the path still leads to the file that was opened: one question to the file system, which has the answer in memory.
    pub(super) fn check(&self) -> Result<(), DatabaseError> {
        let happened = match (self.lost.get(), fs::metadata(&self.path)) {
            (Some(before), _) => before,
            (None, Ok(found)) if identity(&found) == self.identity => return Ok(()),
            (None, Ok(_)) => self.lost("replaced by another file"),
            (None, Err(error)) if error.kind() == io::ErrorKind::NotFound => self.lost("moved or deleted"),
            // Nothing is known: it is refused, and asked again next time.
            (None, Err(_)) => "moved, or its directory cannot be read any more",
        };
        Err(DatabaseError::FileLost { file: self.path.display().to_string(), happened })
    }

    fn lost(&self, happened: &'static str) -> &'static str {
        if let Some(readers) = self.readers.get() {
            // It is closed to new readers at once; to wait for those at work is for who closes the database.
            drop(readers.close());
        }
        let first = self.lost.get_or_init(|| happened);
        tracing::error!(file = ?self.path, happened = first, "the database file is not the one that was opened; everything stops");
        first
    }
}

/// Makes an empty file that only this user may read and write, if there is none: SQLite gives the same rights to what it makes beside
/// it. Nothing happens to a file that is there.
pub(super) fn make(path: &Path) -> io::Result<()> {
    // Closing any handle of a file frees the locks that SQLite has on it in this process. So it is only opened here when it is new, and
    // one after the other: nobody in this process can have opened it meanwhile.
    static ONE_BY_ONE: Mutex<()> = Mutex::new(());
    let _turn = ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut path = path.to_owned();
    // Where a link leads that has no file at its end.
    while fs::metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        && let Ok(target) = fs::read_link(&path)
    {
        path = path.parent().map(|directory| directory.join(&target)).unwrap_or(target);
    }
    if fs::metadata(&path).is_ok() {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(&path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

//! The file behind the path: created for this user only, and checked before each grant and each save: it must still be the file that was
//! opened. A file that is moved, deleted or replaced while it is open still accepts writes that no other program sees, while others lock
//! and save in the file that now has its name.

use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use sqlx::SqlitePool;

use crate::error::DatabaseError;

/// The file that was opened, by a path.
#[derive(Debug)]
pub(crate) struct File {
    path: PathBuf,
    identity: Identity,
    opened: Instant,
    /// When it was last found at its path, in milliseconds after it was opened.
    found: AtomicU64,
    /// The first detected change. It is permanent, because what happened to the file name in between is unknown.
    lost: OnceLock<&'static str>,
    /// The application's read pool, closed when a change is detected.
    readers: OnceLock<SqlitePool>,
}

/// For how long a result is valid for [`File::check_lately`], in milliseconds.
const LATELY: u64 = 10;

/// The identity of a file: its device and inode number. On systems without them, only its existence is checked.
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
    /// The file at this path now.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let identity = identity(&fs::metadata(path)?);
        let (opened, found) = (Instant::now(), AtomicU64::new(0));
        Ok(File { path: path.to_owned(), identity, opened, found, lost: OnceLock::new(), readers: OnceLock::new() })
    }

    /// Registers a pool that is closed when a change is detected.
    pub(super) fn closes(&self, readers: &SqlitePool) {
        let _ = self.readers.set(readers.clone());
    }

    /// As [`check`](Self::check), unless there is a recent result: for reads, and for operations that are checked again before
    /// they are acknowledged. A call to the file system costs a few microseconds.
    pub(super) fn check_lately(&self) -> Result<(), DatabaseError> {
        let found = self.found.load(Ordering::Relaxed);
        match self.lost.get().is_none() && self.now().saturating_sub(found) < LATELY {
            true => Ok(()),
            false => self.check(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Whether the path still leads to the file that was opened.
    pub(super) fn check(&self) -> Result<(), DatabaseError> {
        let happened = match (self.lost.get(), fs::metadata(&self.path)) {
            (Some(before), _) => before,
            (None, Ok(found)) if identity(&found) == self.identity => {
                self.found.store(self.now(), Ordering::Relaxed);
                return Ok(());
            }
            (None, Ok(_)) => self.lost("replaced by another file"),
            (None, Err(error)) if error.kind() == io::ErrorKind::NotFound => self.lost("moved or deleted"),
            // The state is unknown: it is refused now, and checked again next time.
            (None, Err(_)) => "moved, or its directory cannot be read any more",
        };
        Err(DatabaseError::FileLost { file: self.path.display().to_string(), happened })
    }

    fn lost(&self, happened: &'static str) -> &'static str {
        if let Some(readers) = self.readers.get() {
            // It is closed to new readers at once; only closing the database waits for the present ones.
            drop(readers.close());
        }
        let first = self.lost.get_or_init(|| happened);
        tracing::error!(file = ?self.path, happened = first, "the database file is not the one that was opened; everything stops");
        first
    }
}

/// Creates an empty file that only this user may read and write, if there is none: SQLite gives the same permissions to the files that it
/// creates beside it. An existing file is not changed.
pub(super) fn make(path: &Path) -> io::Result<()> {
    // Closing any handle of a file frees SQLite's locks on it in this process. So it is only opened here if it is new, and calls are
    // serialized: no other code in this process can have opened it meanwhile.
    static ONE_BY_ONE: Mutex<()> = Mutex::new(());
    let _turn = ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut path = path.to_owned();
    // Follows a link whose target does not exist.
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

//! The file behind the path: made for this user alone, and looked at before each grant and each save, whether it is still the one
//! that was opened. A file that is moved, deleted or replaced while it is open goes on to take writes that nobody else sees, while
//! others lock and save in the one that has its name now.

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
    /// When it was last found in its place, in milliseconds after it was opened.
    found: AtomicU64,
    /// What was noticed first. It stays: what happened meanwhile to the name, nobody knows.
    lost: OnceLock<&'static str>,
    /// What the application may read with directly, closed when something is noticed.
    readers: OnceLock<SqlitePool>,
}

/// How long what was found holds for [`File::check_lately`], in milliseconds.
const LATELY: u64 = 10;

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
        let (opened, found) = (Instant::now(), AtomicU64::new(0));
        Ok(File { path: path.to_owned(), identity, opened, found, lost: OnceLock::new(), readers: OnceLock::new() })
    }

    /// Has these closed when something is noticed.
    pub(super) fn closes(&self, readers: &SqlitePool) {
        let _ = self.readers.set(readers.clone());
    }

    /// As [`check`](Self::check), if that was not found out a moment ago: for what only reads, and for what is checked again before
    /// it is acknowledged. A question to the file system costs a few microseconds.
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

//! The file behind the path: created for this user only, and checked before each grant and each save: it must still be the file that was
//! opened. A file that is moved, deleted or replaced while it is open still accepts writes that no other program sees, while others lock
//! and save in the file that now has its name.

use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use sqlx::SqlitePool;

use super::side_files::SideFiles;
use crate::error::DatabaseError;

/// The file that was opened, by a path.
#[derive(Debug)]
pub(crate) struct File {
    path: PathBuf,
    identity: Identity,
    /// The files beside it, which exist while it is open.
    sides: Option<SideFiles>,
    opened: Instant,
    /// When it was last found at its path, in milliseconds after it was opened.
    found: AtomicU64,
    /// The first detected change. It is permanent, because what happened to the file name in between is unknown.
    lost: OnceLock<Change>,
    /// The application's read pool, closed when a change is detected.
    readers: OnceLock<SqlitePool>,
    /// Closed on purpose, with the files beside it.
    closed: AtomicBool,
}

/// For how long a result is valid for [`File::check_lately`], in milliseconds.
const LATELY: u64 = 10;

/// The identity of a file: its device and inode number. On systems without them, only its existence is checked.
pub(crate) type Identity = (u64, u64);

#[cfg(unix)]
pub(crate) fn identity(file: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (file.dev(), file.ino())
}

#[cfg(not(unix))]
pub(crate) fn identity(_: &Metadata) -> Identity {
    (0, 0)
}

/// What happened to a file.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    file: PathBuf,
    happened: &'static str,
    is_permanent: bool,
    /// Whether there is no file at the path.
    pub(crate) is_gone: bool,
}

impl Change {
    pub(crate) fn forever(file: &Path, happened: &'static str) -> Self {
        Change { file: file.to_owned(), happened, is_permanent: true, is_gone: false }
    }

    /// The file cannot be examined.
    pub(crate) fn by(file: &Path, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Change { is_gone: true, ..Change::forever(file, "moved or deleted") },
            // The state is unknown: it is refused now, and checked again next time.
            _ => {
                let happened = "moved, or its directory cannot be read any more";
                Change { is_permanent: false, ..Change::forever(file, happened) }
            }
        }
    }
}

impl From<&Change> for DatabaseError {
    fn from(change: &Change) -> Self {
        DatabaseError::FileLost { file: change.file.display().to_string(), happened: change.happened }
    }
}

/// Whether the path still leads to this file.
pub(crate) fn compare(path: &Path, wanted: Identity) -> Result<(), Change> {
    match fs::metadata(path) {
        Ok(found) if identity(&found) == wanted => Ok(()),
        Ok(_) => Err(Change::forever(path, "replaced by another file")),
        Err(error) => Err(Change::by(path, &error)),
    }
}

impl File {
    /// The file at this path now.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Ok(File {
            path: path.to_owned(),
            identity: identity(&fs::metadata(path)?),
            sides: None,
            opened: Instant::now(),
            found: AtomicU64::new(0),
            lost: OnceLock::new(),
            readers: OnceLock::new(),
            closed: AtomicBool::new(false),
        })
    }

    /// From here on the files beside it are checked too. SQLite must have opened them, and hold a lock on them now.
    pub(crate) fn find_side_files(&mut self) -> Result<(), DatabaseError> {
        self.sides = Some(SideFiles::of(&self.path).map_err(|change| DatabaseError::from(&change))?);
        Ok(())
    }

    /// Registers a pool that is closed when a change is detected.
    pub(crate) fn closes(&self, readers: &SqlitePool) {
        let _ = self.readers.set(readers.clone());
    }

    /// The last connection is about to be closed: SQLite deletes the files beside it.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    /// Whether other processes may have other side files than this one: then the last commits of this one must not be written over theirs.
    pub(crate) fn may_have_others(&self) -> bool {
        self.sides.as_ref().is_some_and(SideFiles::may_have_others)
    }

    /// As [`check`](Self::check), unless there is a recent result: for reads, and for operations that are checked again before
    /// they are acknowledged. A call to the file system costs a few microseconds.
    pub(crate) fn check_lately(&self) -> Result<(), DatabaseError> {
        let found = self.found.load(Ordering::Relaxed);
        match self.lost.get().is_none() && self.now().saturating_sub(found) < LATELY {
            true => Ok(()),
            false => self.check(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Whether the path, and those of the files beside it, still lead to what was opened, with the locks of this process.
    pub(crate) fn check(&self) -> Result<(), DatabaseError> {
        if let Some(before) = self.lost.get() {
            return Err(before.into());
        }
        let sides = self.sides.as_ref().filter(|_| !self.closed.load(Ordering::SeqCst));
        let found = compare(&self.path, self.identity).and_then(|()| sides.map_or(Ok(()), SideFiles::check));
        match found {
            Ok(()) => {
                self.found.store(self.now(), Ordering::Relaxed);
                Ok(())
            }
            Err(change) if change.is_permanent => Err(self.lost(change).into()),
            Err(change) => Err((&change).into()),
        }
    }

    fn lost(&self, change: Change) -> &Change {
        if let Some(readers) = self.readers.get() {
            // It is closed to new readers at once; only closing the database waits for the present ones.
            drop(readers.close());
        }
        let first = self.lost.get_or_init(|| change);
        let Change { file, happened, .. } = first;
        tracing::error!(?file, happened, "the database file is not the one that was opened; everything stops");
        first
    }
}

/// Whether programs can only open this file by this path, and so with the same files beside it; otherwise the problem, and what to do.
/// SQLite finds those by the name of the file.
pub(crate) fn has_one_path(path: &Path) -> Result<(), String> {
    let Ok(real) = path.canonicalize() else { return Ok(()) };
    let Ok(found) = fs::metadata(&real) else { return Ok(()) };
    let directory = real.parent().unwrap_or(&real);
    let (links, is_mounted) = (links(&found), is_mounted_alone(&real, &found, directory));
    let (problem, remedy) = match (links, is_mounted) {
        (..=1, false) => return Ok(()),
        (2.., _) => (
            format!("it has {links} names (hard links)"),
            format!("delete the other names, and share the directory {} instead", directory.display()),
        ),
        (_, true) => {
            ("it is mounted by itself".to_owned(), format!("mount the directory {} instead", directory.display()))
        }
    };
    Err(format!(
        "{problem}, and SQLite keeps the newest commits and the locks in files beside the name, so programs that open it elsewhere \
         would lock and save without seeing each other; {remedy}, or declare that all programs use this one path \
         (`ConnectOptions::allow_linked_file`, `--allow-linked-file` for the programs)"
    ))
}

#[cfg(unix)]
fn links(file: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(file)
}

#[cfg(not(unix))]
fn links(_: &Metadata) -> u64 {
    1
}

/// Whether the file itself is a mount point, as a volume of a container that is a single file. A mount of the same device shows in the
/// system's list only.
fn is_mounted_alone(file: &Path, found: &Metadata, directory: &Path) -> bool {
    match fs::read("/proc/self/mountinfo") {
        Ok(list) => mount_points(&list).any(|point| point == file.as_os_str().as_encoded_bytes()),
        Err(_) => fs::metadata(directory).is_ok_and(|directory| identity(&directory).0 != identity(found).0),
    }
}

/// The mount points in lines such as `42 27 254:0 /root /mnt/a\040b rw - ext4 /dev/vda rw`.
fn mount_points(list: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    list.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut point = line.split(|byte| *byte == b' ').nth(4)?;
        let mut plain = Vec::with_capacity(point.len());
        while let [first, rest @ ..] = point {
            point = rest;
            let code = rest.get(..3).filter(|_| *first == b'\\').and_then(|code| std::str::from_utf8(code).ok());
            match code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
                Some(byte) => {
                    plain.push(byte);
                    point = &rest[3..];
                }
                None => plain.push(*first),
            }
        }
        Some(plain)
    })
}

/// Creates an empty file that only this user may read and write, if there is none: SQLite gives the same permissions to the files that it
/// creates beside it. An existing file is not changed.
pub(crate) fn make(path: &Path) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_with_their_escapes() {
        let list =
            b"27 1 254:0 / / rw - ext4 /dev/vda rw\n42 27 254:0 /a /mnt/a\\040b/\\134shop.db rw - ext4 /dev/vda rw\n";
        let points: Vec<_> = mount_points(list).collect();
        assert_eq!(points, [b"/".to_vec(), b"/mnt/a b/\\shop.db".to_vec()]);
    }
}

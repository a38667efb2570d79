//! The two files that SQLite keeps beside the database: the newest commits are in the log (`-wal`), and the locks on the shared memory
//! (`-shm`). Two processes that use different ones of the same database lock and save past each other. And when a process closes any
//! handle of a file, all locks that it has on that file are released, as POSIX demands.

use std::path::{Path, PathBuf};

use super::file::{Change, Identity, compare, identity};

/// The log and the shared memory that were opened.
#[derive(Debug)]
pub(crate) struct SideFiles {
    files: [(PathBuf, Identity); 2],
    locks: Option<locks::Locks>,
}

impl SideFiles {
    /// Those beside this file, which SQLite has just opened. It must hold a lock now.
    pub(crate) fn of(database: &Path) -> Result<Self, Change> {
        // SQLite follows links, too.
        let database = database.canonicalize().map_err(|error| Change::by(database, &error))?;
        let side = |ending: &str| {
            let mut path = database.clone().into_os_string();
            path.push(ending);
            let path = PathBuf::from(path);
            match std::fs::metadata(&path) {
                Ok(file) => Ok((path, identity(&file))),
                Err(error) => Err(Change::by(&path, &error)),
            }
        };
        let files = [side("-wal")?, side("-shm")?];
        let [_, (memory, identity)] = &files;
        let locks = locks::Locks::on(*identity).map_err(|happened| Change::forever(memory, happened))?;
        Ok(SideFiles { files, locks })
    }

    /// The first difference to the files that were opened.
    pub(crate) fn check(&self) -> Result<(), Change> {
        for (path, identity) in &self.files {
            compare(path, *identity)?;
        }
        let [_, (memory, _)] = &self.files;
        match self.locks.as_ref().is_none_or(locks::Locks::are_held) {
            true => Ok(()),
            false => Err(Change::forever(memory, locks::RELEASED)),
        }
    }

    /// Whether somebody else may have opened the database with other files than these. (While this process has it open, no other
    /// process deletes them when it closes.)
    pub(crate) fn may_have_others(&self) -> bool {
        let is_another = |(path, identity): &(PathBuf, Identity)| match compare(path, *identity) {
            Ok(()) => false,
            Err(change) => !change.is_gone,
        };
        self.files.iter().any(is_another)
    }
}

/// SQLite holds a shared lock on one byte of the shared memory for as long as the process has the database open, and never takes it again.
/// So if it is missing, all locks of the process were released. Linux reports the locks of an open file.
#[cfg(target_os = "linux")]
mod locks {
    use std::fs::{File, metadata, read_dir};
    use std::os::unix::fs::FileExt;

    use super::{Identity, identity};

    /// SQLite's `UNIX_SHM_DMS`.
    const BYTE: u64 = 128;

    pub(crate) const RELEASED: &str =
        "opened and closed by other code of this process, which released SQLite's locks on it,";

    /// The system's report about the open shared memory.
    #[derive(Debug)]
    pub(crate) struct Locks(File);

    impl Locks {
        /// `None` if the system does not report locks.
        pub(crate) fn on(memory: Identity) -> Result<Option<Self>, &'static str> {
            let Ok(open) = read_dir("/proc/self/fd") else { return Ok(None) };
            let (mut is_open, mut reports) = (false, false);
            for entry in open.flatten() {
                // This asks about the open file, and opens nothing.
                if metadata(entry.path()).is_ok_and(|file| identity(&file) == memory) {
                    is_open = true;
                    let report = format!("/proc/self/fdinfo/{}", entry.file_name().display());
                    let Ok(report) = File::open(report).map(Locks) else { continue };
                    if report.are_held() {
                        return Ok(Some(report));
                    }
                    reports |= report.read().contains("\nlock:");
                }
            }
            match (is_open, reports) {
                (true, false) => Ok(None),
                (true, true) => Err(RELEASED),
                // SQLite uses one shared memory for all connections of a process to one database.
                (false, _) => Err("replaced by another file, though this process still has the former one open,"),
            }
        }

        pub(crate) fn are_held(&self) -> bool {
            holds(&self.read())
        }

        fn read(&self) -> String {
            let mut report = [0; 2048];
            let length = self.0.read_at(&mut report, 0).unwrap_or(0);
            String::from_utf8_lossy(&report[..length]).into_owned()
        }
    }

    /// From lines such as `lock: 1: POSIX  ADVISORY  READ 4711 08:01:77 128 128`. Neighbouring locks are one line.
    fn holds(report: &str) -> bool {
        report.lines().filter_map(|line| line.strip_prefix("lock:")).any(|line| {
            let mut words = line.split_whitespace().rev();
            let (last, first) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let last = last.parse().unwrap_or(if last == "EOF" { u64::MAX } else { 0 });
            first.parse::<u64>().is_ok_and(|first| (first..=last).contains(&BYTE))
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn lock_is_found_also_as_a_part_of_a_longer_one() {
            let report = |line: &str| format!("pos:\t0\nflags:\t02100002\nmnt_id:\t27\nino:\t77\n{line}\n");
            for line in
                ["1: POSIX  ADVISORY  READ 4711 08:01:77 128 128", "2: POSIX  ADVISORY  READ 4711 08:01:77 124 EOF"]
            {
                assert!(holds(&report(&format!("lock:\t{line}"))), "{line}");
            }
            for line in ["", "lock:\t1: POSIX  ADVISORY  WRITE 4711 08:01:77 120 127", "lock:\t128 x", "128 128"] {
                assert!(!holds(&report(line)), "{line}");
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod locks {
    use super::Identity;

    pub(crate) const RELEASED: &str = "";

    #[derive(Debug)]
    pub(crate) struct Locks;

    impl Locks {
        pub(crate) fn on(_: Identity) -> Result<Option<Self>, &'static str> {
            Ok(None)
        }

        pub(crate) fn are_held(&self) -> bool {
            true
        }
    }
}

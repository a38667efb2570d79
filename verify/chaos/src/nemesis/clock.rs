//! The clock of the database, by libfaketime: it shows the time of a file that is rewritten while the database runs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::Result;
use crate::clock::now_ns;
use crate::steps::Step;

/// How far it is set: forward by no more than a few seconds, because a lease that is granted then lives so much longer.
pub(super) const OFFSETS_MS: [i64; 8] = [1_000, 3_000, 5_000, -1_000, -3_000, -5_000, -60_000, -3_600_000];

/// The most that leases live longer.
pub(crate) const AHEAD: Duration = Duration::from_secs(5);

/// Where Debian's package `faketime` has the library for programs with threads, below a folder of the architecture.
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";

/// A clock that can be set.
#[derive(Debug)]
pub(crate) struct Clock {
    library: PathBuf,
    folder: TempDir,
    offset_ms: i64,
}

impl Clock {
    /// A clock that shows the right time.
    pub(crate) fn new() -> Result<Self> {
        let folders = fs::read_dir("/usr/lib")?.flatten().map(|entry| entry.path().join(LIBRARY));
        let library = folders.into_iter().find(|path| path.is_file());
        let library = library.ok_or("libfaketime is not installed (Debian's package faketime)")?;
        let folder = TempDir::with_prefix("chaos-clock-")?;
        // Another user reads it.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        let clock = Clock { library, folder, offset_ms: 0 };
        clock.write()?;
        Ok(clock)
    }

    /// What a program needs in its environment to have this clock. The monotonic clock, by which limits are kept, never steps.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let variables = [
            ("LD_PRELOAD", self.library.display().to_string()),
            ("FAKETIME_TIMESTAMP_FILE", self.folder.path().join("clock").display().to_string()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("FAKETIME_DONT_RESET", "1".to_owned()),
        ];
        variables.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// Sets it to the right time and so much.
    pub(crate) fn step_to(&mut self, offset_ms: i64) -> Result<Step> {
        let (from_ns, before_ms) = (now_ns(), shown(self.offset_ms));
        self.offset_ms = offset_ms;
        self.write()?;
        Ok(Step { from_ns, to_ns: now_ns(), before_ms, after_ms: shown(offset_ms) })
    }

    /// In one move: a program that found an empty file would show any time.
    fn write(&self) -> Result<()> {
        let (new, file) = (self.folder.path().join("new"), self.folder.path().join("clock"));
        let sign = if self.offset_ms < 0 { '-' } else { '+' };
        let (seconds, millis) = (self.offset_ms.unsigned_abs() / 1000, self.offset_ms.unsigned_abs() % 1000);
        fs::write(&new, format!("{sign}{seconds}.{millis:03}\n"))?;
        fs::set_permissions(&new, Permissions::from_mode(0o644))?;
        Ok(fs::rename(new, file)?)
    }
}

fn shown(offset_ms: i64) -> i64 {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
    i64::try_from(now).unwrap_or(i64::MAX).saturating_add(offset_ms)
}

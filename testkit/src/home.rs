//! The temporary folder of one server, and the user who owns it.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::error::StartError;
use crate::kind::Kind;
use crate::programs::{self, Place};

/// How many lines of the log an error shows.
const SHOWN: usize = 20;

/// A folder that is removed when dropped, and the user of everything that runs in it.
#[derive(Debug)]
pub struct Home {
    folder: PathBuf,
    /// User and group; `None` if we need not change ours.
    account: Option<(u32, u32)>,
    /// Removes the folder unless the watchdog did.
    _owner: TempDir,
}

impl Home {
    /// A new folder, in the system's folder for temporary ones or beneath another. Neither server wants to be run by root, so for root it belongs to `user`.
    pub(crate) fn new(
        user: &'static str,
        kind: Kind,
        place: &Place,
        beneath: Option<&Path>,
    ) -> Result<Self, StartError> {
        // Programs in a folder have no user of their own.
        let own = || {
            account(user, kind).or_else(|missing| match place.is_folder() {
                true => account("nobody", kind),
                false => Err(missing),
            })
        };
        let account = if rustix::process::geteuid().is_root() { Some(own()?) } else { None };
        let (mut folder, beneath) = (tempfile::Builder::new(), beneath.map(Path::to_path_buf));
        let owner = folder.prefix("tenure-").tempdir_in(beneath.unwrap_or_else(std::env::temp_dir));
        let owner = owner.map_err(StartError::system("make a temporary folder"))?;
        // The path without links, as the server sees it.
        let folder = owner.path().canonicalize().map_err(StartError::system("find the temporary folder"))?;
        if let Some((user, group)) = account {
            chown(&folder, Some(user), Some(group)).map_err(StartError::system("give the folder away"))?;
        }
        Ok(Home { folder, account, _owner: owner })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The data folder of the server.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// A file for a program to read.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, StartError> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(StartError::system(format!("write {}", path.display())))?;
        Ok(path)
    }

    /// A file that only the server's user may read.
    pub(crate) fn keep(&self, name: &str, text: &str) -> Result<(), StartError> {
        let path = self.write(name, text)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(StartError::system("hide a file"))?;
        match self.account {
            Some((user, group)) => {
                chown(&path, Some(user), Some(group)).map_err(StartError::system("give a file away"))
            }
            None => Ok(()),
        }
    }

    /// A program to run here as that user.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        programs::cleaned(&mut command).current_dir(&self.folder).env("HOME", &self.folder).env("TMPDIR", &self.folder);
        if let Some((user, group)) = self.account {
            // This also leaves root's other groups.
            command.uid(user).gid(group);
        }
        command
    }

    /// The log file of the server, for appending.
    pub(crate) fn log(&self) -> Result<File, StartError> {
        let file = File::options().create(true).append(true).open(self.folder.join("log"));
        file.map_err(StartError::system("open the server's log"))
    }

    /// The end of the log.
    pub(crate) fn last_words(&self) -> String {
        let bytes = fs::read(self.folder.join("log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(SHOWN)..].join("\n")
    }
}

/// The ids of a user and of their group. `id` knows them wherever they are kept.
fn account(user: &'static str, kind: Kind) -> Result<(u32, u32), StartError> {
    let id = |option| {
        let printed = programs::run(Command::new("id").args([option, user])).ok()?;
        printed.parse().ok()
    };
    id("-u").zip(id("-g")).ok_or(StartError::NoUser { user, kind })
}

//! A disk of its own for the database: a file system in a file. It can be filled, and its power can be cut: what was not flushed is then
//! not in the file.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use tempfile::TempDir;

use crate::Result;

/// The size of the file system. The file has holes where nothing was written.
const MEGABYTES: u64 = 1024;

/// The system's file system in memory.
const MEMORY: &str = "/dev/shm";

/// Set for the process that has mounts of its own.
const PRIVATE: &str = "CHAOS_PRIVATE_MOUNTS";

/// A mounted file system in a file.
#[derive(Debug)]
pub(crate) struct Disk {
    folder: TempDir,
}

impl Disk {
    /// Makes one. In memory a flush costs nothing, and is as necessary for the copy. An error says why there can be none.
    pub(crate) fn new(in_memory: bool) -> Result<Self> {
        if std::env::var_os(PRIVATE).is_none() {
            return Err("a disk of its own needs the right to mount one (root, and the program unshare)".into());
        }
        let beneath = if in_memory { PathBuf::from(MEMORY) } else { std::env::temp_dir() };
        let disk = Disk { folder: TempDir::with_prefix_in("chaos-disk-", beneath)? };
        // The servers run as users of their own.
        fs::set_permissions(disk.folder.path(), Permissions::from_mode(0o755))?;
        fs::create_dir(disk.path())?;
        File::create(disk.image())?.set_len(MEGABYTES << 20)?;
        command("mkfs.ext4", &["-q", "-F", "-m", "0"], &[&disk.image()])?;
        disk.mount()?;
        fs::set_permissions(disk.path(), Permissions::from_mode(0o777))?;
        Ok(disk)
    }

    /// Gives this process mounts that nobody else sees, and that end with it; it starts again for that. Without the right to have them it
    /// goes on, and [`new`](Self::new) says so.
    pub(crate) fn with_private_mounts() {
        use std::os::unix::process::CommandExt;
        let own = ["--mount", "--propagation", "private"];
        if std::env::var_os(PRIVATE).is_some() || command("unshare", &[&own[..], &["true"]].concat(), &[]).is_err() {
            return;
        }
        let Ok(program) = std::env::current_exe() else { return };
        let failed =
            Command::new("unshare").args(own).arg(program).args(std::env::args_os().skip(1)).env(PRIVATE, "1").exec();
        eprintln!("unshare: {failed}");
    }

    /// Its root.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    fn copied(&self) -> PathBuf {
        self.folder.path().join("copied")
    }

    fn mount(&self) -> Result<()> {
        command("mount", &["-t", "ext4", "-o", "loop"], &[&self.image(), &self.path()])
    }

    fn unmount(&self) -> Result<()> {
        // Whoever has a file of it open keeps it, unseen, until it is closed.
        command("umount", &["-l"], &[&self.path()])
    }

    /// Flushes everything that is on it now: what installs a server does not.
    pub(crate) fn flush(&self) -> Result<()> {
        command("sync", &["--file-system"], &[&self.path()])
    }

    /// Takes all space that is left.
    pub(crate) fn fill(&self) -> Result<()> {
        let (file, space) = (File::create(self.filler())?, statvfs(self.path().as_path())?);
        let mut chunk = space.f_bavail * space.f_frsize;
        let mut taken = 0;
        while chunk >= 4096 {
            match fallocate(&file, FallocateFlags::empty(), taken, chunk) {
                Ok(()) => taken += chunk,
                Err(rustix::io::Errno::NOSPC) => chunk /= 2,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Gives it back.
    pub(crate) fn free(&self) -> Result<()> {
        Ok(fs::remove_file(self.filler())?)
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }

    /// Copies what has reached the disk. Those who write must stand still meanwhile.
    pub(crate) fn copy(&self) -> Result<()> {
        command("cp", &["--sparse=always"], &[&self.image(), &self.copied()])
    }

    /// Continues with the copy. Nobody may use the disk now.
    pub(crate) fn continue_with_the_copy(&self) -> Result<()> {
        self.unmount()?;
        fs::rename(self.copied(), self.image())?;
        self.mount()?;
        // What filled the disk before may be on the copy, because its end was not flushed.
        match self.free() {
            Err(error) if self.filler().exists() => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.unmount();
    }
}

fn command(program: &str, options: &[&str], paths: &[&Path]) -> Result<()> {
    let output = Command::new(program).args(options).args(paths).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()).into())
}

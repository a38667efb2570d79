//! Patroni from the registry of Python's packages. That of Debian 12, 3.0.2, is not used: there a primary that stood still takes its place back
//! from the one that replaced it, and what that one had acknowledged is lost.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::tasks::root;

/// With the client of etcd, and the driver for PostgreSQL.
const PACKAGES: [&str; 2] = ["patroni[etcd3]>=4.1", "psycopg[binary]"];

/// Installs it into `target/engines/patroni`, unless it is there; returns its program.
pub(crate) fn fetch() -> Result<PathBuf, String> {
    let engines = root().join("target/engines");
    std::fs::create_dir_all(&engines).map_err(|error| format!("{}: {error}", engines.display()))?;
    let folder = engines.canonicalize().map_err(|error| error.to_string())?.join("patroni");
    let program = folder.join("bin/patroni");
    if !program.is_file() {
        // The server's user has to be able to run it, so it is the Python of Debian.
        run(Path::new("/usr/bin/python3"), &["-m", "venv", &folder.display().to_string()])?;
        run(&folder.join("bin/pip"), &[&["install", "--quiet"][..], &PACKAGES].concat())?;
    }
    Ok(program)
}

fn run(program: &Path, arguments: &[&str]) -> Result<(), String> {
    let done = Command::new(program).args(arguments).stdin(Stdio::null()).status();
    match done {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{}: {status}", program.display())),
        Err(error) => Err(format!("{}: {error}", program.display())),
    }
}

//! Common code of the project's tasks, in `xtask/` and `verify/`: cargo, the project's folder, Debian's packages, servers that end with the task.

pub mod copy;
pub mod debian;
pub mod diagram;

use std::any::Any;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{DATABASE, Kind, MariaDb, Postgres, StartError};

/// The cargo that runs us, or the one on the path.
///
/// Without the variables that `cargo run` sets for this package: build scripts that depend on them (ring's does) would run again, and with
/// them all crates above, whenever a developer uses `cargo xtask` and plain `cargo` in turns.
pub fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let of_package = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    };
    env::vars_os().map(|(name, _)| name).filter(of_package).for_each(|name| {
        cargo.env_remove(name);
    });
    cargo
}

/// The project's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Starts a server; returns its URL, and a guard that stops it when it is dropped.
///
/// # Errors
/// If it cannot be started.
pub fn start(kind: Kind) -> Result<(String, Box<dyn Any>), StartError> {
    Ok(match kind {
        Kind::Postgres => {
            let server = Postgres::start()?;
            (server.url(DATABASE), Box::new(server))
        }
        Kind::MariaDb => {
            let server = MariaDb::start()?;
            (server.url(DATABASE), Box::new(server))
        }
    })
}

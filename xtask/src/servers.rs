//! Common code of the tasks: cargo, the project's folder, servers that end with the task.

use std::any::Any;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{DATABASE, Kind, MariaDb, Postgres, StartError};

/// The cargo that runs us, or the one on the path.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The project's folder.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Starts a server; returns its URL, and a guard that stops it when it is dropped.
pub(crate) fn start(kind: Kind) -> Result<(String, Box<dyn Any>), StartError> {
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

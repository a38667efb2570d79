//! What chores have in common: cargo, the project's folder, servers that end with the chore.

use std::any::Any;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{DATABASE, Kind, MariaDb, Postgres, StartError};

/// The cargo that runs us, or else the one on the path.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The project's folder.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Starts a server: its URL, and what ends it when it is dropped.
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

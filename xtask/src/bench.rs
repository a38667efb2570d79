//! `cargo xtask bench`: throw-away servers, the program that measures, built for speed.

use std::process::{Command, ExitCode};

use testkit::Kind;

use crate::debian;
use crate::servers::{root, start};

/// What the program is built with: one selection, so that what it measures is built as applications build it.
const BUILD: [&str; 4] = ["--release", "--all-features", "--package", "bench"];

/// Measures, and says where the figures are. `arguments` are the program's own.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    match measure(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("FAILED bench: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &[String]) -> Result<(), String> {
    debian::install(&[Kind::Postgres.package(), Kind::MariaDb.package()])?;
    // Before the servers are there: nothing else should be going on while it measures.
    succeed(cargo("build"))?;
    let mut command = cargo("run");
    command.arg("--quiet").arg("--").args(arguments);
    let mut running = Vec::new();
    for kind in [Kind::Postgres, Kind::MariaDb] {
        let (url, server) = start(kind).map_err(|error| error.to_string())?;
        command.env(kind.variable(), url);
        running.push(server);
    }
    succeed(command)
}

fn cargo(what: &str) -> Command {
    let mut command = crate::servers::cargo();
    command.arg(what).args(BUILD).current_dir(root());
    command
}

fn succeed(mut command: Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(status.to_string()),
        Err(error) => Err(format!("cargo could not be started: {error}")),
    }
}

//! `cargo xtask chaos`: load with faults on a real database, or on the pages; or wrong builds that the checks have to find.

use std::process::{Command, ExitCode};

use testkit::Kind;

use crate::debian;
use crate::servers::{cargo, root};

/// What the tests of CI are built with: one selection, so that nothing is built anew.
const BUILD: [&str; 4] = ["build", "--workspace", "--all-features", "--bin"];

/// What it needs: the servers, a clock that can be set, and a file system of its own.
pub(crate) const PACKAGES: [&str; 4] = [Kind::Postgres.package(), Kind::MariaDb.package(), "faketime", "e2fsprogs"];

/// What the pages need.
pub(crate) const BROWSERS: [&str; 2] = ["chromium", "chromium-driver"];

/// Builds it, runs it, and exits as it does. `arguments` are the program's own.
pub(crate) fn run(pages: bool, planted: bool, arguments: &[String]) -> ExitCode {
    let (program, packages) = if pages { ("pages", &BROWSERS[..]) } else { ("chaos", &PACKAGES[..]) };
    match started(program, packages, planted, arguments) {
        Ok(code) => code,
        Err(reason) => {
            println!("FAILED {program}: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn started(program: &str, packages: &[&str], planted: bool, arguments: &[String]) -> Result<ExitCode, String> {
    debian::install(packages)?;
    let could_not = |error: std::io::Error| error.to_string();
    let built = cargo().args(BUILD).arg(program).current_dir(root()).status().map_err(could_not)?;
    if !built.success() {
        return Err(built.to_string());
    }
    let mut command = Command::new(root().join("target/debug").join(program));
    command.arg(if planted { "planted" } else { "run" }).args(arguments).current_dir(root());
    let status = command.status().map_err(could_not)?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).ok_or_else(|| status.to_string())?;
    Ok(ExitCode::from(code))
}

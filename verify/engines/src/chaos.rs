//! `cargo xtask chaos`: load with faults on a real database, or on the pages; or wrong builds that the checks have to find.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use testkit::tasks::{cargo, debian, root};
use testkit::{Kind, Patroni};

use crate::suites::{self, Ready};
use crate::{VERIFY, patroni};

/// One selection of packages and features, so that nothing is built anew.
const BUILD: [&str; 4] = ["build", "--workspace", "--all-features", "--bin"];

/// What it needs: the servers, a clock that can be set, and a file system of its own.
pub(crate) const PACKAGES: [&str; 4] = [Kind::Postgres.package(), Kind::MariaDb.package(), "faketime", "e2fsprogs"];

/// What it needs besides for a backend: packages, and an engine of `cargo xtask engines` whose programs it starts.
const BESIDES: [(&str, &[&str], Option<&str>); 3] = [
    ("patroni", &["python3-venv", "etcd-server"], None),
    ("group-replication", &[], Some("mysql-9.7")),
    ("multi-primary", &[], Some("mysql-9.7")),
];

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

/// Runs the load on a database for so many minutes; an error is its verdict.
pub(crate) fn load(backend: &str, minutes: u32) -> Result<(), String> {
    let arguments = ["--backend", backend, "--minutes", &minutes.to_string()].map(str::to_owned);
    match started("chaos", &PACKAGES, false, &arguments)? {
        code if code == ExitCode::SUCCESS => Ok(()),
        code => Err(format!("the load on {backend} did not pass ({code:?})")),
    }
}

/// Hours are worth an optimised build: it makes more calls, and it is what applications run.
fn is_long(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument.split('=').next() == Some("--hours"))
}

fn started(program: &str, packages: &[&str], planted: bool, arguments: &[String]) -> Result<ExitCode, String> {
    debian::install(packages)?;
    let mut command = Command::new(built(program, is_long(arguments))?);
    for (backend, packages, engine) in BESIDES {
        if !arguments.iter().any(|argument| argument.split('=').any(|part| part == backend)) {
            continue;
        }
        debian::install(packages)?;
        if backend == "patroni" {
            command.env(Patroni::VARIABLE, patroni::fetch()?);
        }
        if let Some(engine) = engine {
            Ready::of(suites::by_name(engine)?)?.provide(&mut command);
        }
    }
    command.arg(if planted { "planted" } else { "run" }).args(arguments).current_dir(root());
    let status = command.status().map_err(|error| error.to_string())?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).ok_or_else(|| status.to_string())?;
    Ok(ExitCode::from(code))
}

/// Builds a program. Returns its path.
pub(crate) fn built(program: &str, is_optimised: bool) -> Result<PathBuf, String> {
    let optimised = is_optimised.then_some("--release");
    let built = cargo().args(BUILD).arg(program).args(optimised).current_dir(root().join(VERIFY)).status();
    match built {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("cargo build: {status}")),
        Err(error) => return Err(format!("cargo could not be started: {error}")),
    }
    Ok(root().join("target").join(if is_optimised { "release" } else { "debug" }).join(program))
}

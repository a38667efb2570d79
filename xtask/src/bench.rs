//! `cargo xtask bench`: the measuring program in a release build. It starts throw-away servers itself: only its own children can it hold on
//! the core of the client.

mod against;

use std::env;
use std::process::{Command, ExitCode};

use testkit::Kind;

use testkit::tasks::debian;
use testkit::tasks::root;

/// The build of the program: one selection, so that the measured code is built as applications build it.
const BUILD: [&str; 4] = ["--release", "--all-features", "--package", "bench"];

/// Measures, and prints the place of the figures. `arguments` are the program's own.
pub(crate) fn run(slower_flush: Option<u32>, against: Option<&str>, arguments: &[String]) -> ExitCode {
    let measured = match (slower_flush, against) {
        (Some(micros), _) => slowed(micros, against, arguments),
        (None, Some(commit)) => against::measure(commit, arguments),
        (None, None) => measure(arguments),
    };
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("FAILED bench: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// The databases to measure.
const KINDS: [Kind; 2] = [Kind::Postgres, Kind::MariaDb];

fn install() -> Result<(), String> {
    debian::install(&KINDS.map(Kind::package))
}

/// Also if the environment names servers: those would not be held on the core of the client.
fn with_servers_of_its_own(command: &mut Command) {
    for kind in KINDS {
        command.env_remove(kind.variable());
    }
}

fn measure(arguments: &[String]) -> Result<(), String> {
    install()?;
    succeed(cargo("build"))?;
    let mut command = cargo("run");
    command.arg("--quiet").arg("--").args(arguments);
    with_servers_of_its_own(&mut command);
    succeed(command)
}

/// Measures with slower flushes of this process and of all that it starts: strace stops each for a while, and nothing
/// else.
fn slowed(micros: u32, against: Option<&str>, arguments: &[String]) -> Result<(), String> {
    debian::install(&["strace"])?;
    succeed(cargo("build"))?;
    let this = env::current_exe().map_err(|error| format!("this program does not know where it is: {error}"))?;
    let mut strace = Command::new("strace");
    strace.args(["--follow-forks", "--seccomp-bpf", "--output=/dev/null", "--trace=fsync,fdatasync"]);
    strace.arg(format!("--inject=fsync,fdatasync:delay_exit={micros}"));
    strace
        .arg(this)
        .arg("bench")
        .args(against.map(|commit| format!("--against={commit}")))
        .args(arguments)
        .current_dir(root());
    succeed(strace)
}

fn cargo(what: &str) -> Command {
    let mut command = testkit::tasks::cargo();
    command.arg(what).args(BUILD).current_dir(root());
    command
}

fn succeed(mut command: Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(status.to_string()),
        Err(error) => Err(format!("{} could not be started: {error}", command.get_program().display())),
    }
}

//! `cargo xtask chaos --together`: eight minutes of load with faults on each database at the same time.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};

use crate::chaos::{PACKAGES, built};
use testkit::tasks::debian;
use testkit::tasks::root;

/// The databases that need one server, or none.
const BACKENDS: [&str; 3] = ["sqlite", "postgres", "mariadb"];

/// What must have happened on all of them together: a busy machine with two cores does that, a quiet one nearly twice as much.
const LEAST: Counted = Counted { operations: 250_000, faults: 600 };

/// For how long they run.
const MINUTES: u32 = 8;

/// The share of what a machine with two cores does for one database alone, in percent: here three share them, and the machine may be busy.
const SHARE: &str = "15";

/// The longest pause between two faults on a database, in milliseconds: more operations than with the usual one, and faults enough.
const REST_MS: &str = "1500";

/// What happened on the databases.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counted {
    operations: u64,
    /// Those that met an operation under way.
    faults: u64,
}

impl Counted {
    fn is_enough(self) -> bool {
        self.operations >= LEAST.operations && self.faults >= LEAST.faults
    }

    fn add(&mut self, other: Counted) {
        self.operations += other.operations;
        self.faults += other.faults;
    }

    /// The counts in the printed report of a run.
    fn of(report: &str) -> Option<Counted> {
        Some(Counted { operations: number(report, "operations", 0)?, faults: number(report, "faults", 3)? })
    }
}

/// A number in the line of a report with this name.
fn number(report: &str, name: &str, at: usize) -> Option<u64> {
    let values = report.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix("  "))?;
    values.split_ascii_whitespace().nth(at)?.parse().ok()
}

/// Builds it, and runs it.
pub(crate) fn run() -> ExitCode {
    match build_and_run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("FAILED load: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// An error says that a check found something, that too little happened, or that the load could not be run.
fn build_and_run() -> Result<(), String> {
    debian::install(&PACKAGES)?;
    // Optimised, as applications are.
    let program = built("chaos", true)?;
    let counted = on_all(&program)?;
    println!("{} operations and {} faults in all", counted.operations, counted.faults);
    if counted.is_enough() { Ok(()) } else { Err(format!("too little happened: of {LEAST:?} only {counted:?}")) }
}

/// Runs it on all databases at the same time.
fn on_all(program: &Path) -> Result<Counted, String> {
    let folder = root().join("target/chaos");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut running = Vec::new();
    for backend in BACKENDS {
        running.push(Running::start(program, backend, &folder)?);
    }
    // Each to its end, also after one that failed: all reports are printed.
    let ended: Vec<_> = running.into_iter().map(Running::end).collect();
    let mut counted = Counted::default();
    for one in ended {
        counted.add(one?);
    }
    Ok(counted)
}

/// A load under way.
struct Running {
    backend: &'static str,
    child: Child,
    log: PathBuf,
}

impl Running {
    fn start(program: &Path, backend: &'static str, folder: &Path) -> Result<Self, String> {
        let log = folder.join(format!("{backend}.log"));
        let could_not = |error: std::io::Error| format!("the load on {backend}: {error}");
        let output = File::create(&log).map_err(could_not)?;
        let errors = output.try_clone().map_err(could_not)?;
        let mut command = Command::new(program);
        command.args(["run", "--backend", backend, "--minutes", &MINUTES.to_string()]);
        command
            .args(["--least", SHARE, "--rest", REST_MS, "--disk-in-memory"])
            .arg("--folder")
            .arg(folder.join(backend));
        let child = command.stdout(output).stderr(errors).current_dir(root()).spawn().map_err(could_not)?;
        Ok(Running { backend, child, log })
    }

    fn end(mut self) -> Result<Counted, String> {
        let backend = self.backend;
        let status = self.child.wait().map_err(|error| format!("the load on {backend}: {error}"))?;
        let report = fs::read_to_string(&self.log).map_err(|error| format!("{}: {error}", self.log.display()))?;
        println!("{report}");
        match status.success() {
            true => Counted::of(&report).ok_or_else(|| format!("the load on {backend} reported no counts")),
            false => Err(format!("the load on {backend} did not pass ({status})")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_the_report() {
        let report = "\
sqlite with seed 1, 3 s in all
  operations                   94310 (ok 50768, fail 40895, unknown 2647)
  faults                       160, of which 158 met an operation
    kill-client                37 (37)
PASSED: nothing was found";
        assert_eq!(Counted::of(report), Some(Counted { operations: 94_310, faults: 158 }));
        assert_eq!(Counted::of("PASSED: nothing was found"), None);
    }

    #[test]
    fn both_counts_must_be_reached() {
        assert!(LEAST.is_enough());
        assert!(!Counted { operations: LEAST.operations - 1, ..LEAST }.is_enough());
        assert!(!Counted { faults: LEAST.faults - 1, ..LEAST }.is_enough());
    }
}

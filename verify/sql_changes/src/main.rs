//! `cargo xtask sql-changes`: makes each change of `changes.txt` in a copy of the project, one after the other, and expects its test to
//! fail. cargo-mutants (`cargo xtask mutants`) changes expressions of Rust; the rules of a statement of SQL are text.
//!
//! The copy is below `target/sql-changes` and stays with its build. The tests start the servers that they need.

mod changes;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use clap::Parser;
use testkit::tasks::{cargo, copy, debian, root};
use testkit::{Kind, status_within};

use crate::changes::{CHANGES, Change, changes, read};

/// A test that hangs has failed.
const LONGEST_TEST: Duration = Duration::from_secs(4 * 60);
const LONGEST_BUILD: Duration = Duration::from_secs(30 * 60);

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    /// With the message of the first failed test, so that a person can judge the reason.
    Failed(String),
    DidNotCompile,
}

/// Makes each change in a copy of the project, and sees its test fail
#[derive(Parser)]
#[command(name = "sql-changes")]
struct Arguments {
    /// Only changes with this in their rule or test; may be given several times
    #[arg(long, value_name = "SUBSTRING")]
    only: Vec<String>,
}

fn main() -> ExitCode {
    match make_all(&Arguments::parse().only) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("FAILED sql-changes: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Makes the changes with one of these texts in their rule or test, or all.
fn make_all(only: &[String]) -> Result<(), String> {
    let mut changes = changes(CHANGES)?;
    let is_in = |change: &Change<'_>, text: &str| [change.rule, change.program, change.test].join(" ").contains(text);
    changes.retain(|change| only.is_empty() || only.iter().any(|text| is_in(change, text)));
    if changes.is_empty() {
        return Err(format!("no rule and no test of verify/sql_changes/changes.txt contains {}", only.join(" or ")));
    }
    debian::install(&[Kind::Postgres.package(), Kind::MariaDb.package()])?;
    let folder = root().join("target/sql-changes");
    let copy = Copy { tree: copy::refresh(&folder.join("tree"))?, folder };
    println!("==> first the tests of {} changes, without any change", changes.len());
    let mut programs: BTreeMap<_, Vec<_>> = BTreeMap::new();
    changes.iter().for_each(|change| programs.entry(change.program).or_default().push(change.test));
    for (program, tests) in programs {
        match copy.test(program, &tests)? {
            Outcome::Passed => {}
            other => return Err(format!("without any change, {program}: {other:?}; see {}", copy.log().display())),
        }
    }
    let mut missed = Vec::new();
    for change in &changes {
        let begun = Instant::now();
        let line = match copy.changed(change)? {
            Outcome::Failed(reason) => format!("caught          {} ({reason})", change.rule),
            Outcome::Passed => format!("SURVIVED        {}", change.rule),
            Outcome::DidNotCompile => format!("DID NOT COMPILE {}", change.rule),
        };
        println!("{line} [{:.0} s]", begun.elapsed().as_secs_f32());
        missed.extend((!line.starts_with("caught")).then_some(line));
    }
    println!("{} of {} changes were caught", changes.len() - missed.len(), changes.len());
    if missed.is_empty() { Ok(()) } else { Err(missed.join("\n")) }
}

/// A copy of the project.
struct Copy {
    folder: PathBuf,
    tree: PathBuf,
}

impl Copy {
    /// Runs the test of a change while it is made. (What a killed run leaves is undone by the next one, which refreshes the copy.)
    fn changed(&self, change: &Change<'_>) -> Result<Outcome, String> {
        let mut before = Vec::new();
        let mut outcome = Ok(());
        for edit in &change.edits {
            let path = self.tree.join(edit.file);
            outcome = outcome.and_then(|()| {
                let text = read(&path)?;
                let changed = edit.apply(&text)?;
                before.push((path.clone(), text));
                copy::write(&path, changed.as_bytes())
            });
        }
        let outcome = outcome.and_then(|()| self.test(change.program, &[change.test]));
        // The last first: a file may have been edited twice.
        for (path, text) in before.iter().rev() {
            copy::write(path, text.as_bytes())?;
        }
        outcome
    }

    fn test(&self, program: &str, tests: &[&str]) -> Result<Outcome, String> {
        let build = self.cargo(program, LONGEST_BUILD, &["--no-run"])?;
        match build {
            Some(status) if status.success() => {}
            Some(_) => return Ok(Outcome::DidNotCompile),
            None => return Err(format!("{program} was not built in {} s", LONGEST_BUILD.as_secs())),
        }
        let status = self.cargo(program, LONGEST_TEST, &[&["--"], tests, others(program)].concat())?;
        let log = read(&self.log())?;
        match status {
            Some(status) if status.success() => match tests.iter().find(|test| !has_run(&log, test)) {
                Some(test) => Err(format!("{program} has no test {test}")),
                None => Ok(Outcome::Passed),
            },
            Some(_) => Ok(Outcome::Failed(complaint(&log))),
            None => Ok(Outcome::Failed(format!("it was ended after {} s", LONGEST_TEST.as_secs()))),
        }
    }

    /// Cargo in the copy, with its output in a file.
    fn cargo(&self, program: &str, limit: Duration, more: &[&str]) -> Result<Option<ExitStatus>, String> {
        let log = File::create(self.log()).map_err(|error| format!("{}: {error}", self.log().display()))?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let mut command: Command = cargo();
        let of = if program == "sqlite" { "on_sqlite" } else { "on_servers" };
        command.args(["test", "--workspace", "--all-features", "--test", of]).args(more);
        command.current_dir(&self.tree).stdout(log).stderr(errors).env("RUST_BACKTRACE", "0");
        // Nobody debugs a change, and linking takes much of its time.
        command.env("CARGO_TARGET_DIR", self.tree.with_file_name("build")).env("CARGO_PROFILE_DEV_DEBUG", "0");
        status_within(limit, &mut command).map_err(|error| format!("cargo could not be started: {error}"))
    }

    /// The last output of cargo.
    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }
}

/// The options that leave out the tests of the other server: both are in one program.
fn others(database: &str) -> &'static [&'static str] {
    match database {
        "postgres" => &["--skip", "mysql::", "--skip", "both::"],
        "mysql" => &["--skip", "postgres::", "--skip", "both::"],
        _ => &[],
    }
}

/// Whether a test is among those that passed.
fn has_run(log: &str, test: &str) -> bool {
    let passed = log.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... ok"));
    passed.into_iter().any(|name| name.rsplit("::").next() == Some(test))
}

/// The first line with a message, after the line with the place of the panic.
fn complaint(log: &str) -> String {
    let mut lines = log.lines().skip_while(|line| !line.contains(" panicked at "));
    lines.nth(1).unwrap_or("no test said why").chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_test_of_that_name_that_passed_has_run() {
        let log = "running 2 tests\ntest leases::one ... ok\ntest leases::one_more ... FAILED\n";
        assert!(has_run(log, "one"));
        assert!(!has_run(log, "more") && !has_run(log, "one_more"));
    }

    #[test]
    fn a_failed_test_is_shown_by_what_it_said() {
        let log = "running 1 test\nthread 'a' panicked at a.rs:1:2:\nassertion failed\nnote: b\nthread 'c' panicked at c\nd\n";
        assert_eq!(complaint(log), "assertion failed");
        assert_eq!(complaint("running 1 test\n"), "no test said why");
    }
}

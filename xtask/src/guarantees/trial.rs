//! Runs tests in the copy of the project, and returns the outcome.

use std::any::Any;
use std::env;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use testkit::{Kind, status_within};

use crate::axe;
use crate::guarantees::document::{Document, Program, Test};
use crate::guarantees::scratch::Scratch;
use crate::servers::{cargo, start};

/// The time limit of a test. One that hangs has failed.
const LONGEST_TEST: Duration = Duration::from_secs(4 * 60);
/// The time limit of a build from scratch.
const LONGEST_BUILD: Duration = Duration::from_secs(30 * 60);

/// The outcome of running tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Every test passed.
    Passed,
    /// One failed, or hung.
    Failed,
    /// There was nothing to run.
    DidNotCompile,
    /// No test has such a name.
    NoTest,
}

/// Runs tests, with what they need.
pub(super) struct Trials<'a> {
    document: &'a Document,
    scratch: &'a Scratch,
    servers: Vec<(Kind, String, Box<dyn Any>)>,
}

impl<'a> Trials<'a> {
    pub(super) fn new(document: &'a Document, scratch: &'a Scratch) -> Self {
        Trials { document, scratch, servers: Vec::new() }
    }

    /// Runs these tests, program by program, up to the first that does not pass.
    ///
    /// # Errors
    /// That something other than a test failed: a server, or cargo itself.
    pub(super) fn run(&mut self, tests: &[&Test]) -> Result<Outcome, String> {
        let document = self.document;
        for program in &document.programs {
            let tests: Vec<_> = tests.iter().filter(|test| test.program == program.name).collect();
            if tests.is_empty() {
                continue;
            }
            // A test without a name means its whole program.
            let names: Option<Vec<_>> = tests.iter().map(|test| test.name.as_deref()).collect();
            let outcome = self.run_program(program, &names.unwrap_or_default())?;
            if outcome != Outcome::Passed {
                return Ok(outcome);
            }
        }
        Ok(Outcome::Passed)
    }

    fn run_program(&mut self, program: &Program, names: &[&str]) -> Result<Outcome, String> {
        for kind in &program.servers {
            self.start(*kind)?;
        }
        let mut build = self.cargo(program)?;
        match status_within(LONGEST_BUILD, build.arg("--no-run")) {
            Ok(Some(status)) if status.success() => {}
            Ok(Some(_)) => return Ok(Outcome::DidNotCompile),
            Ok(None) => return Err(format!("{} was not built in {} s", program.name, LONGEST_BUILD.as_secs())),
            Err(error) => return Err(format!("cargo could not be started: {error}")),
        }
        let mut test = self.cargo(program)?;
        match status_within(LONGEST_TEST, test.args(["--", "--include-ignored"]).args(names)) {
            Ok(Some(status)) if !status.success() => Ok(Outcome::Failed),
            Ok(None) => Ok(Outcome::Failed),
            Ok(Some(_)) if count(&fs::read_to_string(log()).unwrap_or_default()) == 0 => Ok(Outcome::NoTest),
            Ok(Some(_)) => Ok(Outcome::Passed),
            Err(error) => Err(format!("cargo could not be started: {error}")),
        }
    }

    /// Cargo in the copy, with the environment of a program. Its output goes into a file.
    fn cargo(&self, program: &Program) -> Result<Command, String> {
        let log = File::create(log()).map_err(|error| format!("{}: {error}", log().display()))?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let mut command = cargo();
        command.args(&program.arguments).current_dir(self.scratch.tree()).stdout(log).stderr(errors);
        command.env("CARGO_TARGET_DIR", Scratch::folder().canonicalize().unwrap_or_default().join("target"));
        // The place of a panic is not used, and linking is faster without it.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("RUST_BACKTRACE", "0");
        command.envs(program.environment.iter().map(|(name, value)| (name, value)));
        command.envs(self.servers.iter().map(|(kind, url, _)| (kind.variable(), url)));
        if program.axe {
            command.env(axe::VARIABLE, axe::fetch()?);
        }
        Ok(command)
    }

    /// Uses the server of the environment, or starts one.
    fn start(&mut self, kind: Kind) -> Result<(), String> {
        let is_there = env::var_os(kind.variable()).is_some() || self.servers.iter().any(|(other, ..)| *other == kind);
        if !is_there {
            let (url, server) = start(kind).map_err(|error| error.to_string())?;
            self.servers.push((kind, url, server));
        }
        Ok(())
    }
}

/// The last output of cargo.
pub(super) fn log() -> PathBuf {
    Scratch::folder().join("log")
}

/// The message of the first failed test, so that a person can judge the reason.
pub(super) fn complaint() -> String {
    first_complaint(&fs::read_to_string(log()).unwrap_or_default())
}

/// The first line with a message, after the line with the place.
fn first_complaint(log: &str) -> String {
    let mut lines = log.lines().skip_while(|line| !line.contains(" panicked at "));
    lines.nth(1).unwrap_or("no test said why").chars().take(120).collect()
}

/// The number of executed tests, from the output of their programs.
fn count(log: &str) -> usize {
    let running =
        log.lines().filter_map(|line| line.strip_prefix("running ")?.split(' ').next()?.parse::<usize>().ok());
    running.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted_over_all_programs() {
        let log = "running 0 tests\n\nrunning 12 tests\ntest a ... ok\nrunning 1 test\n";
        assert_eq!(count(log), 13);
        assert_eq!(count("running 0 tests\nrunning late\n"), 0);
    }

    #[test]
    fn a_failed_test_is_shown_by_what_it_said() {
        let log = "running 1 test\nthread 'a' panicked at a.rs:1:2:\nassertion failed\nnote: b\nthread 'c' panicked at c\nd\n";
        assert_eq!(first_complaint(log), "assertion failed");
        assert_eq!(first_complaint("running 1 test\n"), "no test said why");
    }
}

//! `cargo xtask mutants`: cargo-mutants changes the code that decides without I/O, in one place after the other, and the unit tests have to
//! fail. A mutant that they miss needs a test, or an exclusion with its reason in `.cargo/mutants.toml`.
//!
//! It works in a copy of the project below `target/mutants`, which stays with its build.

mod outcome;
mod rooms;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::mutants::outcome::{Outcome, table};
use crate::mutants::rooms::{ROOMS, Room};
use crate::tools::Tool;
use testkit::tasks::copy;
use testkit::tasks::root;

const CARGO_MUTANTS: Tool = Tool {
    name: "cargo-mutants",
    version: "27.1.0",
    asked: &["mutants", "--version"],
    prints: "cargo-mutants ",
    options: &[],
};

/// Lists or tests the mutants below these paths, or all; of them this shard.
pub(crate) fn run(only: &[String], list: bool, shard: Option<&str>) -> ExitCode {
    let ran = Mutants::new(shard).and_then(|mutants| if list { mutants.list(only) } else { mutants.test(only) });
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            println!("FAILED mutants: {problem}");
            ExitCode::FAILURE
        }
    }
}

struct Mutants {
    program: PathBuf,
    folder: PathBuf,
    tree: PathBuf,
    shard: Vec<String>,
}

impl Mutants {
    fn new(shard: Option<&str>) -> Result<Self, String> {
        let program = CARGO_MUTANTS.installed()?;
        let folder = root().join("target/mutants");
        let tree = copy::refresh(&folder.join("tree"))?;
        let shard = shard.map(|shard| format!("--shard={shard}")).into_iter().collect();
        Ok(Mutants { program, folder, tree, shard })
    }

    /// cargo-mutants on these files.
    fn command(&self, room: &Room, globs: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["mutants", "--package", room.package, "--dir"]).arg(&self.tree).args(&self.shard);
        command.args(globs.iter().map(|glob| format!("--file={glob}")));
        command
    }

    /// The names of the mutants, with those that are left out or without them.
    fn names(&self, room: &Room, globs: &[String], all: bool) -> Result<Vec<String>, String> {
        let mut command = self.command(room, globs);
        let output = command.arg("--list").args(all.then_some("--no-config")).output();
        let output = output.map_err(|error| format!("cargo-mutants: {error}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()),
            false => Err(format!("cargo-mutants: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    fn list(&self, only: &[String]) -> Result<bool, String> {
        for (room, globs) in chosen(only)? {
            self.names(room, &globs, false)?.iter().for_each(|name| println!("{name}"));
        }
        Ok(true)
    }

    /// Whether all are caught or explained.
    fn test(&self, only: &[String]) -> Result<bool, String> {
        let mut outcomes = Vec::new();
        for (room, globs) in chosen(only)? {
            println!("==> {}", room.name);
            let outcome = self.test_room(room, &globs)?;
            outcomes.push((room.name, outcome));
        }
        table(&outcomes).iter().for_each(|line| println!("{line}"));
        Ok(outcomes.iter().all(|(_, outcome)| outcome.missed == 0))
    }

    fn test_room(&self, room: &Room, globs: &[String]) -> Result<Outcome, String> {
        let output = self.folder.join(room.name.replace(", ", "-").replace(' ', "-"));
        std::fs::create_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
        let mut command = self.command(room, globs);
        command.args(["--in-place", "--colors=never", "--output"]).arg(&output);
        command.args(room.options.iter().map(|option| format!("--cargo-arg={option}")));
        if !room.tests.is_empty() {
            command.arg(format!("--cargo-test-arg={}", room.tests));
        }
        // Nobody debugs a mutant, and linking takes most of its time.
        command.env("CARGO_TARGET_DIR", self.folder.join("build")).env("CARGO_PROFILE_DEV_DEBUG", "0");
        let status = command.status().map_err(|error| format!("cargo-mutants: {error}"))?;
        // 0: all caught; 2: some missed; 3: some did not end.
        match status.code() {
            Some(0 | 2 | 3) => self.outcome(room, globs, &output),
            _ => Err(format!("{}: cargo-mutants: {status}", room.name)),
        }
    }

    fn outcome(&self, room: &Room, globs: &[String], output: &Path) -> Result<Outcome, String> {
        let outcome = Outcome::read(&output.join("mutants.out/outcomes.json"))?;
        let explained = match self.shard.is_empty() {
            true => self.names(room, globs, true)?.len().saturating_sub(self.names(room, globs, false)?.len()),
            // The exclusions change the shards.
            false => 0,
        };
        Ok(Outcome { explained: explained.try_into().unwrap_or(u64::MAX), ..outcome })
    }
}

/// The rooms with files below these paths, or all.
fn chosen(only: &[String]) -> Result<Vec<(&'static Room, Vec<String>)>, String> {
    let rooms = ROOMS.iter().map(|room| (room, room.globs(only)));
    let chosen: Vec<_> = rooms.filter(|(_, globs)| !globs.is_empty()).collect();
    match chosen.is_empty() {
        false => Ok(chosen),
        true => Err(format!("no mutated code is below {}", only.join(", "))),
    }
}

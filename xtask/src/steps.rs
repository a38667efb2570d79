//! A step of `cargo xtask test` or `cargo xtask verify`: a command of cargo, with what its tests need.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use testkit::{Kind, status_within};

use crate::axe;
use crate::failures::failures;
use testkit::tasks::debian;
use testkit::tasks::{cargo, root, start};

/// One check.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// The workspace: the project's folder, or `verify`.
    pub(crate) workspace: &'static str,
    /// The first arguments of cargo.
    pub(crate) cargo: &'static str,
    /// The test programs, if not all.
    pub(crate) programs: &'static [&'static str],
    /// The names of the tests, if not all.
    pub(crate) tests: &'static [&'static str],
    /// The arguments of the test programs.
    pub(crate) options: &'static [&'static str],
    /// Additional environment variables.
    pub(crate) environment: &'static [(&'static str, &'static str)],
    /// The required Debian packages.
    pub(crate) packages: &'static [&'static str],
    /// The throw-away database servers that run during it. Its environment contains their URLs.
    pub(crate) servers: &'static [Kind],
    /// Whether its tests run axe-core. Its environment contains the path.
    pub(crate) axe: bool,
}

/// The workspace of what tries to break the library.
pub(crate) const VERIFY: &str = "verify";

/// The build of all test programs: one selection of packages and features, or cargo would build the drivers and the runtime anew for each.
const EVERYTHING: &str = "test --workspace --all-features --no-fail-fast";

/// The result of a step.
pub(crate) struct Ran {
    pub(crate) name: &'static str,
    pub(crate) took: Duration,
    /// The reason of a failure, and the tests that failed.
    pub(crate) result: Result<(), String>,
}

impl Ran {
    /// One line of a report, or several for a failure.
    pub(crate) fn line(&self) -> String {
        let (name, seconds) = (self.name, self.took.as_secs_f32());
        match &self.result {
            Ok(()) => format!("ok     {name:<18} {seconds:>7.1} s"),
            Err(reason) => format!("FAILED {name:<18} {seconds:>7.1} s  {reason}"),
        }
    }
}

impl Step {
    pub(crate) const fn new(name: &'static str, cargo: &'static str) -> Self {
        Step {
            name,
            workspace: ".",
            cargo,
            programs: &[],
            tests: &[],
            options: &[],
            environment: &[],
            packages: &[],
            servers: &[],
            axe: false,
        }
    }

    /// A step that runs these test programs, of any package.
    pub(crate) const fn of_programs(name: &'static str, programs: &'static [&'static str]) -> Self {
        Step { programs, ..Step::new(name, EVERYTHING) }
    }

    /// A step that runs these test programs of the workspace in `verify/`.
    pub(crate) const fn of_verify(name: &'static str, programs: &'static [&'static str]) -> Self {
        Step { workspace: VERIFY, ..Step::of_programs(name, programs) }
    }

    /// A step that runs this program of the workspace in `verify/`: `run --quiet --package PROGRAM -- …`.
    pub(crate) const fn in_verify(name: &'static str, cargo: &'static str) -> Self {
        Step { workspace: VERIFY, ..Step::new(name, cargo) }
    }

    /// The arguments of cargo that select what is built.
    pub(crate) fn selection(&self) -> impl Iterator<Item = &'static str> {
        let programs = self.programs.iter().flat_map(|program| ["--test", program]);
        self.cargo.split_whitespace().chain(programs)
    }

    fn arguments(&self) -> impl Iterator<Item = &'static str> {
        let tests = self.options.iter().chain(self.tests).copied();
        let separator = if self.options.is_empty() && self.tests.is_empty() { None } else { Some("--") };
        self.selection().chain(separator).chain(tests)
    }

    /// Its command line.
    pub(crate) fn line(&self) -> String {
        let environment = self.environment.iter().map(|(name, value)| format!("{name}='{value}' "));
        let servers = self.servers.iter().map(|kind| kind.variable());
        let found = servers.chain(self.axe.then_some(axe::VARIABLE)).map(|variable| format!("{variable}=… "));
        // A shell would replace a star with files.
        let quoted = |word: &str| if word.contains('*') { format!(" '{word}'") } else { format!(" {word}") };
        let words = self.arguments().map(quoted);
        let folder = (self.workspace != ".").then(|| format!("cd {} && ", self.workspace));
        folder.into_iter().chain(environment).chain(found).chain(["cargo".to_owned()]).chain(words).collect()
    }

    fn packages(&self) -> impl Iterator<Item = &'static str> {
        let axe = if self.axe { axe::packages() } else { &[] };
        self.packages.iter().chain(axe).copied().chain(self.servers.iter().map(|kind| kind.package()))
    }

    /// Runs it, with its output on the terminal.
    pub(crate) fn run(&self, limit: Duration) -> Ran {
        println!("==> {}: {}", self.name, self.line());
        self.timed(|| self.runs(limit, None))
    }

    /// Runs it while others run too: its output goes to a file, which is printed if it fails.
    pub(crate) fn run_beside(&self, limit: Duration) -> Ran {
        println!("==> {}: {} > {}", self.name, self.line(), self.log().display());
        self.timed(|| {
            let result = self.runs(limit, Some(&self.log()));
            result.map_err(|reason| {
                let log = fs::read(self.log()).unwrap_or_default();
                let log = String::from_utf8_lossy(&log);
                println!("==> {} failed:\n{log}", self.name);
                [reason].into_iter().chain(failures(&log)).collect::<Vec<_>>().join("\n       ")
            })
        })
    }

    fn timed(&self, run: impl FnOnce() -> Result<(), String>) -> Ran {
        let begun = Instant::now();
        let result = run();
        Ran { name: self.name, took: begun.elapsed(), result }
    }

    fn log(&self) -> PathBuf {
        Path::new("target/steps").join(format!("{}.log", self.name))
    }

    fn runs(&self, limit: Duration, log: Option<&Path>) -> Result<(), String> {
        let mut command = cargo();
        command.args(self.arguments()).envs(self.environment.iter().copied()).current_dir(root().join(self.workspace));
        let mut running = Vec::new();
        for kind in self.servers {
            let (url, server) = start(*kind).map_err(|error| error.to_string())?;
            command.env(kind.variable(), url);
            running.push(server);
        }
        if self.axe {
            command.env(axe::VARIABLE, axe::fetch()?);
        }
        if let Some(log) = log {
            let both = open(&root().join(log)).map_err(|error| format!("{}: {error}", log.display()))?;
            command.stdout(both.0).stderr(both.1);
        }
        match status_within(limit, &mut command) {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(status)) => Err(status.to_string()),
            Ok(None) => Err(format!("it was ended after {} minutes", limit.as_secs() / 60)),
            Err(error) => Err(format!("cargo could not be started: {error}")),
        }
    }
}

/// Prints the duration of each step and of all; and fails if one has failed.
pub(crate) fn report(ran: &[Ran], took: Duration) -> ExitCode {
    ran.iter().for_each(|ran| println!("{}", ran.line()));
    println!("all    {:>26.1} s", took.as_secs_f32());
    if ran.iter().all(|ran| ran.result.is_ok()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A file for two streams.
fn open(log: &Path) -> std::io::Result<(File, File)> {
    log.parent().map_or(Ok(()), fs::create_dir_all)?;
    let file = File::create(log)?;
    Ok((file.try_clone()?, file))
}

/// The step with this name, for the command line.
pub(crate) fn by_name(steps: impl Iterator<Item = &'static Step>, name: &str) -> Result<&'static Step, String> {
    let steps: Vec<_> = steps.collect();
    let names = || steps.iter().map(|step| step.name).collect::<Vec<_>>().join(", ");
    steps.iter().copied().find(|step| step.name == name).ok_or_else(|| format!("there are {}", names()))
}

/// Installs the Debian packages that these steps need.
pub(crate) fn install<'s>(steps: impl Iterator<Item = &'s Step>) -> Result<(), String> {
    let mut packages: Vec<_> = steps.flat_map(Step::packages).collect();
    packages.sort_unstable();
    packages.dedup();
    debian::install(&packages)
}

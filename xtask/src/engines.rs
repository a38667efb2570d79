//! `cargo xtask engines`: the suites on other versions of the servers than the installed ones. Each is fetched into
//! `target/engines`, started in a temporary folder on a free port, tested and stopped; the machine's own packages are not touched. And the
//! suite of MariaDB on a Galera cluster, from the installed packages. And load with faults on clusters.

mod catalog;
mod clusters;
mod debian;
mod galera;
mod programs;

use std::any::Any;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use testkit::{DATABASE, Kind, MariaDb, Postgres, StartError, status_within};

use catalog::ENGINES;
pub(crate) use catalog::Engine;
use clusters::{LOADS, Load};

use crate::servers::{cargo, root};

/// One engine takes a few minutes. One that hangs must fail with its name.
const LONGEST: Duration = Duration::from_secs(25 * 60);

/// What can be tested.
#[derive(Clone, Copy)]
pub(crate) enum Chosen {
    Fetched(&'static Engine),
    Galera,
    Load(&'static Load),
}

impl Chosen {
    fn all() -> impl Iterator<Item = Self> {
        ENGINES.iter().map(Chosen::Fetched).chain([Chosen::Galera]).chain(LOADS.iter().map(Chosen::Load))
    }

    fn name(self) -> &'static str {
        match self {
            Chosen::Fetched(engine) => engine.name,
            Chosen::Galera => galera::NAME,
            Chosen::Load(load) => load.name,
        }
    }

    fn line(self) -> String {
        match self {
            Chosen::Fetched(engine) => line(engine),
            Chosen::Galera => galera::line(),
            Chosen::Load(load) => load.line(),
        }
    }

    fn test(self) -> Result<String, String> {
        match self {
            Chosen::Fetched(engine) => test(engine),
            Chosen::Galera => galera::test(),
            Chosen::Load(load) => load.run(),
        }
    }
}

/// Their names.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    Chosen::all().map(Chosen::name)
}

/// The one with this name, for the command line.
pub(crate) fn chosen(name: &str) -> Result<Chosen, String> {
    let names = || Chosen::all().map(Chosen::name).collect::<Vec<_>>().join(", ");
    Chosen::all().find(|one| one.name() == name).ok_or_else(|| format!("the engines are {}", names()))
}

/// The fetched engine with this name.
pub(crate) fn by_name(name: &str) -> Result<&'static Engine, String> {
    let names = || ENGINES.map(|engine| engine.name).join(", ");
    ENGINES.iter().find(|engine| engine.name == name).ok_or_else(|| format!("the engines are {}", names()))
}

/// Prints all, with their source and their tests.
pub(crate) fn list() -> ExitCode {
    for engine in &ENGINES {
        let from = format!("Debian {}: {}", engine.suite, engine.packages.join(" "));
        println!("{:<14} {from:<62} {}", engine.name, line(engine));
    }
    println!("{:<14} {:<62} {}", galera::NAME, "the installed MariaDB, three nodes", galera::line());
    for load in &LOADS {
        println!("{:<24} {:<52} {}", load.name, load.on, load.line());
    }
    ExitCode::SUCCESS
}

/// Tests all of these, and prints each result at the end: a failure does not stop the others.
pub(crate) fn run(only: &[Chosen]) -> ExitCode {
    let chosen = Chosen::all().filter(|one| only.is_empty() || only.iter().any(|other| other.name() == one.name()));
    let (mut report, mut failed) = (String::new(), false);
    for engine in chosen {
        println!("==> {}: {}", engine.name(), engine.line());
        let start = Instant::now();
        let outcome = engine.test();
        let seconds = start.elapsed().as_secs_f32();
        report += &match outcome {
            Ok(version) => format!("ok     {:<14} {seconds:>7.1} s  {version}\n", engine.name()),
            Err(reason) => {
                failed = true;
                format!("FAILED {:<14} {seconds:>7.1} s  {reason}\n", engine.name())
            }
        };
    }
    print!("{report}");
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The command line.
fn line(engine: &Engine) -> String {
    format!("{}=… {}=… cargo {}", engine.kind.programs_variable(), engine.kind.variable(), arguments(engine).join(" "))
}

fn arguments(engine: &Engine) -> Vec<&'static str> {
    let of = match engine.kind {
        Kind::Postgres => "postgres::",
        Kind::MariaDb => "mysql::",
    };
    vec!["test", "--workspace", "--all-features", "--test", "on_servers", "--", of, "--skip", "both::"]
}

/// Runs the suites; returns the tested version.
fn test(engine: &Engine) -> Result<String, String> {
    let ready = Ready::of(engine)?;
    let mut command = cargo();
    command.args(arguments(engine)).current_dir(root());
    let server = ready.start(&mut command).map_err(|error| error.to_string())?;
    let status = status_within(LONGEST, &mut command);
    drop(server);
    match status {
        Ok(Some(status)) if status.success() => Ok(ready.version),
        Ok(Some(status)) => Err(format!("{} ({status})", ready.version)),
        Ok(None) => Err(format!("{}: it was ended after {} minutes", ready.version, LONGEST.as_secs() / 60)),
        Err(error) => Err(format!("cargo could not be started: {error}")),
    }
}

/// An engine with its programs.
pub(crate) struct Ready {
    kind: Kind,
    folder: PathBuf,
    version: String,
}

impl Ready {
    /// Fetches the engine if it is missing.
    pub(crate) fn of(engine: &Engine) -> Result<Self, String> {
        let place = root().join("target/engines");
        std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        let place = place.canonicalize().map_err(|error| format!("{}: {error}", place.display()))?;
        let folder = place.join(engine.name);
        if !programs::are_in(&folder) {
            debian::fetch(engine, &place).map_err(|reason| {
                format!(
                    "{} could not be fetched: {reason}; it comes from Debian's suite {} through apt-get: see that this machine \
                     reaches its Debian mirror, and repeat `cargo xtask engines --only {}`",
                    engine.name, engine.suite, engine.name
                )
            })?;
            programs::prepare(engine, &folder)?;
        }
        programs::can_be_entered(&folder)?;
        let version = programs::version(engine, &folder)?;
        println!("==> {}: {version}", engine.name);
        Ok(Ready { kind: engine.kind, folder: programs::folder(&folder), version })
    }

    /// Names its programs to a command that starts servers.
    pub(crate) fn provide(&self, command: &mut std::process::Command) {
        command.env(self.kind.programs_variable(), &self.folder);
    }

    /// Starts a server, and sets a command's variables for it and for the programs of further servers.
    pub(crate) fn start(&self, command: &mut std::process::Command) -> Result<Box<dyn Any>, StartError> {
        self.provide(command);
        let (url, server): (String, Box<dyn Any>) = match self.kind {
            Kind::Postgres => {
                let server = Postgres::builder().programs(&self.folder).start()?;
                (server.url(DATABASE), Box::new(server))
            }
            Kind::MariaDb => {
                let server = MariaDb::builder().programs(&self.folder).start()?;
                (server.url(DATABASE), Box::new(server))
            }
        };
        command.env(self.kind.variable(), url);
        Ok(server)
    }
}

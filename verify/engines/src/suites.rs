//! `cargo xtask engines`: the suites on other versions of the servers than the installed ones. Each is fetched into
//! `target/engines`, started in a temporary folder on a free port, tested and stopped; the machine's own packages are not touched. And the
//! suite of MariaDB on a Galera cluster, from the installed packages. And load with faults on clusters.

use std::any::Any;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use testkit::{DATABASE, Kind, MariaDb, Postgres, StartError, status_within};

use testkit::tasks::{cargo, root};

use crate::catalog::{ENGINES, Engine};
use crate::clusters::{LOADS, Load};
use crate::{VERIFY, fetched, galera, programs};

/// One engine takes a few minutes. One that hangs must fail with its name.
const LONGEST: Duration = Duration::from_secs(25 * 60);

/// MySQL Group Replication, three nodes, one of which accepts writes: its name for `--only`, and the test program on such a group.
const GROUP: &str = "group-replication";
const ACROSS_GROUP: [&str; 5] = ["test", "--workspace", "--all-features", "--test", "group_replication"];

/// What can be tested.
#[derive(Clone, Copy)]
pub(crate) enum Chosen {
    Fetched(&'static Engine),
    Galera,
    GroupReplication,
    Load(&'static Load),
}

impl Chosen {
    fn all() -> impl Iterator<Item = Self> {
        ENGINES
            .iter()
            .map(Chosen::Fetched)
            .chain([Chosen::Galera, Chosen::GroupReplication])
            .chain(LOADS.iter().map(Chosen::Load))
    }

    fn name(self) -> &'static str {
        match self {
            Chosen::Fetched(engine) => engine.name,
            Chosen::Galera => galera::NAME,
            Chosen::GroupReplication => GROUP,
            Chosen::Load(load) => load.name,
        }
    }

    fn line(self) -> String {
        match self {
            Chosen::Fetched(engine) => line(engine),
            Chosen::Galera => galera::line(),
            Chosen::GroupReplication => {
                format!("{}=… cd {VERIFY} && cargo {}", Kind::MariaDb.programs_variable(), ACROSS_GROUP.join(" "))
            }
            Chosen::Load(load) => load.line(),
        }
    }

    fn test(self) -> Result<String, String> {
        match self {
            Chosen::Fetched(engine) => test(engine),
            Chosen::Galera => galera::test(),
            Chosen::GroupReplication => test_group(),
            Chosen::Load(load) => load.run(),
        }
    }
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
    println!("{:<14} {:<62} {}", galera::NAME, "the installed MariaDB, three nodes", Chosen::Galera.line());
    println!("{GROUP:<14} {:<62} {}", "mysql-9.7, three nodes, one writes", Chosen::GroupReplication.line());
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
    let [suite, stories] = arguments(engine).map(|arguments| arguments.join(" "));
    let (programs, server, on) = (engine.kind.programs_variable(), engine.kind.variable(), database(engine));
    format!("{programs}=… {server}=… {STORIES_ON}={on} cargo {suite}; cargo {stories}")
}

/// The variable that names the database of the shop's stories.
const STORIES_ON: &str = "SHOP_STORIES_ON";

fn database(engine: &Engine) -> &'static str {
    match engine.kind {
        Kind::Postgres => "postgres",
        Kind::MariaDb => "mysql",
    }
}

/// The suite of the library, and the stories of the shop.
fn arguments(engine: &Engine) -> [Vec<&'static str>; 2] {
    let of = match engine.kind {
        Kind::Postgres => "postgres::",
        Kind::MariaDb => "mysql::",
    };
    let test = |program| vec!["test", "--workspace", "--all-features", "--test", program];
    [[test("on_servers"), vec!["--", of, "--skip", "both::"]].concat(), test("stories")]
}

/// Runs the suite and the stories, each on a server of its own; returns the tested version.
fn test(engine: &Engine) -> Result<String, String> {
    let ready = Ready::of(engine)?;
    for arguments in arguments(engine) {
        let mut command = cargo();
        command.args(arguments).env(STORIES_ON, database(engine)).current_dir(root());
        let server = ready.start(&mut command).map_err(|error| error.to_string())?;
        passes(&mut command, &ready.version)?;
        drop(server);
    }
    Ok(ready.version)
}

/// Runs the test on a group of servers, which it starts; returns the tested version.
fn test_group() -> Result<String, String> {
    let ready = Ready::of(by_name("mysql-9.7")?)?;
    let mut command = cargo();
    ready.provide(command.args(ACROSS_GROUP).current_dir(root().join(VERIFY)));
    passes(&mut command, &ready.version).map(|()| ready.version)
}

/// Runs tests on a version of a server.
pub(crate) fn passes(command: &mut Command, version: &str) -> Result<(), String> {
    match status_within(LONGEST, command) {
        Ok(Some(status)) if status.success() => Ok(()),
        Ok(Some(status)) => Err(format!("{version} ({status})")),
        Ok(None) => Err(format!("{version}: it was ended after {} minutes", LONGEST.as_secs() / 60)),
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
            fetched::fetch(engine, &place).map_err(|reason| {
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
    pub(crate) fn provide(&self, command: &mut Command) {
        command.env(self.kind.programs_variable(), &self.folder);
    }

    /// Starts a server, and sets a command's variables for it and for the programs of further servers.
    pub(crate) fn start(&self, command: &mut Command) -> Result<Box<dyn Any>, StartError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_is_in_a_part_of_the_verification() {
        let parts = std::fs::read_to_string(root().join("xtask/src/verify.rs")).expect("the parts");
        let words: Vec<_> = parts.split([' ', '"']).collect();
        let left_out: Vec<_> = Chosen::all().map(Chosen::name).filter(|name| !words.contains(name)).collect();
        assert!(left_out.is_empty(), "no part runs {left_out:?}");
    }
}

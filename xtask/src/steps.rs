//! The steps of `cargo xtask test`: their commands, and running them one after the other.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use testkit::{Kind, status_within};

use crate::axe;
use crate::chaos;
use crate::debian;
use crate::engines::{self, Ready};
use crate::failures::Output;
use crate::servers::{cargo, root, start};

/// No step takes half of it, cold build included. One that hangs must fail with its name and its output, before CI is
/// ended from outside.
const LONGEST: Duration = Duration::from_secs(25 * 60);

/// One check.
pub(crate) struct Step {
    /// Its name for `--only`.
    pub(crate) name: &'static str,
    /// The first arguments of cargo.
    cargo: &'static [&'static str],
    /// The test programs, if not all.
    programs: &'static [&'static str],
    /// Additional environment variables.
    environment: &'static [(&'static str, &'static str)],
    /// The required Debian packages.
    packages: &'static [&'static str],
    /// The throw-away database servers that run during it. Its environment contains their URLs.
    servers: &'static [Kind],
    /// The engine of `cargo xtask engines` that runs instead. It is fetched first.
    engine: Option<&'static str>,
    /// Whether its tests run axe-core. Its environment contains the path.
    axe: bool,
}

/// The build of all steps below `test`: one selection of packages and features, or cargo would build the drivers and the
/// runtime anew for each.
const EVERYTHING: [&str; 4] = ["test", "--workspace", "--all-features", "--no-fail-fast"];

/// All of them, the fast ones first.
pub(crate) const STEPS: [Step; 33] = [
    Step::new("fmt", &["fmt", "--all", "--check"]),
    Step::new("clippy", &["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]),
    // The test programs that start servers: they are no part of `--all-targets`, because `cargo test` leaves them out.
    Step::new("clippy-servers", &["clippy", "--workspace", "--all-features", "--test", "*", "--", "-D", "warnings"]),
    Step {
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
        ..Step::new("doc", &["doc", "--workspace", "--no-deps", "--all-features"])
    },
    // The list of public items matches the documentation.
    Step::new("api", &["xtask", "api", "--check"]),
    // Third-party crates: known advisories, licences, duplicates, sources.
    Step::new("deny", &["xtask", "deny"]),
    // The command of every developer: the default members, with the examples in their documentation, and no service.
    Step::new("test", &["test", "--no-fail-fast"]),
    // The tests beside the code, also of `bench` and `testkit`. One of them compares the lease engine with
    // each database.
    Step {
        servers: &[Kind::Postgres, Kind::MariaDb],
        ..Step::new(
            "units",
            &["test", "--workspace", "--all-features", "--no-fail-fast", "--lib", "--bins", "--", "--include-ignored"],
        )
    },
    // The programs of `examples/`, and the web kit's: each runs to its end.
    Step::of_everything("examples", &["examples"]),
    // The guide and the other documents, as a site.
    Step::new("guide", &["xtask", "guide"]),
    // The README's example runs outside this workspace.
    Step::new("readme", &["xtask", "readme"]),
    // The content of a release: packed, and built from the packages.
    Step::new("package", &["xtask", "package"]),
    // The library without a backend. Its tests need one, so it is only compiled.
    Step::new("no-backend", &["check", "--package", "tenure", "--no-default-features"]),
    // With one server and without SQLite: together, the features hide missing parts of each.
    Step::new("only-postgres", &["check", "--package", "tenure", "--no-default-features", "--features", "postgres"]),
    Step::new("only-mysql", &["check", "--package", "tenure", "--no-default-features", "--features", "mysql"]),
    Step { servers: &[Kind::Postgres], ..Step::of_everything("postgres", &["postgres*"]) },
    Step { servers: &[Kind::MariaDb], ..Step::of_everything("mysql", &["mysql*"]) },
    // A cluster of three nodes that all accept writes. The suite on one of them: `cargo xtask engines --only galera`.
    Step { packages: &[Kind::MariaDb.package()], ..Step::of_everything("galera", &["galera"]) },
    // URLs with several hosts, and failovers: pairs of servers of its own, and a cluster.
    Step {
        packages: &[Kind::Postgres.package(), Kind::MariaDb.package()],
        ..Step::of_everything("failover", &["failover"])
    },
    // The newest of each, beside those of Debian's stable release.
    Step { engine: Some("mysql-9.7"), ..Step::of_everything("mysql-9.7", &["mysql*"]) },
    Step { engine: Some("postgresql-18"), ..Step::of_everything("postgresql-18", &["postgres*"]) },
    // Three nodes of MySQL, one of which accepts writes.
    Step { engine: Some("mysql-9.7"), ..Step::of_everything("group-replication", &["group_replication"]) },
    // One test program for all databases: SQLite, and both servers.
    Step { servers: &[Kind::Postgres, Kind::MariaDb], ..Step::of_everything("sea-orm", &["sea_orm"]) },
    // Connections to both servers: with certificates, with wrong ones, and without.
    Step { servers: &[Kind::Postgres, Kind::MariaDb], ..Step::of_everything("tls", &["tls"]) },
    // Connections, rights and the log, on both servers.
    Step {
        servers: &[Kind::Postgres, Kind::MariaDb],
        ..Step::new(
            "connections",
            &[
                "test",
                "--workspace",
                "--all-features",
                "--no-fail-fast",
                "--test",
                "connecting",
                "--test",
                "restored",
                "--test",
                "rights",
                "--test",
                "seen",
                "--",
                "--include-ignored",
            ],
        )
    },
    // The examples in the documentation of items that are not compiled by default.
    Step::new("doc-tests", &["test", "--workspace", "--all-features", "--doc"]),
    Step {
        environment: &[("SHOP_STORIES_ON", "postgres")],
        servers: &[Kind::Postgres],
        ..Step::of_everything("shop-postgres", &["stories", "attacks"])
    },
    Step {
        environment: &[("SHOP_STORIES_ON", "mysql")],
        servers: &[Kind::MariaDb],
        ..Step::of_everything("shop-mysql", &["stories", "attacks"])
    },
    Step {
        servers: &[Kind::Postgres],
        packages: &[Kind::MariaDb.package()],
        ..Step::of_everything("programs", &["doctor", "servers"])
    },
    // Wrong builds, each of which the checks of the load have to find.
    Step { packages: &chaos::PACKAGES, ..Step::of_everything("chaos", &["chaos"]) },
    // Load with faults on three databases at the same time: the optimised build.
    Step::new("load", &["xtask", "chaos", "--together"]),
    // The Korean pages need a Korean font for their screenshots.
    Step {
        packages: &["chromium", "chromium-driver", "fonts-noto-cjk"],
        axe: true,
        ..Step::of_everything("browser", &["browser"])
    },
    // People at the forms in real browsers, with faults of the network, the server and the browsers: a short run.
    Step { packages: &chaos::BROWSERS, ..Step::of_everything("pages", &["pages"]) },
];

impl Step {
    const fn new(name: &'static str, cargo: &'static [&'static str]) -> Self {
        Step { name, cargo, programs: &[], environment: &[], packages: &[], servers: &[], engine: None, axe: false }
    }

    /// A step that runs these test programs, of any package.
    const fn of_everything(name: &'static str, programs: &'static [&'static str]) -> Self {
        Step { programs, ..Step::new(name, &EVERYTHING) }
    }

    /// The arguments of cargo.
    fn arguments(&self) -> impl Iterator<Item = &'static str> {
        let programs = self.programs.iter().flat_map(|program| ["--test", program]);
        self.cargo.iter().copied().chain(programs)
    }

    /// Its command line.
    pub(crate) fn line(&self) -> String {
        let environment = self.environment.iter().map(|(name, value)| format!("{name}='{value}' "));
        let servers = self.servers.iter().map(|kind| kind.variable());
        let engine = self.engine.and_then(|name| engines::by_name(name).ok());
        let engine = engine.into_iter().flat_map(|engine| [engine.kind.programs_variable(), engine.kind.variable()]);
        let found =
            servers.chain(engine).chain(self.axe.then_some(axe::VARIABLE)).map(|variable| format!("{variable}=… "));
        let cargo = self.arguments().collect::<Vec<_>>().join(" ");
        format!("{}cargo {cargo}", environment.chain(found).collect::<String>())
    }

    fn packages(&self) -> impl Iterator<Item = &'static str> {
        let axe = if self.axe { axe::packages() } else { &[] };
        self.packages.iter().chain(axe).copied().chain(self.servers.iter().map(|kind| kind.package()))
    }

    fn run(&self) -> Result<(), String> {
        let mut command = cargo();
        command.args(self.arguments()).envs(self.environment.iter().copied()).current_dir(root());
        let mut running = Vec::new();
        for kind in self.servers {
            let (url, server) = start(*kind).map_err(|error| error.to_string())?;
            command.env(kind.variable(), url);
            running.push(server);
        }
        if let Some(engine) = self.engine {
            let ready = Ready::of(engines::by_name(engine)?)?;
            running.push(ready.start(&mut command).map_err(|error| error.to_string())?);
        }
        if self.axe {
            command.env(axe::VARIABLE, axe::fetch()?);
        }
        let output = Output::of(&mut command).map_err(|error| format!("no pipe for its output: {error}"))?;
        let status = status_within(LONGEST, &mut command);
        drop(command);
        // Also after success: its last lines belong before those of the next step.
        let failures = output.failures();
        let reason = match status {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => status.to_string(),
            Ok(None) => format!("it was ended after {} minutes", LONGEST.as_secs() / 60),
            Err(error) => format!("cargo could not be started: {error}"),
        };
        Err([reason].into_iter().chain(failures).collect::<Vec<_>>().join("\n       "))
    }
}

/// The step with this name, for the command line.
pub(crate) fn by_name(name: &str) -> Result<&'static Step, String> {
    let names = || STEPS.map(|step| step.name).join(", ");
    STEPS.iter().find(|step| step.name == name).ok_or_else(|| format!("the steps are {}", names()))
}

/// Installs the Debian packages that these steps need.
pub(crate) fn install(steps: &[&Step]) -> Result<(), String> {
    let mut packages: Vec<_> = steps.iter().flat_map(|step| step.packages()).collect();
    packages.sort_unstable();
    packages.dedup();
    debian::install(&packages)
}

/// Runs all of them, also after a failed one, and prints the duration of each: one run of CI reports every failure.
pub(crate) fn run(steps: &[&Step]) -> ExitCode {
    // First, because missing packages should be reported before a quarter of an hour of tests.
    if let Err(reason) = install(steps) {
        println!("FAILED packages: {reason}");
        return ExitCode::FAILURE;
    }
    let (mut report, mut failed) = (String::new(), false);
    let start = Instant::now();
    for step in steps {
        println!("==> {}: {}", step.name, step.line());
        let start = Instant::now();
        let result = step.run();
        let seconds = start.elapsed().as_secs_f32();
        match result {
            Ok(()) => report += &format!("ok     {:<14} {seconds:>7.1} s\n", step.name),
            Err(reason) => {
                failed = true;
                report += &format!("FAILED {:<14} {seconds:>7.1} s: {}: {reason}\n", step.name, step.line());
            }
        }
    }
    println!("{report}all    {:>22.1} s", start.elapsed().as_secs_f32());
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

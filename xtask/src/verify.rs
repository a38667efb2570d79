//! `cargo xtask verify`: everything that `cargo xtask test` leaves out, because it takes long. Run it whole before a release, and after a
//! change the parts that test it. `xtask/verified.txt` says when each part last passed.

use std::fs;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use testkit::Kind;

use crate::steps::{self, Ran, Step, VERIFY};
use testkit::tasks::{cargo, root};

/// Mutants and changes of SQL take hours. One that hangs has a limit of its own for each of its tests.
const LIMIT: Duration = Duration::from_secs(8 * 60 * 60);

/// The parts, the fast ones first.
pub(crate) static PARTS: [Step; 40] = [
    // Third-party crates: known advisories, licences, duplicates, sources.
    Step::new("deny", "xtask deny"),
    // The command of every developer: the default members with their default features, and no service.
    Step::new("defaults", "test --no-fail-fast"),
    // The workspace in verify/: its format, its lints, and its tests that need no server.
    Step::in_verify("verify-format", "fmt --all --check"),
    Step::in_verify("verify-lints", "clippy --workspace --all-features --all-targets -- -D warnings"),
    Step::in_verify("verify-units", "test --workspace --all-features --lib --bins"),
    // The library with one of the other databases, as `only-sqlite` of the quick run.
    Step::new("only-postgres", "clippy --package tenure --no-default-features --features postgres -- -D warnings"),
    Step::new("only-mysql", "clippy --package tenure --no-default-features --features mysql -- -D warnings"),
    // The guide and the other documents, as a site.
    Step::new("guide", "xtask guide"),
    // The README's example runs outside this workspace.
    Step::new("readme", "xtask readme"),
    // The content of a release: packed, and built from the packages.
    Step::new("package", "xtask package"),
    // All stories of the shop and the attacks on it, on the servers.
    Step {
        environment: &[("SHOP_STORIES_ON", "postgres")],
        servers: &[Kind::Postgres],
        ..Step::of_programs("whole-shop-postgres", &["stories", "attacks"])
    },
    Step {
        environment: &[("SHOP_STORIES_ON", "mysql")],
        servers: &[Kind::MariaDb],
        ..Step::of_programs("whole-shop-mysql", &["stories", "attacks"])
    },
    // The errors of the derives, which rustc prints for a crate of their own.
    Step::of_programs("derive", &["derive"]),
    // A cluster of three nodes that all accept writes, one of which is used. The suite on it is a part of `engines`.
    Step { packages: &[Kind::MariaDb.package()], ..Step::of_verify("galera", &["galera"]) },
    // Failovers behind one address: pairs of servers of its own, and a cluster.
    Step {
        packages: &[Kind::Postgres.package(), Kind::MariaDb.package()],
        ..Step::of_verify("failover", &["failover"])
    },
    // A pooler between tenure and the server.
    Step { packages: &[Kind::Postgres.package(), "pgbouncer"], ..Step::of_verify("pgbouncer", &["pgbouncer"]) },
    // Three nodes of MySQL, one of which accepts writes.
    Step::in_verify("group-replication", "run --quiet --package engines -- suites --only group-replication"),
    // The newest of each, beside those of Debian's stable release.
    Step::in_verify("mysql-9.7", "run --quiet --package engines -- suites --only mysql-9.7"),
    Step::in_verify("postgresql-18", "run --quiet --package engines -- suites --only postgresql-18"),
    // Wrong builds, each of which the checks of the load have to find.
    Step { packages: &LOAD, ..Step::of_verify("chaos", &["chaos"]) },
    // Two minutes of simulated runs.
    Step::new("simulation", "xtask simulate"),
    // The engine and each database, with three times as many random operations as in the quick run.
    Step {
        environment: &[("TENURE_ROUNDS", "42")],
        options: &["--include-ignored"],
        tests: &["decides_as_the_engine"],
        servers: &[Kind::Postgres, Kind::MariaDb],
        ..Step::new("differential", "test --workspace --all-features --no-fail-fast --lib")
    },
    // Wrong builds of the lease engine, each of which breaks a promise of the model.
    Step {
        tests: &["every_wrong_build_is_found"],
        ..Step::new("model", "test --workspace --all-features --no-fail-fast --lib")
    },
    // People at the forms in real browsers, with faults of the network, the server and the browsers: a short run.
    Step { packages: &["chromium", "chromium-driver"], ..Step::of_verify("pages", &["pages"]) },
    // All stories.
    Step {
        packages: &["chromium", "chromium-driver", "fonts-noto-cjk"],
        axe: true,
        ..Step::of_programs("browser", &["browser"])
    },
    // Load with faults on three databases at the same time: the optimised build.
    Step::in_verify("load", "run --quiet --package engines -- chaos --together"),
    Step::new("fuzz", "xtask fuzz"),
    // The other versions of the servers, and the suite on Galera; then load with faults on each cluster, ten minutes.
    Step::in_verify(
        "engines",
        "run --quiet --package engines -- suites --only postgresql-17 --only postgresql-19 --only mariadb-11.8 --only galera",
    ),
    Step::in_verify("load-galera", "run --quiet --package engines -- suites --only load-galera"),
    Step::in_verify("load-postgres-pair", "run --quiet --package engines -- suites --only load-postgres-pair"),
    Step::in_verify("load-patroni", "run --quiet --package engines -- suites --only load-patroni"),
    Step::in_verify("load-group-replication", "run --quiet --package engines -- suites --only load-group-replication"),
    Step::in_verify("load-multi-primary", "run --quiet --package engines -- suites --only load-multi-primary"),
    // All wrong builds, of the lock manager and of the pages.
    Step::in_verify("planted", "run --quiet --package engines -- chaos --planted"),
    Step::in_verify("planted-pages", "run --quiet --package engines -- chaos --pages --planted"),
    Step::in_verify("sql-changes", "run --quiet --package sql_changes"),
    // The mutants of the pure rooms: a few seconds for each of 840.
    Step::new("mutants-engine", "xtask mutants --only src/lease/engine"),
    Step::new("mutants-errors", "xtask mutants --only src/error --only src/db"),
    Step::new("mutants-versions", "xtask mutants --only src/version --only src/row_lock --only web/src/verdict.rs"),
    Step::new("mutants-values", "xtask mutants --only src/aggregate"),
];

/// What the load needs: the servers, a clock that can be set, and a file system of its own. (`engines` installs it by itself.)
const LOAD: [&str; 4] = [Kind::Postgres.package(), Kind::MariaDb.package(), "faketime", "e2fsprogs"];

/// A part's last full run that passed, one a line: part, date, commit, seconds.
const FILE: &str = "xtask/verified.txt";

/// The part with this name, for the command line.
pub(crate) fn by_name(name: &str) -> Result<&'static Step, String> {
    steps::by_name(PARTS.iter(), name)
}

/// Prints the parts, with their last full runs.
pub(crate) fn list() -> ExitCode {
    match last_runs() {
        Ok(runs) => {
            for part in &PARTS {
                let last = runs.iter().find_map(|run| run.strip_prefix(part.name)?.strip_prefix(' '));
                println!("{:<18} {:<34} {}", part.name, last.unwrap_or("never recorded"), part.line());
            }
            ExitCode::SUCCESS
        }
        Err(reason) => failed(&reason),
    }
}

/// Runs these parts, or all, also after a failed one, and records those that passed.
pub(crate) fn run(only: &[&Step]) -> ExitCode {
    let chosen = || PARTS.iter().filter(|part| only.is_empty() || only.iter().any(|one| one.name == part.name));
    // The commit says what was verified only if nothing differs from it.
    let commit = match unchanged_commit() {
        Ok(commit) => commit,
        Err(reason) => return failed(&reason),
    };
    if commit.is_none() {
        println!("==> there are changes that are not committed: {FILE} stays as it is");
    }
    if let Err(reason) = steps::install(chosen()) {
        return failed(&reason);
    }
    let (begun, mut ran) = (Instant::now(), Vec::new());
    for part in chosen() {
        let one = part.run(LIMIT);
        println!("{}", one.line());
        if let (Some(commit), Ok(())) = (&commit, &one.result)
            && let Err(reason) = record(&one, commit)
        {
            return failed(&reason);
        }
        ran.push(one);
    }
    println!();
    steps::report(&ran, begun.elapsed())
}

/// Runs a program of the workspace in `verify/`, and exits as it does.
pub(crate) fn program(name: &str, first: &[&str], arguments: &[String]) -> ExitCode {
    let mut run = cargo();
    run.args(["run", "--quiet", "--package", name, "--"]).args(first).args(arguments).current_dir(root().join(VERIFY));
    match run.status() {
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from),
        Err(error) => failed(&format!("cargo could not be started: {error}")),
    }
}

fn failed(reason: &str) -> ExitCode {
    println!("FAILED verify: {reason}");
    ExitCode::FAILURE
}

/// The present commit, unless the project differs from it in something else than the record.
fn unchanged_commit() -> Result<Option<String>, String> {
    let changes = git(&["status", "--porcelain", "--", ".", &format!(":!{FILE}")])?;
    let commit = git(&["rev-parse", "--short", "HEAD"])?;
    Ok(changes.is_empty().then_some(commit))
}

fn git(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git").args(arguments).current_dir(root()).output();
    let output = output.map_err(|error| format!("git could not be started: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(format!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr))),
    }
}

fn last_runs() -> Result<Vec<String>, String> {
    let text = fs::read_to_string(root().join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
    Ok(text.lines().map(str::to_owned).collect())
}

fn record(ran: &Ran, commit: &str) -> Result<(), String> {
    let today = jiff::Zoned::now().date();
    let run = format!("{} {today} {commit} {} s", ran.name, ran.took.as_secs());
    let runs = with(last_runs()?, &run);
    fs::write(root().join(FILE), runs).map_err(|error| format!("{FILE}: {error}"))
}

/// The text of the record with this run in the place of the part's former one.
fn with(mut runs: Vec<String>, run: &str) -> String {
    let part = |run: &str| run.split(' ').next().map(str::to_owned);
    runs.retain(|other| part(other) != part(run));
    runs.push(run.to_owned());
    runs.sort();
    runs.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::quick;

    /// The test programs of both workspaces, as cargo knows them.
    fn programs() -> BTreeSet<String> {
        [".", VERIFY].into_iter().flat_map(programs_of).collect()
    }

    fn programs_of(workspace: &str) -> Vec<String> {
        let mut metadata = cargo();
        metadata.args(["metadata", "--no-deps", "--offline", "--format-version=1"]);
        let output = metadata.current_dir(root().join(workspace)).output().expect("cargo");
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("the metadata");
        let all = |value: &serde_json::Value, key: &str| value[key].as_array().cloned().expect("a list");
        let targets = all(&metadata, "packages").into_iter().flat_map(|package| all(&package, "targets"));
        let programs = targets.filter(|target| target["kind"] == serde_json::json!(["test"]));
        programs.filter_map(|target| target["name"].as_str().map(str::to_owned)).collect()
    }

    fn is_of(step: &Step, program: &str) -> bool {
        let is_meant = |pattern: &&str| match pattern.strip_suffix('*') {
            Some(start) => program.starts_with(start),
            None => program == *pattern,
        };
        step.programs.iter().any(is_meant)
    }

    fn steps() -> Vec<&'static Step> {
        quick::steps().filter(|step| step.name != "build").chain(&PARTS).collect()
    }

    #[test]
    fn every_test_program_is_run_whole_by_a_step() {
        let (steps, programs) = (steps(), programs());
        let runs = |step: &&Step, program: &str| {
            step.tests.is_empty() && !step.options.contains(&"--skip") && is_of(step, program)
        };
        let mut left_out: Vec<_> =
            programs.iter().filter(|program| !steps.iter().any(|step| runs(step, program))).collect();
        // The first is run in parts: see the next test. The second needs an engine, so the program `engines` runs it.
        left_out.retain(|program| !["on_servers", "group_replication"].contains(&&***program));
        assert!(programs.len() > 15 && left_out.is_empty(), "no step runs {left_out:?} of {}", programs.len());
    }

    #[test]
    fn every_folder_of_the_tests_on_servers_is_run_by_a_step() {
        let main = fs::read_to_string(root().join("tests/on_servers/main.rs")).expect("the program");
        let lines: Vec<_> = main.lines().collect();
        // A module with a path of its own is shared code.
        let own = lines.windows(2).filter(|two| !two[0].starts_with("#[path"));
        let own: Vec<_> = own.filter_map(|two| two[1].strip_prefix("mod ")?.strip_suffix(';')).collect();
        let run: BTreeSet<_> =
            steps().iter().filter(|step| is_of(step, "on_servers")).flat_map(|step| step.tests).collect();
        let left_out: Vec<_> = own.iter().filter(|name| !run.contains(&&*format!("{name}::"))).collect();
        assert!(own.len() == 3 && left_out.is_empty(), "no step runs {left_out:?} of {own:?}");
    }

    #[test]
    fn run_takes_the_place_of_the_former_one() {
        let runs = ["browser 2026-11-01 aaaaaaa 370 s", "deny 2026-11-01 aaaaaaa 74 s"].map(str::to_owned);
        let text = with(runs.to_vec(), "browser 2026-11-26 bbbbbbb 360 s");
        assert_eq!(text, "browser 2026-11-26 bbbbbbb 360 s\ndeny 2026-11-01 aaaaaaa 74 s\n");
    }
}

//! `cargo xtask bench --against COMMIT`: the measuring program of this tree and that of a commit take turns, each with servers of
//! its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{BUILD, install, succeed, with_servers_of_its_own};
use testkit::tasks::root;

/// Rounds, each with a run of both programs.
const ROUNDS: usize = 3;

/// A figure that is worse by more than this is marked.
const TOLERANCE: f64 = 1.05;

/// The values of one figure, by round: of the commit, and of this tree.
type Values = BTreeMap<String, [Vec<f64>; 2]>;

/// Measures, and prints a table of both medians and their ratio.
pub(super) fn measure(commit: &str, arguments: &[String]) -> Result<(), String> {
    install()?;
    let folder = root().join("target/against");
    let programs =
        [build(&check_out(commit, &folder)?, &folder.join("build"))?, build(&root(), &root().join("target"))?];
    let mut values = Values::new();
    for round in 0..ROUNDS {
        // A B B A A B: a machine that slows down hits both.
        for side in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let report = folder.join("report.json");
            let mut program = Command::new(&programs[side]);
            program.args(arguments).arg("--report").arg(&report).current_dir(root());
            with_servers_of_its_own(&mut program);
            println!("round {} of {ROUNDS}: {}", round + 1, if side == 0 { commit } else { "this tree" });
            program.stdout(std::process::Stdio::null());
            succeed(program)?;
            add(&mut values, side, &report)?;
        }
    }
    print(commit, &values);
    Ok(())
}

/// A copy of the project at a commit. It stays, with its build, so that the next run with the same commit compiles nothing.
fn check_out(commit: &str, folder: &Path) -> Result<PathBuf, String> {
    let tree = folder.join("tree");
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let git = |arguments: &[&str], at: &Path| {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(at);
        succeed(git)
    };
    if tree.join(".git").exists() {
        git(&["fetch", "--quiet", "origin"], &tree)?;
    } else {
        let (from, to) = (root().display().to_string(), tree.display().to_string());
        git(&["clone", "--quiet", "--no-checkout", &from, &to], folder)?;
    }
    git(&["checkout", "--quiet", "--force", commit], &tree)?;
    Ok(tree)
}

fn build(tree: &Path, target: &Path) -> Result<PathBuf, String> {
    let mut cargo = testkit::tasks::cargo();
    cargo.arg("build").args(BUILD).arg("--target-dir").arg(target).current_dir(tree);
    succeed(cargo)?;
    Ok(target.join("release/bench"))
}

fn add(values: &mut Values, side: usize, report: &Path) -> Result<(), String> {
    let text = fs::read_to_string(report).map_err(|error| format!("{}: {error}", report.display()))?;
    let report: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    for entry in report.as_array().ok_or("the report is not a list of figures")? {
        if let (Some(id), Some(value)) = (entry["id"].as_str(), entry["value"].as_f64()) {
            values.entry(id.to_owned()).or_default()[side].push(value);
        }
    }
    Ok(())
}

fn print(commit: &str, values: &Values) {
    println!("{:<64} {:>12} {:>12} {:>7}", "figure", commit, "this tree", "ratio");
    for (id, [before, now]) in values {
        let beside = [".other.", ".min", ".max", ".p95", ".p99"];
        if before.is_empty() || now.is_empty() || beside.iter().any(|part| id.contains(part)) {
            continue;
        }
        let (before, now) = (median(before), median(now));
        let ratio = now / before;
        let worse = if higher_is_better(id) { 1.0 / ratio } else { ratio };
        let mark = if worse > TOLERANCE { "  worse" } else { "" };
        println!("{id:<64} {before:>12.3} {now:>12.3} {ratio:>7.3}{mark}");
    }
}

/// Cycles and heartbeats are compared by their number per second; everything else is a time or a count.
fn higher_is_better(id: &str) -> bool {
    let throughput = id.starts_with("lock.cycle.") || id.starts_with("lock.heartbeat.");
    id.ends_with("per_second") || (throughput && id.contains(".vs_")) || id.ends_with("rate_vs_by_hand")
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::higher_is_better;

    #[test]
    fn more_cycles_and_less_time_are_better() {
        assert!(higher_is_better("lock.cycle.mysql.editors16.vs_single"));
        assert!(higher_is_better("lock.cycle.mysql.editors16.cycles_per_second"));
        assert!(higher_is_better("lock.heartbeat.mysql.leases10000.vs_one_by_one"));
        assert!(!higher_is_better("lock.cycle.mysql.editors16.try_lock"));
        assert!(higher_is_better("aggregate.load.sqlite.callers16.rate_vs_by_hand"));
        assert!(!higher_is_better("aggregate.save_all.sqlite.vs_by_hand"));
    }
}

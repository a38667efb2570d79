//! `cargo xtask fuzz`: libFuzzer runs the parsers of outside input on random input, guided by coverage.
//!
//! The targets are in `fuzz/`. libFuzzer stores input with new coverage in `fuzz/corpus`, and begins the next run with it. Input that
//! breaks a target is written to `fuzz/artifacts`.

use std::fs;
use std::process::ExitCode;
use std::time::Instant;

use crate::tools::Tool;
use testkit::tasks::{cargo, root};

const CARGO_FUZZ: Tool =
    Tool { name: "cargo-fuzz", version: "0.13.2", asked: &["--version"], prints: "cargo-fuzz ", options: &[] };

/// The longest input, in bytes. It is above the limits of typed texts.
const LONGEST_INPUT: u32 = 4_096;

/// Names the targets.
pub(crate) fn list() -> ExitCode {
    match targets() {
        Ok(targets) => {
            targets.iter().for_each(|target| println!("{target}"));
            ExitCode::SUCCESS
        }
        Err(problem) => failed(&problem),
    }
}

/// Runs these targets, or all, each for this time.
pub(crate) fn run(seconds: u32, only: &[String]) -> ExitCode {
    let targets = match targets() {
        Ok(targets) => targets,
        Err(problem) => return failed(&problem),
    };
    if let Some(unknown) = only.iter().find(|name| !targets.contains(name)) {
        return failed(&format!("there is no target `{unknown}`; there are {}", targets.join(", ")));
    }
    let program = match CARGO_FUZZ.installed() {
        Ok(program) => program,
        Err(problem) => return failed(&problem),
    };
    let mut broken = Vec::new();
    for target in targets.iter().filter(|name| only.is_empty() || only.contains(name)) {
        println!("==> {target}");
        let begun = Instant::now();
        let mut fuzz = cargo();
        // The library forbids unsafe code, so no sanitizer; the coverage needs flags of the compiler that are not stable yet.
        fuzz.env("RUSTC_BOOTSTRAP", "1").arg("fuzz").args(["run", "--sanitizer", "none", target, "--"]);
        fuzz.args([
            format!("-max_total_time={seconds}"),
            format!("-max_len={LONGEST_INPUT}"),
            "-print_final_stats=1".into(),
        ]);
        let folder = program.parent().map(|folder| folder.to_owned()).unwrap_or_default();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(folders) {
            fuzz.env("PATH", path);
        }
        let holds = fuzz.current_dir(root()).status().is_ok_and(|status| status.success());
        println!("==> {target}: {} in {:.0} s", if holds { "holds" } else { "BROKEN" }, begun.elapsed().as_secs_f32());
        if !holds {
            broken.push(target.as_str());
        }
    }
    match broken[..] {
        [] => ExitCode::SUCCESS,
        _ => failed(&format!("broken: {}; the input is in fuzz/artifacts", broken.join(", "))),
    }
}

fn targets() -> Result<Vec<String>, String> {
    let folder = root().join("fuzz/fuzz_targets");
    let files = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = files.filter_map(|file| file.ok()?.path().file_stem()?.to_str().map(str::to_owned));
    let mut names: Vec<_> = names.collect();
    names.sort();
    Ok(names)
}

fn failed(problem: &str) -> ExitCode {
    eprintln!("fuzz: {problem}");
    ExitCode::FAILURE
}

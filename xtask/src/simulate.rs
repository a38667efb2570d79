//! `cargo xtask simulate`: the simulation of verify/simulation/, with other seeds or more of them than in `cargo xtask test`.

use std::process::ExitCode;

use testkit::tasks::{cargo, root};

/// Runs so many seeds from this one on, or repeats one and prints what happened in it.
pub(crate) fn run(seeds: u64, from: u64, seed: Option<u64>) -> ExitCode {
    let mut test = cargo();
    test.args([
        "test",
        "--workspace",
        "--all-features",
        "--lib",
        "simulation::many",
        "--",
        "--include-ignored",
        "--nocapture",
    ]);
    match seed {
        Some(seed) => test.env("TENURE_SEED", seed.to_string()),
        None => test.env("TENURE_SEEDS", seeds.to_string()).env("TENURE_FROM", from.to_string()),
    };
    match test.current_dir(root()).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            println!("FAILED simulate: {error}");
            ExitCode::FAILURE
        }
    }
}

//! The project's tasks, in Rust so that they run wherever the project builds: `cargo xtask test` is what CI runs, `cargo xtask verify` everything
//! that takes longer, `cargo xtask bench` measures.

mod api;
mod axe;
mod bench;
mod deny;
mod diagrams;
mod failures;
mod fuzz;
mod guide;
mod lines;
mod mutants;
mod package;
mod quick;
mod readme;
mod simulate;
mod steps;
mod tools;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::steps::Step;

/// The tasks of this project.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run what CI runs, also after a step that fails: at most 20 minutes on two cores
    Test {
        /// Run only this step; may be given several times
        #[arg(long, value_name = "STEP", value_parser = quick::by_name)]
        only: Vec<&'static Step>,
        /// Print the steps with their commands, and run nothing
        #[arg(long, conflicts_with = "only")]
        list: bool,
    },
    /// Run what `test` leaves out, because it takes long, or only these parts of it; and record which passed
    Verify {
        /// The parts to run
        #[arg(value_name = "PART", value_parser = verify::by_name)]
        parts: Vec<&'static Step>,
        /// Print the parts with their last full runs, and run nothing
        #[arg(long, conflicts_with = "parts")]
        list: bool,
    },
    /// Write docs/api.md, the list of public items
    Api {
        /// Only compare it with the existing file
        #[arg(long)]
        check: bool,
    },
    /// Count the lines of the library: what is shipped, comments and tests apart
    Lines,
    /// Check the crates of Cargo.lock by the rules of deny.toml: advisories, licences, bans and duplicates, sources
    Deny,
    /// Draw the sequence diagrams of the guide from their texts
    Diagrams,
    /// Make a site of docs/ with mdBook, in target/book
    Guide,
    /// Copy the README's install lines and example into a new crate outside of the workspace, and run it
    Readme,
    /// Pack each crate that is published, build it from its package, and check its contents
    Package,
    /// Count the files and functions of the library that an operation passes: `--files`
    Walk {
        /// The options of the program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<String>,
    },
    /// Make each change of verify/sql_changes/changes.txt in a copy of the project, and see its test fail: `--only SUBSTRING`
    SqlChanges {
        /// The options of the program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<String>,
    },
    /// Run the suites on other versions of the servers, each fetched into target/engines: `--list`, `--only NAME`
    Engines {
        /// The options of the program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<String>,
    },
    /// Run load with faults on a database: `--backend sqlite|postgres|mariadb`, or a cluster: `galera|postgres-pair|patroni|
    /// group-replication|multi-primary`; `--minutes`, `--hours`, `--seed`, `--faults`, `--without`; exits with
    /// 0 if nothing was found, 1 if something was, 3 if too little happened to say. Or `--pages`: people at the forms of the shop in real
    /// browsers; `--planted`: wrong builds, until the checks find each of them; `--together`: SQLite, PostgreSQL and MariaDB at the same time
    Chaos {
        /// The options of the program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<String>,
    },
    /// Run the lock manager's machinery on a simulated database, in simulated time: 2,000 seeds, others, or more
    Simulate {
        /// How many runs, each with a seed of its own
        #[arg(long, default_value_t = 2_000, value_name = "COUNT")]
        seeds: u64,
        /// The first seed
        #[arg(long, default_value_t = 1, value_name = "SEED")]
        from: u64,
        /// Repeat this one, and print what happened in it
        #[arg(long, conflicts_with_all = ["seeds", "from"], value_name = "SEED")]
        seed: Option<u64>,
    },
    /// Give the parsers of outside input random input, with cargo-fuzz: the targets of fuzz/
    Fuzz {
        /// How long each target runs
        #[arg(long, default_value_t = 60, value_name = "SECONDS")]
        seconds: u32,
        /// Run only this target; may be given several times
        #[arg(long, value_name = "TARGET")]
        only: Vec<String>,
        /// Name the targets, and run nothing
        #[arg(long, conflicts_with = "only")]
        list: bool,
    },
    /// Change the code that decides without I/O in one place after the other, with cargo-mutants, and see its unit tests fail
    Mutants {
        /// Only this file or folder; may be given several times
        #[arg(long, value_name = "PATH")]
        only: Vec<String>,
        /// Name the changes, and run nothing
        #[arg(long)]
        list: bool,
        /// Only this part of the changes: `1/4` is the second quarter
        #[arg(long, value_name = "K/N")]
        shard: Option<String>,
    },
    /// Measure tenure beside hand-written code, with throw-away servers; `--list`, `--only SUBSTRING`, `--quick`
    Bench {
        /// Add this number of microseconds to each flush
        #[arg(long, value_name = "MICROSECONDS")]
        slower_flush: Option<u32>,
        /// Measure this commit as well, in turns on the same servers, and print the ratios
        #[arg(long, value_name = "COMMIT")]
        against: Option<String>,
        /// The options of the measuring program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<String>,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().chore {
        Chore::Test { list: true, .. } => {
            quick::steps().for_each(|step| println!("{:<14} {}", step.name, step.line()));
            ExitCode::SUCCESS
        }
        Chore::Test { only, .. } => quick::run(&only),
        Chore::Verify { list: true, .. } => verify::list(),
        Chore::Verify { parts, .. } => verify::run(&parts),
        Chore::Api { check } => api::run(check),
        Chore::Lines => lines::run(),
        Chore::Deny => deny::run(),
        Chore::Diagrams => diagrams::run(),
        Chore::Guide => guide::run(),
        Chore::Readme => readme::run(),
        Chore::Package => package::run(),
        Chore::Walk { options } => verify::program("walk", &[], &options),
        Chore::SqlChanges { options } => verify::program("sql_changes", &[], &options),
        Chore::Engines { options } => verify::program("engines", &["suites"], &options),
        Chore::Chaos { options } => verify::program("engines", &["chaos"], &options),
        Chore::Simulate { seeds, from, seed } => simulate::run(seeds, from, seed),
        Chore::Fuzz { list: true, .. } => fuzz::list(),
        Chore::Fuzz { seconds, only, .. } => fuzz::run(seconds, &only),
        Chore::Mutants { only, list, shard } => mutants::run(&only, list, shard.as_deref()),
        Chore::Bench { slower_flush, against, options } => bench::run(slower_flush, against.as_deref(), &options),
    }
}

//! `cargo xtask engines` and `cargo xtask chaos`: the suites on other versions of the servers than the installed ones, on clusters, and load
//! with faults on what it needs.

mod catalog;
mod chaos;
mod clusters;
mod fetched;
mod galera;
mod load;
mod patroni;
mod programs;
mod suites;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::suites::Chosen;

/// The workspace of what tries to break the library.
const VERIFY: &str = "verify";

#[derive(Parser)]
#[command(name = "engines")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the suites on other versions of the servers, each fetched into target/engines
    Suites {
        /// Run on this engine only; may be given several times
        #[arg(long, value_name = "NAME", value_parser = suites::chosen)]
        only: Vec<Chosen>,
        /// Print the engines with their tests, and run nothing
        #[arg(long, conflicts_with = "only")]
        list: bool,
    },
    /// Run load with faults
    Chaos {
        /// Run people at the forms of the shop in real browsers instead: `--minutes`, `--seed`, `--no-faults`, `--keep`
        #[arg(long)]
        pages: bool,
        /// Run wrong builds instead, until the checks find each of them
        #[arg(long)]
        planted: bool,
        /// Run it on SQLite, PostgreSQL and MariaDB at the same time instead, for eight minutes, with an optimised build
        #[arg(long, conflicts_with_all = ["pages", "planted", "options"])]
        together: bool,
        /// The options of the load
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<String>,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Suites { list: true, .. } => suites::list(),
        Command::Suites { only, .. } => suites::run(&only),
        Command::Chaos { together: true, .. } => load::run(),
        Command::Chaos { pages, planted, options, .. } => chaos::run(pages, planted, &options),
    }
}

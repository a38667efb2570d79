//! `cargo xtask walk`: the files of the library that an operation passes, counted by valgrind's callgrind in a build without optimisation.
//!
//! Each operation runs once before it is counted, so that connections are open and texts are written.

mod operations;
mod profile;

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};

use clap::{Parser, ValueEnum};
use testkit::Kind;
use testkit::tasks::{debian, root};

use crate::operations::Operation;
use crate::profile::Walk;

/// Counts the files and functions of the library that an operation passes
#[derive(Parser)]
#[command(name = "walk")]
struct Arguments {
    /// Print the names of the files, too
    #[arg(long)]
    files: bool,
    /// Run this operation, under callgrind
    #[arg(long, hide = true)]
    run: Option<Operation>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.run {
        Some(operation) => operation.run().map_err(|error| error.to_string()),
        None => count_all(arguments.files),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("FAILED walk: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn count_all(with_files: bool) -> Result<(), String> {
    debian::install(&[Kind::MariaDb.package(), "valgrind"])?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    println!("| operation | files of `src/` | functions |");
    println!("|---|---|---|");
    for operation in Operation::value_variants() {
        let name = operation.name();
        let walk = counted(&name, &folder.path().join(&name))?;
        println!("| {} | {} | {} |", operation.words(), walk.files.len(), walk.functions);
        for file in walk.files.iter().filter(|_| with_files) {
            println!("{file}");
        }
    }
    Ok(())
}

fn counted(name: &str, profile: &Path) -> Result<Walk, String> {
    let this = env::current_exe().map_err(|error| error.to_string())?;
    let mut callgrind = Command::new("valgrind");
    callgrind.args(["--quiet", "--tool=callgrind", "--toggle-collect=*counted_walk*"]);
    callgrind.arg(format!("--callgrind-out-file={}", profile.display())).arg(this).args(["--run", name]);
    let status = callgrind.current_dir(root()).status().map_err(|error| format!("valgrind: {error}"))?;
    if !status.success() {
        return Err(format!("{name} under callgrind: {status}"));
    }
    let library = root().join("src").canonicalize().map_err(|error| error.to_string())?;
    profile::read(profile, &library)
}

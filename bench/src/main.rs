//! Measures tenure beside code that a careful programmer writes by hand, and prints one table.
//!
//! `cargo xtask bench` builds and runs it, with servers of its own. Every ratio comes from one run in which both sides take
//! turns, so that the noise of the machine hits both: see `docs/performance.md`.

mod aggregates;
mod backend;
mod cores;
mod effort;
mod limits;
mod locks;
mod plan;
mod pools;
mod process;
mod report;
mod rounds;
mod statements;
mod statistics;
mod together;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use crate::effort::Effort;
use crate::plan::Measurement;
use crate::report::Report;

/// Every error is reported, and ends its measurement.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures tenure beside hand-written code.
#[derive(Parser)]
struct Arguments {
    /// Measure only what has a figure whose id contains this; may be given several times
    #[arg(long, value_name = "SUBSTRING")]
    only: Vec<String>,
    /// Take few samples: to check that it works, not for figures
    #[arg(long)]
    quick: bool,
    /// Print the figures, and measure nothing
    #[arg(long)]
    list: bool,
    /// The file for the JSON
    #[arg(long, value_name = "FILE", default_value = "target/bench/report.json")]
    report: PathBuf,
    /// Hold this number of leases in the database of this URL, and print the memory in use
    #[arg(long, hide = true, num_args = 2, value_names = ["COUNT", "URL"])]
    hold_leases: Option<Vec<String>>,
}

#[tokio::main]
async fn main() -> ExitCode {
    // Not here but on a worker of the runtime, where a program handles its requests: this thread would be woken by another one for every
    // answer.
    match tokio::spawn(run(Arguments::parse())).await {
        Ok(Ok(true)) => ExitCode::SUCCESS,
        Ok(Ok(false)) => ExitCode::FAILURE,
        Ok(Err(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        Err(panicked) => {
            eprintln!("{panicked}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything could be measured.
async fn run(arguments: Arguments) -> Outcome<bool> {
    if let Some([count, url]) = arguments.hold_leases.as_deref() {
        locks::hold_and_print(url, count.parse()?).await?;
        return Ok(true);
    }
    let effort = if arguments.quick { Effort::QUICK } else { Effort::FULL };
    let wanted = |measurement: &Measurement| {
        let figures = measurement.figures(&effort);
        arguments.only.is_empty()
            || arguments.only.iter().any(|part| figures.iter().any(|figure| figure.contains(part.as_str())))
    };
    let chosen: Vec<Measurement> = plan::all().into_iter().filter(wanted).collect();
    if chosen.is_empty() {
        return Err("no figure has such an id; --list prints all ids".into());
    }
    if arguments.list {
        chosen.iter().flat_map(|measurement| measurement.figures(&effort)).for_each(|id| println!("{id}"));
        return Ok(true);
    }
    statements::install()?;
    let (mut report, mut failed) = (Report::default(), Vec::new());
    for measurement in &chosen {
        let start = Instant::now();
        match measurement.run(&effort, &mut report).await {
            Ok(()) => eprintln!("{:<60} {:>6.1} s", measurement.id, start.elapsed().as_secs_f32()),
            Err(error) => {
                eprintln!("{:<60} FAILED: {error}", measurement.id);
                failed.push(format!("FAILED {}: {error}", measurement.id));
            }
        }
        // An interrupted run keeps the figures so far.
        report.write(&arguments.report)?;
    }
    print(&report, &arguments.report, &failed);
    Ok(failed.is_empty())
}

fn print(report: &Report, path: &Path, failed: &[String]) {
    println!("{}", report.table());
    failed.iter().for_each(|line| println!("{line}"));
    println!("also in {}", path.display());
}

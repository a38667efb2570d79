//! The program: one run, or several rounds of it, and a verdict; or wrong builds that the same checks have to find.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};

use super::Result;
use super::check;
use super::enough::Least;
use super::report::{Report, history};
use super::round::{self, Plan};
use super::serve;

/// The longest round. A longer run has several, each with a new shop and new browsers: so the documented limits are not reached, which
/// are 20 drafts of a browser, 20 kept forms of a person and 50 versions of an order.
const ROUND: Duration = Duration::from_secs(50);

/// People at the forms of the shop in real browsers, with faults.
#[derive(Debug, Parser)]
#[command(name = "pages")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Let people edit orders under faults, and check what they were told
    Run(Options),
    /// Be the shop
    #[command(hide = true)]
    Shop(serve::Options),
    /// Run wrong builds of the pages until the checks find each of them
    #[cfg(feature = "planted")]
    Planted(Hunt),
}

#[derive(Debug, clap::Args)]
struct Options {
    /// For how many minutes
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// Decides which faults come when, and what each person chooses; one of the clock if it is not given
    #[arg(long)]
    seed: Option<u64>,
    /// No faults of the network and the server
    #[arg(long)]
    no_faults: bool,
    /// At most so many further rounds, if too little happened until then
    #[arg(long, default_value_t = 0)]
    further: u64,
    /// Where the history of a round is written in which a check found something
    #[arg(long, default_value = "target/pages")]
    folder: PathBuf,
    /// Write the histories in any case
    #[arg(long)]
    keep: bool,
}

/// Which wrong builds.
#[cfg(feature = "planted")]
#[derive(Debug, clap::Args)]
struct Hunt {
    /// Only these mistakes; may be given several times
    #[arg(long)]
    only: Vec<super::planted::Bug>,
    /// Decides which faults come when, and what each person chooses
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// After how many rounds a mistake counts as not found
    #[arg(long, default_value_t = 5)]
    rounds: u64,
    /// Where the histories are written
    #[arg(long, default_value = "target/pages")]
    folder: PathBuf,
}

/// Runs, prints the report, and says by the exit code how it was: 0 passed, 1 violated, 3 invalid, 4 the test itself failed.
pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    let ended = match &arguments.command {
        Command::Run(options) => run_all(options).await,
        Command::Shop(options) => serve::run(options).await.map(|()| ExitCode::SUCCESS),
        #[cfg(feature = "planted")]
        Command::Planted(options) => hunt_all(options).await,
    };
    verdict::ended(ended)
}

async fn run_all(options: &Options) -> Result<ExitCode> {
    let seed = verdict::seed(options.seed);
    let none = if options.no_faults { " --no-faults" } else { "" };
    println!("REPRO: cargo xtask chaos --pages --minutes {} --seed {seed}{none}", options.minutes);
    let least = Least::of(options.minutes, !options.no_faults);
    let (mut left, mut further) = (Duration::from_secs_f64(options.minutes * 60.0), 0);
    let (mut report, mut round) = (Report::default(), 0);
    let missing = loop {
        let (time, began) = (left.min(ROUND), Instant::now());
        let plan = Plan {
            seed: seed.wrapping_add(round),
            time,
            people: people(round),
            has_faults: !options.no_faults,
            planted: None,
        };
        let evidence = round::run(&plan).await?;
        let found = check::all(&evidence);
        if options.keep || !found.is_empty() {
            keep(&options.folder, &format!("{seed}-{round}"), &history(&evidence))?;
        }
        report.add(&evidence, found, time);
        left = left.saturating_sub(time);
        println!(
            "round {round}: {} forms sent so far, {} violations; {:.0} s",
            report.tally.sent,
            report.violations.len(),
            began.elapsed().as_secs_f64()
        );
        round += 1;
        if !left.is_zero() {
            continue;
        }
        let missing = least.missing(&report.tally);
        if missing.is_empty() || !report.violations.is_empty() || further == options.further {
            break missing;
        }
        println!("a further round, because too little happened: {}", missing.join(", "));
        (further, left) = (further + 1, time);
    };
    println!("pages with seed {seed}\n{}", report.text());
    Ok(verdict::of(report.violations.len(), &missing))
}

/// Three and two people, in turns.
fn people(round: u64) -> usize {
    if round.is_multiple_of(2) { 3 } else { 2 }
}

fn keep(folder: &Path, name: &str, history: &str) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let file = folder.join(format!("{name}.txt"));
    std::fs::write(&file, history)?;
    println!("the history is in {}", file.display());
    Ok(())
}

/// Runs the wrong builds one after the other, and prints what found each, and in which round.
#[cfg(feature = "planted")]
async fn hunt_all(options: &Hunt) -> Result<ExitCode> {
    use std::collections::BTreeSet;

    use clap::ValueEnum;

    let all = super::planted::Bug::value_variants().iter();
    let (mut sought, mut missed) = (0, 0);
    for bug in all.filter(|bug| options.only.is_empty() || options.only.contains(bug)) {
        let name = bug.name();
        let mut by = BTreeSet::new();
        let mut rounds = 0..options.rounds;
        for round in rounds.by_ref() {
            let seed = options.seed.wrapping_add(round);
            let plan = Plan { seed, time: ROUND, people: 3, has_faults: true, planted: Some(name) };
            let evidence = round::run(&plan).await?;
            let found = check::all(&evidence);
            by.extend(found.iter().filter_map(|violation| violation.check.split(' ').next()));
            if let Some(first) = found.first() {
                keep(&options.folder, &format!("{name}-{seed}"), &history(&evidence))?;
                println!("{name:<24} found in round {round} by {by:?}, {} times; the first: {first}", found.len());
                break;
            }
        }
        sought += 1;
        if by.is_empty() {
            println!("{name:<24} NOT FOUND");
            missed += 1;
        }
    }
    Ok(verdict::of_hunt(sought - missed, missed, false))
}

//! `chaos run`: one run, or several rounds of it, and a verdict.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::Result;
use crate::backend::Backend;
use crate::check::{CHECKS, Least};
use crate::clients;
use crate::disk::Disk;
use crate::nemesis::{Fault, LEAST_REST_MS, REST_MS};
use crate::report::Report;
use crate::run::{self, Done, Plan, Way};
use crate::subject::tenure::Declared;
use crate::workload::Workload;

/// The longest round: its history has to fit into memory. A longer run has several rounds, each with a database of its own.
const ROUND: Duration = Duration::from_secs(10 * 60);

/// What can be chosen.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Which database
    #[arg(long)]
    backend: Backend,
    /// For how many minutes
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// For how many hours, instead of minutes
    #[arg(long, conflicts_with = "minutes")]
    hours: Option<f64>,
    /// Decides which faults come when, and what each client does; one of the clock if it is not given
    #[arg(long)]
    seed: Option<u64>,
    /// Which faults, instead of all that the database can have; `none` for none
    #[arg(long, value_delimiter = ',')]
    faults: Option<Vec<Fault>>,
    /// All faults except these
    #[arg(long, value_delimiter = ',', conflicts_with = "faults")]
    without: Vec<Fault>,
    /// No faults at all
    #[arg(long, conflicts_with = "faults")]
    no_faults: bool,
    /// The longest pause between two faults, in milliseconds
    #[arg(long, default_value_t = REST_MS, value_parser = clap::value_parser!(u64).range(LEAST_REST_MS..=60_000))]
    rest: u64,
    /// Which workloads, instead of all
    #[arg(long, value_delimiter = ',')]
    workloads: Option<Vec<Workload>>,
    /// How many client processes
    #[arg(long, default_value_t = 4)]
    processes: u64,
    /// How many tasks each of them has
    #[arg(long, default_value_t = 20)]
    tasks: u64,
    /// Lead clients of Galera to two nodes, although one is declared: the checks must find what that breaks
    #[arg(long)]
    two_writer_nodes: bool,
    /// Lead clients to the first host that accepts writes, also if it was replaced: the checks must find what a former primary breaks
    #[arg(long)]
    first_host: bool,
    /// Put the database's own disk into memory: flushes are asked for and counted by a cut of power as before, and cost nothing
    #[arg(long)]
    disk_in_memory: bool,
    /// A run with less than this is invalid, in percent of what is expected of a machine with two cores
    #[arg(long, default_value_t = 100)]
    least: u64,
    /// Where the histories go; they are kept if a check found something
    #[arg(long, default_value = "target/chaos")]
    folder: PathBuf,
    /// Keep the histories in any case
    #[arg(long)]
    keep: bool,
}

/// Runs, prints the report, and says by the exit code how it was: 0 passed, 1 violated, 3 invalid, 4 the test itself failed.
pub(crate) async fn run(options: &Options) -> Result<ExitCode> {
    let seed = verdict::seed(options.seed);
    let total = options.hours.map_or(options.minutes * 60.0, |hours| hours * 3600.0);
    let (total, begun) = (Duration::from_secs_f64(total), Instant::now());
    let workloads = options.workloads.clone().unwrap_or_else(|| Workload::ALL.to_vec());
    let faults = faults(options, &workloads);
    let possible = Fault::of(options.backend);
    if let Some(fault) = faults.iter().find(|fault| !possible.contains(fault)) {
        return Err(format!("{} has no fault `{}`", options.backend, fault.name()).into());
    }
    if faults.iter().any(|fault| fault.needs_disk()) {
        Disk::with_private_mounts();
    }
    if options.first_host && options.backend != Backend::PostgresPair {
        return Err("only a former primary of `postgres-pair` accepts writes again".into());
    }
    if options.two_writer_nodes && options.backend != Backend::Galera {
        return Err("only `galera` has two nodes to write to".into());
    }
    println!("REPRO: cargo xtask chaos --backend {} {}", options.backend, repeat(options, seed));
    let (mut report, mut unavailable) = (Report::default(), BTreeSet::new());
    let mut left = total;
    for round in 0.. {
        let time = left.min(ROUND);
        let folder = options.folder.join(format!("{}-{seed}-{round}", options.backend));
        // Of an earlier run with the same seed.
        let _ = std::fs::remove_dir_all(&folder);
        let plan = Plan {
            backend: options.backend,
            seed: seed.wrapping_add(round),
            time,
            processes: options.processes,
            tasks: options.tasks,
            workloads: workloads.clone(),
            faults: faults.clone(),
            rest: Duration::from_millis(options.rest),
            declared: Declared { one_writer_node: matches!(options.backend, Backend::Galera | Backend::MultiPrimary) },
            way: way(options),
            disk_in_memory: options.disk_in_memory,
            folder: folder.clone(),
        };
        let Done { evidence, described, unavailable: lacking } = run::run(&plan).await?;
        unavailable.extend(lacking);
        let found: Vec<_> = CHECKS.iter().flat_map(|check| (check.run)(&evidence)).collect();
        if found.is_empty() && !options.keep {
            std::fs::remove_dir_all(&folder)?;
        } else {
            // What the database had in the end, so that a person can judge what was found.
            let stored = format!("{:#?}\n{:#?}\n", evidence.leases, evidence.notes);
            std::fs::write(folder.join("stored.txt"), stored)?;
            println!("the histories are in {}", folder.display());
        }
        for name in CHECKS.map(|check| check.name) {
            let mut of_this = found.iter().filter(|violation| violation.check == name);
            if let Some(first) = of_this.next() {
                println!("{name}: {}, and {} others", first.what, of_this.count());
            }
        }
        report.add(&evidence, found, described, time);
        left = left.saturating_sub(time);
        println!(
            "round {round}: {} operations so far, {} violations",
            report.tally.operations(),
            report.violations.len()
        );
        if left.is_zero() {
            break;
        }
    }
    let names = CHECKS.map(|check| check.name);
    println!(
        "{} with seed {seed}, {:.0} s in all\n{}",
        options.backend,
        begun.elapsed().as_secs_f64(),
        report.text(&names)
    );
    let mut missing = least(options, total, !faults.is_empty()).missing(&report.tally, &workloads, &faults);
    missing.extend(unavailable.iter().map(|fault| format!("the fault {fault}")));
    Ok(verdict::of(report.violations.len(), &missing))
}

/// How clients come to the nodes.
fn way(options: &Options) -> Way {
    match options.backend {
        _ if options.two_writer_nodes => Way::OneEach,
        // While the node is lost, an operator would have to name another one.
        Backend::MultiPrimary => Way::FirstNode,
        _ => Way::Router { wrong: options.first_host },
    }
}

/// Those that were chosen. Without forms there is no application to kill.
fn faults(options: &Options, workloads: &[Workload]) -> Vec<Fault> {
    if options.no_faults {
        return Vec::new();
    }
    let of_all = |fault: &Fault| {
        let has_forms = workloads.contains(&Workload::Form);
        !options.without.contains(fault) && (has_forms || *fault != Fault::KillPages)
    };
    options.faults.clone().unwrap_or_else(|| Fault::of(options.backend).into_iter().filter(of_all).collect())
}

/// How much has to happen: in proportion to the time, as far as there is time for it.
fn least(options: &Options, total: Duration, with_faults: bool) -> Least {
    let minutes = total.as_secs_f64() / 60.0;
    let scaled = |of_a_minute: f64| (of_a_minute * minutes * options.least as f64 / 100.0) as u64;
    Least {
        writes: scaled(40.0).max(1),
        contention: 10 * options.least.min(100) / 100,
        taken_over: scaled(20.0).max(1),
        gone: scaled(5.0).max(1),
        // Half of the clients leave unknown commits to the library.
        unknown: if with_faults && options.backend.is_server() { scaled(5.0).max(1) } else { 0 },
        // The rarest kinds come about twice a minute. On a cluster each of them takes up to half a minute.
        of_each_fault: match options.backend {
            _ if !with_faults => 0,
            _ if options.backend.is_cluster() => scaled(0.05).min(3),
            _ => scaled(0.5).min(10),
        },
    }
}

fn repeat(options: &Options, seed: u64) -> String {
    let time = options.hours.map_or(format!("--minutes {}", options.minutes), |hours| format!("--hours {hours}"));
    let list = |names: Vec<&str>| names.join(",");
    let faults = options.faults.as_ref().map(|faults| list(faults.iter().map(|fault| fault.name()).collect()));
    let faults = faults.map_or(String::new(), |faults| format!(" --faults {faults}"));
    let without = list(options.without.iter().map(|fault| fault.name()).collect());
    let without = if without.is_empty() { without } else { format!(" --without {without}") };
    let workloads = options
        .workloads
        .as_ref()
        .map(|chosen| chosen.iter().map(|one| clients::name(*one)).collect::<Vec<_>>().join(","));
    let workloads = workloads.map_or(String::new(), |workloads| format!(" --workloads {workloads}"));
    let none = if options.no_faults { " --no-faults" } else { "" };
    let memory = if options.disk_in_memory { " --disk-in-memory" } else { "" };
    let wrong = match (options.two_writer_nodes, options.first_host) {
        (true, _) => " --two-writer-nodes",
        (_, true) => " --first-host",
        _ => "",
    };
    let rest = options.rest;
    format!(
        "{time} --seed {seed} --rest {rest} --processes {} --tasks {}{faults}{without}{workloads}{none}{memory}{wrong}",
        options.processes, options.tasks
    )
}

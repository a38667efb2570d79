//! `chaos planted`: each wrong build runs until the checks find it, and the right one must pass.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::ValueEnum;

use crate::Result;
use crate::backend::Backend;
use crate::check::{self, Violation};
use crate::clients::{Clients, Crew, Pages};
use crate::clock::now_ns;
use crate::evidence::{Aftermath, Evidence, Reader};
use crate::history;
use crate::nemesis::{Fault, Nemesis, REST_MS};
use crate::random::Random;
use crate::run::{prepare, request_all, through_proxy};
use crate::server::{Machine, Server};
use crate::subject::planted::{Bug, Planted, TABLES};
use crate::subject::tenure::{Declared, Tenure};
use crate::workload::Workload;

/// What can be chosen.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Only these mistakes; may be given several times
    #[arg(long)]
    only: Vec<Bug>,
    /// Decides which faults come when, and what each client does
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// For how many seconds each round goes on
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// After how many rounds a mistake counts as not found
    #[arg(long, default_value_t = 6)]
    rounds: u64,
    /// Say how much went on in each round
    #[arg(long)]
    verbose: bool,
    /// Where the histories go
    #[arg(long, default_value = "target/chaos")]
    folder: PathBuf,
}

/// The faults under which they run: those that ask nothing of a driver that it may not do well.
const FAULTS: [Fault; 6] =
    [Fault::KillClient, Fault::StopClient, Fault::Reset, Fault::Delay, Fault::CutBeforeCommit, Fault::CutAfterCommit];

/// Runs them one after the other, and prints what found each, and when.
pub(crate) async fn run(options: &Options) -> Result<ExitCode> {
    let server =
        Arc::new(tokio::task::spawn_blocking(|| Server::start(Backend::Postgres, &Machine::default())).await??);
    let (mut times, mut missed, mut wrong) = (Vec::new(), Vec::new(), false);
    let all = Bug::value_variants().iter().copied();
    for bug in all.filter(|bug| options.only.is_empty() || options.only.contains(bug)) {
        let name = bug.name();
        match (hunt(options, &server, bug).await?, bug) {
            (None, Bug::None) => println!("{name:<28} nothing found, as it should be"),
            (Some(Found { first, .. }), Bug::None) => {
                println!("{name:<28} FOUND in the right build: {first}");
                wrong = true;
            }
            (Some(Found { after, first, by }), _) => {
                let by: Vec<_> = by.into_iter().filter_map(|check| check.split(' ').next()).collect();
                println!(
                    "{name:<28} found after {:>5.1} s by {}; the first: {first}",
                    after.as_secs_f64(),
                    by.join(", ")
                );
                times.push(after);
            }
            (None, _) => {
                println!("{name:<28} NOT FOUND");
                missed.push(name);
            }
        }
    }
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    println!("median {:.1} s", median.as_secs_f64());
    Ok(verdict::of_hunt(times.len(), missed.len(), wrong))
}

/// How a build was found out.
struct Found {
    /// After how much load.
    after: Duration,
    /// What was found first.
    first: Violation,
    /// All checks that found something in that round.
    by: BTreeSet<&'static str>,
}

/// Runs a build until a check finds something.
async fn hunt(options: &Options, server: &Arc<Server>, bug: Bug) -> Result<Option<Found>> {
    let mut before = Duration::ZERO;
    let rounds = if bug == Bug::None { 2 } else { options.rounds };
    for round in 0..rounds {
        let folder = options.folder.join(format!("planted-{}-{round}", bug.name()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder)?;
        let (begun, evidence) = one_round(options, server, bug, round, &folder).await?;
        let mut found = check::all(&evidence);
        if options.verbose {
            println!(
                "{} round {round}: {} operations, {} violations",
                bug.name(),
                evidence.operations.len(),
                found.len()
            );
        }
        if !found.is_empty() {
            let by = found.iter().map(|violation| violation.check).collect();
            let first = found.remove(0);
            let after = first.at_ns.map_or(Duration::from_secs(options.seconds), |at| Duration::from_nanos(at - begun));
            return Ok(Some(Found { after: before + after, first, by }));
        }
        std::fs::remove_dir_all(&folder)?;
        before += Duration::from_secs(options.seconds);
    }
    Ok(None)
}

async fn one_round(
    options: &Options,
    server: &Arc<Server>,
    bug: Bug,
    round: u64,
    folder: &Path,
) -> Result<(u64, Evidence)> {
    let database = format!("planted_{}_{round}", bug.name().replace('-', "_"));
    let (asked, name) = (Arc::clone(server), database.clone());
    let url = tokio::task::spawn_blocking(move || asked.another(&name)).await??;
    let direct = Tenure::connect(Backend::Postgres, &url, 2, Declared::default()).await?;
    prepare(&direct, Backend::Postgres).await?;
    sqlx::raw_sql(TABLES).execute(direct.database().postgres()?).await?;
    let (proxy, proxied) = through_proxy(&url, Backend::Postgres).await?;
    let seed = options.seed.wrapping_add(round);
    let random = Random::new(seed, u64::MAX);
    let with_forms = bug.workloads().contains(&Workload::Form);
    let crew = Crew {
        backend: Backend::Postgres,
        urls: vec![proxied],
        histories: folder.to_owned(),
        seed,
        tasks: 15,
        connections: 10,
        workloads: bug.workloads(),
        pages: with_forms.then(|| Pages::new(bug == Bug::FormAppliedAgain)),
        declared: Declared::default(),
        environment: Vec::new(),
        planted: Some(bug.name()),
    };
    let begun = now_ns();
    let mut clients = Clients::start(crew, 3)?;
    let mut nemesis = Nemesis {
        backend: Backend::Postgres,
        server: Arc::clone(server),
        proxies: proxy.into_iter().collect(),
        clock: None,
        disk: None,
        faults: FAULTS.to_vec(),
        random,
        rest: Duration::from_millis(REST_MS),
    };
    let happened = nemesis.run(&mut clients, Instant::now() + Duration::from_secs(options.seconds)).await?;
    let hung_clients = tokio::task::spawn_blocking(move || clients.end()).await?;
    // The longest lease, and the longest transaction of a client that is gone.
    tokio::time::sleep(Duration::from_millis(3100)).await;
    let mut evidence = Evidence { operations: history::read(folder)?, faults: happened.faults, ..Evidence::default() };
    evidence.read_ledgers(&Reader::connect(Backend::Postgres, &url).await?).await?;
    let keys: Vec<String> = evidence
        .operations
        .iter()
        .filter(|operation| operation.call.args.lock.is_some())
        .map(|operation| operation.key().to_owned())
        .collect();
    let afterwards = Planted::connect(&url, bug, 1, 2)?;
    let requested = request_all(&afterwards, keys.iter()).await;
    evidence.aftermath = Aftermath { hung_clients, ..requested };
    direct.database().close().await;
    Ok((begun, evidence))
}

//! One run: a database, clients, faults; and then the evidence.

use std::collections::HashSet;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure::LockId;

use crate::Result;
use crate::backend::Backend;
use crate::clients::{Clients, Crew, Pages};
use crate::disk::Disk;
use crate::evidence::{Aftermath, Evidence, Reader};
use crate::history;
use crate::nemesis::clock::{AHEAD, Clock};
use crate::nemesis::{Fault, Nemesis};
use crate::observer::Observer;
use crate::proxy::Proxy;
use crate::random::Random;
use crate::router::Router;
use crate::server::{Machine, Server};
use crate::standstill::Watch;
use crate::subject::Subject;
use crate::subject::tenure::{Declared, IDLE, TTL, Tenure};
use crate::workload::Workload;

/// What a run is made of.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) backend: Backend,
    pub(crate) seed: u64,
    pub(crate) time: Duration,
    pub(crate) processes: u64,
    pub(crate) tasks: u64,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) faults: Vec<Fault>,
    /// The longest pause between two faults.
    pub(crate) rest: Duration,
    /// What clients declare of a cluster.
    pub(crate) declared: Declared,
    /// How clients come to the nodes.
    pub(crate) way: Way,
    /// Whether a disk of its own is in memory, where a flush costs nothing.
    pub(crate) disk_in_memory: bool,
    /// A new folder for the histories.
    pub(crate) folder: PathBuf,
}

/// How clients come to the nodes of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// All of them know one address, which leads to the host that accepts writes; a wrong one to the first such host.
    Router { wrong: bool },
    /// All of them know the first one.
    FirstNode,
    /// Each of them knows one, and not all the same.
    OneEach,
}

/// The most keys that are requested after a run.
const REQUESTED: usize = 300;

/// Connections of each client for its transactions, fewer than its tasks.
const CONNECTIONS: u32 = 8;

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) evidence: Evidence,
    /// What the database says of itself.
    pub(crate) described: String,
    /// Faults that this machine cannot have, and why.
    pub(crate) unavailable: Vec<String>,
}

/// Runs it.
pub(crate) async fn run(plan: &Plan) -> Result<Done> {
    std::fs::create_dir_all(&plan.folder)?;
    let backend = plan.backend;
    let (mut faults, mut unavailable) = (plan.faults.clone(), Vec::new());
    let mut lack = |faults: &mut Vec<Fault>, lacks: fn(Fault) -> bool, reason: Box<dyn Error + Send + Sync>| {
        let lost = faults.iter().filter(|fault| lacks(**fault)).map(|fault| format!("`{}`: {reason}", fault.name()));
        unavailable.extend(lost);
        faults.retain(|fault| !lacks(*fault));
    };
    let steps = |fault| fault == Fault::StepClock;
    let clock = faults.contains(&Fault::StepClock).then(Clock::new).transpose();
    let clock = clock.unwrap_or_else(|reason| {
        lack(&mut faults, steps, reason);
        None
    });
    // Before the server, so that it is unmounted after the server's end.
    let disk = faults.iter().any(|fault| fault.needs_disk()).then(|| Disk::new(plan.disk_in_memory)).transpose();
    let disk = disk.unwrap_or_else(|reason| {
        lack(&mut faults, Fault::needs_disk, reason);
        None
    });
    let disk = disk.map(Arc::new);
    let environment = clock.as_ref().map(Clock::environment).unwrap_or_default();
    let machine = Machine { disk: disk.as_ref().map(|disk| disk.path()), environment: environment.clone() };
    let server = Arc::new(tokio::task::spawn_blocking(move || Server::start(backend, &machine)).await??);
    let url = ask(&server, Server::url).await?;
    let direct = Tenure::connect(backend, &url, 4, plan.declared).await?;
    prepare(&direct, backend).await?;
    // It would keep a disk whose power is cut.
    direct.database().close().await;
    if let Some(disk) = &disk {
        disk.flush()?;
    }
    let (proxies, urls) = networks(&server.urls(), backend, plan.way).await?;
    let observer = ask(&server, Server::applying_url).await?.map(Observer::start);
    let random = Random::new(plan.seed, u64::MAX);
    let with_forms = plan.workloads.contains(&Workload::Form);
    let crew = Crew {
        backend,
        urls,
        histories: plan.folder.clone(),
        seed: plan.seed,
        tasks: plan.tasks,
        connections: CONNECTIONS,
        workloads: plan.workloads.clone(),
        pages: with_forms.then(|| Pages::new(false)),
        declared: plan.declared,
        // The programs that use a file are the clients.
        environment: if backend.is_server() { Vec::new() } else { environment },
        planted: None,
    };
    let mut clients = Clients::start(crew, plan.processes)?;
    let watch = Watch::start();
    let (server_of_faults, rest) = (Arc::clone(&server), plan.rest);
    let mut nemesis = Nemesis { backend, server: server_of_faults, proxies, clock, disk, faults, random, rest };
    let happened = nemesis.run(&mut clients, Instant::now() + plan.time).await?;
    let hung_clients = tokio::task::spawn_blocking(move || clients.end()).await?;
    let standstills = watch.end();
    let record = format!("{:#?}\n{:#?}\n{standstills:#?}\n", happened.faults, happened.steps);
    std::fs::write(plan.folder.join("faults.txt"), record)?;
    let whole = Instant::now();
    let mut evidence = Evidence { operations: history::read(&plan.folder)?, standstills, ..Evidence::default() };
    // Before the wait: its own transaction must be gone when the open ones are counted.
    if let Some(observer) = observer {
        evidence.shown = observer.end().await?;
    }
    evidence.shows_unflushed = backend.shows_unflushed();
    evidence.leads_to_readers = backend.is_cluster();
    (evidence.faults, evidence.steps, evidence.replaced_ns) = (happened.faults, happened.steps, happened.replaced_ns);
    // What the server still does for a client that is gone must be over before anything is read.
    let ahead = if evidence.steps.0.is_empty() { Duration::ZERO } else { AHEAD };
    tokio::time::sleep((TTL.max(IDLE) + ahead + Duration::from_secs(1)).saturating_sub(whole.elapsed())).await;
    ask(&server, Server::catch_up).await?;
    let open_transactions = ask(&server, Server::open_transactions).await?;
    let mut described = ask(&server, Server::describe).await?;
    if nemesis.disk.is_some() {
        let place = if plan.disk_in_memory { "memory" } else { "a file" };
        described += &format!("; on a disk of its own (ext4 in {place})");
    }
    if nemesis.clock.is_some() {
        described += "; its clock by libfaketime";
    }
    let lost = server.lost_file().filter(|_| evidence.replaced_ns.is_some());
    let url = match lost {
        Some(lost) => format!("sqlite://{}", lost.display()),
        None => ask(&server, Server::url).await?,
    };
    // The connections of before may have been killed with the server.
    let direct = Tenure::connect(backend, &url, 4, plan.declared).await?;
    let applied = ask(&server, Server::applying_url).await?;
    evidence.read_database(&Reader::connect(backend, applied.as_deref().unwrap_or(&url)).await?).await?;
    evidence.aftermath = Aftermath { open_transactions, hung_clients, ..request_all(&direct, keys(&evidence)).await };
    direct.database().close().await;
    Ok(Done { evidence, described, unavailable })
}

/// Asks the server, which blocks.
async fn ask<T: Send + 'static>(
    server: &Arc<Server>,
    what: impl FnOnce(&Server) -> Result<T> + Send + 'static,
) -> Result<T> {
    let server = Arc::clone(server);
    tokio::task::spawn_blocking(move || what(&server)).await?
}

/// The network of the address, or of each node that clients know, and the URLs by which they come through it.
async fn networks(nodes: &[String], backend: Backend, way: Way) -> Result<(Vec<Proxy>, Vec<String>)> {
    if let (Way::Router { wrong }, true) = (way, backend.is_cluster()) {
        let proxy = Proxy::to(Router::start(backend, nodes.to_vec(), wrong)).await?;
        let url = through(&nodes[0], &proxy)?;
        return Ok((vec![proxy], vec![url]));
    }
    let (mut proxies, mut urls) = (Vec::new(), Vec::new());
    let used = if way == Way::FirstNode { &nodes[..1] } else { nodes };
    for node in used {
        let (proxy, url) = through_proxy(node, backend).await?;
        proxies.extend(proxy);
        urls.push(url);
    }
    Ok((proxies, urls))
}

/// Makes the tables.
pub(crate) async fn prepare(direct: &Tenure, backend: Backend) -> Result<()> {
    let tables = sqlx::raw_sql(sqlx::AssertSqlSafe(backend.tables()));
    match backend {
        Backend::Sqlite => {
            let mut tx = direct.database().begin().await?;
            tables.execute(tx.sqlite()?).await?;
            tx.commit().await?;
        }
        _ if backend.is_postgres() => {
            tables.execute(direct.database().postgres()?).await?;
        }
        _ => {
            tables.execute(direct.database().mysql()?).await?;
        }
    }
    Ok(())
}

/// A network of our own in front of a server, and the URL by which clients come through it.
pub(crate) async fn through_proxy(url: &str, backend: Backend) -> Result<(Option<Proxy>, String)> {
    if !backend.is_server() {
        return Ok((None, url.to_owned()));
    }
    let (_, server, _) = parts(url)?;
    let proxy = Proxy::to(server.to_owned().into()).await?;
    let url = through(url, &proxy)?;
    Ok((Some(proxy), url))
}

/// What is before the host of a URL, the host with its port, and what is behind it.
fn parts(url: &str) -> Result<(&str, &str, &str)> {
    let shape = || format!("no host and port in {url}");
    let (before, rest) = url.split_once('@').ok_or_else(shape)?;
    let (host, behind) = rest.split_once('/').ok_or_else(shape)?;
    Ok((before, host, behind))
}

fn through(url: &str, proxy: &Proxy) -> Result<String> {
    let (before, _, behind) = parts(url)?;
    Ok(format!("{before}@{}/{behind}", proxy.address()))
}

/// The keys of all leases, those whose last lease nobody ended first.
fn keys(evidence: &Evidence) -> impl Iterator<Item = &String> {
    let ran_out = evidence.leases.iter().filter(|lease| lease.how.is_none());
    ran_out.chain(evidence.leases.iter().filter(|lease| lease.how.is_some())).map(|lease| &lease.key)
}

/// Requests keys as a client would that knows nothing of the run. Each has to be granted at once: all leases have expired.
pub(crate) async fn request_all(subject: &impl Subject, keys: impl Iterator<Item = &String>) -> Aftermath {
    let mut aftermath = Aftermath::default();
    let mut known = HashSet::new();
    for key in keys.filter(|key| known.insert(*key)).take(REQUESTED) {
        aftermath.requested += 1;
        if let Err(refusal) = subject.lock(key, "afterwards", &LockId::random()).await {
            aftermath.stuck.push(format!("{key}: {}", refusal.code));
        }
    }
    aftermath
}

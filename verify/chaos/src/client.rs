//! A client: a process of its own, so that it can be stopped and killed without the driver, the server or other clients.

use std::io::Read;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Result;
use crate::backend::Backend;
use crate::browser::Browser;
use crate::history::Recorder;
use crate::random::Random;
use crate::subject::Subject;
use crate::subject::tenure::{Declared, Tenure};
use crate::workload::{Keys, Task, Workload};

/// The orders of a client, from the driver of the run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Orders {
    /// The database
    #[arg(long)]
    pub(crate) backend: Backend,
    /// Where it is
    #[arg(long)]
    pub(crate) url: String,
    /// The folder of the histories
    #[arg(long)]
    pub(crate) histories: PathBuf,
    /// The number of this process in the run
    #[arg(long)]
    pub(crate) number: u64,
    /// The seed of the run
    #[arg(long)]
    pub(crate) seed: u64,
    /// How many tasks work at the same time
    #[arg(long)]
    pub(crate) tasks: u64,
    /// How many connections it opens for transactions
    #[arg(long)]
    pub(crate) connections: u32,
    /// What the tasks do, one after the other
    #[arg(long, value_delimiter = ',')]
    pub(crate) workloads: Vec<Workload>,
    /// Where the application with forms is
    #[arg(long)]
    pub(crate) pages: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) declared: Declared,
    /// A wrong build, instead of tenure
    #[cfg(feature = "planted")]
    #[arg(long)]
    pub(crate) planted: Option<crate::subject::planted::Bug>,
}

/// How long the database may be away when a client starts.
const PATIENCE: Duration = Duration::from_secs(30);

/// Works until standard input ends: when the driver says so, or is gone.
pub(crate) async fn run(orders: Orders) -> Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&stop);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        ended.store(true, Ordering::SeqCst);
    });
    #[cfg(feature = "planted")]
    if let Some(bug) = orders.planted {
        let subject = crate::subject::planted::Planted::connect(&orders.url, bug, orders.number, orders.connections)?;
        return work(orders, subject, stop).await;
    }
    let begun = Instant::now();
    let subject = loop {
        match Tenure::connect(orders.backend, &orders.url, orders.connections, orders.declared).await {
            // Every other process leaves unknown commits to the library, and the others to the audit.
            Ok(subject) if orders.number % 2 == 1 => break subject.resolving(),
            Ok(subject) => break subject,
            Err(_) if stop.load(Ordering::SeqCst) => return Ok(()),
            Err(error) if begun.elapsed() > PATIENCE => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    };
    work(orders, subject, stop).await
}

/// How many of a hundred calls about leases are dropped. The wrong builds undo none of them.
fn dropping(_orders: &Orders) -> u64 {
    #[cfg(feature = "planted")]
    if _orders.planted.is_some() {
        return 0;
    }
    10
}

async fn work<S: Subject>(orders: Orders, subject: S, stop: Arc<AtomicBool>) -> Result<()> {
    let recorder = Recorder::new(&orders.histories, orders.number)?;
    let keys = Keys::default();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..orders.tasks {
        // Two people in each process, so that they often meet themselves in another tab.
        let owner = format!("{}-{}", orders.number, number / orders.workloads.len() as u64 % 2);
        let mut task = Task {
            subject: subject.clone(),
            recorder: recorder.of_task(number),
            random: Random::new(orders.seed, orders.number << 16 | number),
            keys: keys.clone(),
            browser: orders.pages.map(|address| Browser::new(address, &owner)),
            owner,
            resolving: orders.number % 2 == 1,
            dropping: dropping(&orders),
            // A client that pauses in a transaction on SQLite blocks all other writers.
            pausing: if orders.backend.is_server() { 20 } else { 2 },
        };
        let workload = orders.workloads[number as usize % orders.workloads.len()];
        let stop = Arc::clone(&stop);
        tasks.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                task.step(workload).await;
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended?;
    }
    Ok(())
}

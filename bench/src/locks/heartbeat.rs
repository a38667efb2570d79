//! Heartbeats of ten thousand open forms: together through tenure, and one by one by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tenure::LockId;

use super::tenure::Tenure;
use super::verbs::Locks;
use super::{by_hand, witness};
use crate::Outcome;
use crate::backend::{Backend, Databases};
use crate::effort::Effort;
use crate::process::{Server, own_cpu};
use crate::report::{Figure, Report};
use crate::statistics::Spread;
use crate::together::together;

/// Callers that send single heartbeats.
const CALLERS: usize = 16;
/// Different leases that are kept one by one.
const TICKETS: usize = 1_000;
/// The time limit of single heartbeats in a round. The figure is a rate, so it need not cover all leases.
const PATIENCE: Duration = Duration::from_secs(5);

/// The measurements of one side: leases kept per second in each round, and the processor time.
#[derive(Debug, Default)]
struct Side {
    rates: Vec<f64>,
    kept: usize,
    cpu: f64,
}

impl Side {
    /// The share of one core for 100,000 leases with one heartbeat per minute.
    fn core_share(&self) -> f64 {
        self.cpu / self.kept as f64 * 100_000.0 / 60.0
    }
}

/// Measures one database.
pub(crate) async fn measure(
    id: &str,
    backend: Backend,
    effort: &Effort,
    databases: &Databases,
    report: &mut Report,
) -> Outcome<()> {
    let [ours, theirs] = [databases.fresh(backend), databases.fresh(backend)];
    let server = witness::server(backend, &theirs).await?;
    let tenure = Tenure::open(&ours).await?;
    match backend {
        Backend::Sqlite => {
            let by_hand = by_hand::sqlite::ByHand::open(&theirs).await?;
            databases.settle(backend).await?;
            compare(id, effort, tenure, by_hand, server, report).await
        }
        Backend::Postgres => {
            let by_hand = by_hand::postgres::ByHand::open(&theirs).await?;
            compare(id, effort, tenure, by_hand, server, report).await
        }
        Backend::MySql => {
            let by_hand = by_hand::mysql::ByHand::open(&theirs).await?;
            compare(id, effort, tenure, by_hand, server, report).await
        }
    }
}

async fn compare(
    id: &str,
    effort: &Effort,
    tenure: Tenure,
    by_hand: impl Locks<Ticket = String>,
    server: Option<Server>,
    report: &mut Report,
) -> Outcome<()> {
    let leases = tenure.hold("form", effort.leases).await?;
    let ids: Vec<LockId> = leases.iter().map(|lease| lease.id().clone()).collect();
    let by_hand = Arc::new(by_hand);
    let mut tickets = Vec::new();
    for number in 0..TICKETS.min(effort.leases) {
        tickets.push(by_hand.try_lock(&number.to_string(), "kim").await?);
    }
    let tickets = Arc::new(tickets);
    let (mut ours, mut theirs) = (Side::default(), Side::default());
    for round in 0..=effort.rounds {
        if round == 1 {
            // The first round was the warm-up.
            (ours, theirs) = (Side::default(), Side::default());
        }
        beat(&mut ours, server, async {
            for answer in tenure.locks.keep_alive(&ids).await? {
                answer.map_err(|no_lock| format!("a lease did not stay alive: {no_lock:?}"))?;
            }
            Ok(ids.len())
        })
        .await?;
        beat(&mut theirs, server, one_by_one(&by_hand, &tickets, effort.leases)).await?;
    }
    let together = format!("{id}.leases{}", effort.leases);
    let ratio = Spread::of_ratios(&ours.rates, &theirs.rates);
    report.add(Figure::of_rounds(format!("{together}.vs_one_by_one"), ratio, "ratio"))?;
    report.add(Figure::of_rounds(format!("{together}.per_second"), Spread::of(&ours.rates), "1/s"))?;
    let by_hand = Spread::of(&theirs.rates);
    report.add(Figure::of_rounds(format!("{together}.one_by_one_per_second"), by_hand, "1/s"))?;
    let share = "core_share_per_100k_per_minute";
    report.add(Figure::new(format!("{id}.{share}"), ours.core_share(), "cores"))?;
    report.add(Figure::new(format!("{id}.{share}_one_by_one"), theirs.core_share(), "cores"))
}

/// Runs one side once, and adds the cost for this process and the server.
async fn beat(side: &mut Side, server: Option<Server>, work: impl Future<Output = Outcome<usize>>) -> Outcome<()> {
    let cpu = || Outcome::Ok(own_cpu()? + server.map(Server::cpu).transpose()?.unwrap_or_default());
    let (before, start) = (cpu()?, Instant::now());
    let kept = work.await?;
    side.rates.push(kept as f64 / start.elapsed().as_secs_f64());
    side.cpu += cpu()? - before;
    side.kept += kept;
    Ok(())
}

/// One statement per lease, each a transaction of its own.
async fn one_by_one<L: Locks<Ticket = String>>(
    by_hand: &Arc<L>,
    tickets: &Arc<Vec<String>>,
    leases: usize,
) -> Outcome<usize> {
    let (end, next) = (Instant::now() + PATIENCE, Arc::new(AtomicUsize::new(0)));
    let kept = together((0..CALLERS).map(|_| {
        let (by_hand, tickets, next) = (Arc::clone(by_hand), Arc::clone(tickets), Arc::clone(&next));
        async move {
            let mut kept = 0;
            while Instant::now() < end {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= leases {
                    break;
                }
                by_hand.extend(&tickets[number % tickets.len()]).await?;
                kept += 1;
            }
            Outcome::Ok(kept)
        }
    }));
    kept.await?.into_iter().sum()
}

//! Many editors at once: each takes a lock, checks it, extends it and gives it back, again and again, on keys of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::tenure::Tenure;
use super::together::together;
use super::verbs::{Locks, VERBS};
use super::{classic, single};
use crate::Outcome;
use crate::backend::{Backend, Databases};
use crate::effort::Effort;
use crate::report::{Figure, Report};
use crate::rounds::millis;
use crate::statistics::{Spread, median, percentile};

/// Keys of each editor.
const KEYS: usize = 4;

/// What happened in a slice of time, or in several.
#[derive(Debug, Default)]
struct Slice {
    /// Milliseconds per verb.
    latencies: [Vec<f64>; VERBS.len()],
    cycles: usize,
    failed: usize,
}

impl Slice {
    fn add(&mut self, other: Slice) {
        self.cycles += other.cycles;
        self.failed += other.failed;
        self.latencies.iter_mut().zip(other.latencies).for_each(|(all, more)| all.extend(more));
    }
}

/// One side, and what it did so far.
struct Side<L> {
    locks: Arc<L>,
    all: Slice,
    /// Cycles per second of each round.
    rates: Vec<f64>,
}

impl<L: Locks> Side<L> {
    async fn new(locks: L, editors: usize, warm_up: Duration) -> Outcome<Self> {
        let locks = Arc::new(locks);
        slice(&locks, editors, warm_up).await?;
        Ok(Side { locks, all: Slice::default(), rates: Vec::new() })
    }

    async fn round(&mut self, editors: usize, duration: Duration) -> Outcome<()> {
        let start = Instant::now();
        let slice = slice(&self.locks, editors, duration).await?;
        self.rates.push(slice.cycles as f64 / start.elapsed().as_secs_f64());
        self.all.add(slice);
        Ok(())
    }
}

/// All editors, until the time is up and each has finished what it had begun.
async fn slice<L: Locks>(locks: &Arc<L>, editors: usize, duration: Duration) -> Outcome<Slice> {
    let end = Instant::now() + duration;
    let slices = together(editors, |editor| {
        let locks = Arc::clone(locks);
        async move {
            let mut slice = Slice::default();
            for turn in 0.. {
                let key = format!("{editor}-{}", turn % KEYS);
                match cycle(&*locks, &key, &mut slice.latencies).await {
                    Ok(()) => slice.cycles += 1,
                    // For instance a deadlock, or a wait for a connection that was too long. It is counted, and told.
                    Err(_) => slice.failed += 1,
                }
                if Instant::now() >= end {
                    break;
                }
            }
            slice
        }
    });
    let mut all = Slice::default();
    slices.await?.into_iter().for_each(|slice| all.add(slice));
    Ok(all)
}

async fn cycle<L: Locks>(locks: &L, key: &str, latencies: &mut [Vec<f64>; VERBS.len()]) -> Outcome<()> {
    let start = Instant::now();
    let ticket = locks.try_lock(key, "kim").await?;
    let locked = Instant::now();
    locks.check_lock(&ticket).await?;
    let checked = Instant::now();
    locks.extend(&ticket).await?;
    let extended = Instant::now();
    locks.release(&ticket).await?;
    let released = Instant::now();
    let verbs = [locked - start, checked - locked, extended - checked, released - extended];
    latencies.iter_mut().zip(verbs).for_each(|(all, verb)| all.push(millis(verb)));
    Ok(())
}

/// Measures so many editors on one database.
pub(crate) async fn measure(
    id: &str,
    editors: usize,
    backend: Backend,
    effort: &Effort,
    databases: &Databases,
    report: &mut Report,
) -> Outcome<()> {
    let tenure = Tenure::open(&databases.fresh(backend)).await?;
    let [classic, single] = [databases.fresh(backend), databases.fresh(backend)];
    match backend {
        Backend::Sqlite => {
            let (classic, single) =
                (classic::sqlite::Classic::open(&classic).await?, single::sqlite::Single::open(&single).await?);
            compare(id, editors, effort, tenure, classic, single, report).await
        }
        Backend::Postgres => {
            let (classic, single) =
                (classic::postgres::Classic::open(&classic).await?, single::postgres::Single::open(&single).await?);
            compare(id, editors, effort, tenure, classic, single, report).await
        }
        Backend::MySql => {
            let (classic, single) =
                (classic::mysql::Classic::open(&classic).await?, single::mysql::Single::open(&single).await?);
            compare(id, editors, effort, tenure, classic, single, report).await
        }
    }
}

async fn compare(
    id: &str,
    editors: usize,
    effort: &Effort,
    tenure: Tenure,
    classic: impl Locks,
    single: impl Locks,
    report: &mut Report,
) -> Outcome<()> {
    let warm_up = effort.slice / 2;
    let mut tenure = Side::new(tenure, editors, warm_up).await?;
    let mut classic = Side::new(classic, editors, warm_up).await?;
    let mut single = Side::new(single, editors, warm_up).await?;
    for _ in 0..effort.rounds {
        tenure.round(editors, effort.slice).await?;
        classic.round(editors, effort.slice).await?;
        single.round(editors, effort.slice).await?;
    }
    let ratio = |other: &[f64]| Spread::of_ratios(&tenure.rates, other);
    report.add(Figure::of_rounds(format!("{id}.vs_classic"), ratio(&classic.rates), "ratio"))?;
    report.add(Figure::of_rounds(format!("{id}.vs_single"), ratio(&single.rates), "ratio"))?;
    let sides = [
        ("", &tenure.rates, tenure.all.failed),
        ("classic_", &classic.rates, classic.all.failed),
        ("single_", &single.rates, single.all.failed),
    ];
    for (side, rates, failed) in sides {
        let rate = Figure::of_rounds(format!("{id}.{side}cycles_per_second"), Spread::of(rates), "1/s");
        report.add(rate)?;
        report.add(Figure::new(format!("{id}.{side}failed"), failed as f64, "cycles"))?;
    }
    // The columns of latencies are tenure's and the classic algorithm's.
    for (verb, (ours, theirs)) in VERBS.iter().zip(tenure.all.latencies.iter().zip(&classic.all.latencies)) {
        let p50 = Figure::new(format!("{id}.{verb}"), percentile(ours, 50.0), "ms");
        report.add(p50.tenure(ours).other(theirs))?;
    }
    let single = single.all.latencies.map(|verb| median(&verb)).iter().sum();
    report.add(Figure::new(format!("{id}.single_cycle"), single, "ms"))
}

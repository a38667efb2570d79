//! Many concurrent editors: each acquires a lock, checks it, extends it and releases it, repeatedly, on keys of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::tenure::Tenure;
use super::verbs::{Locks, VERBS, now};
use super::{by_hand, classic};
use crate::Outcome;
use crate::backend::{Backend, Databases};
use crate::effort::Effort;
use crate::report::{Figure, Report};
use crate::rounds::millis;
use crate::statistics::{Spread, percentile};
use crate::together::together;

/// How often the sides alternate in a round: often, because a busy disk is slow for a second or so and fast again. But with many editors,
/// the wait for the last of them is long.
fn slices(editors: usize) -> u32 {
    if editors > 100 { 3 } else { 9 }
}

/// Keys of each editor.
const KEYS: usize = 4;

/// The measurements of one or several slices of time.
#[derive(Debug, Default)]
struct Slice {
    /// Milliseconds per verb.
    latencies: [Vec<f64>; VERBS.len()],
    cycles: usize,
    failed: usize,
    /// Seconds that all editors together spent on them.
    busy: f64,
}

impl Slice {
    fn add(&mut self, other: Slice) {
        self.cycles += other.cycles;
        self.failed += other.failed;
        self.busy += other.busy;
        self.latencies.iter_mut().zip(other.latencies).for_each(|(all, more)| all.extend(more));
    }
}

/// One side, and its measurements so far.
struct Side<L> {
    locks: Arc<L>,
    all: Slice,
    /// Cycles in this round, and seconds that editors spent on them.
    round: (usize, f64),
    /// Cycles per second of each round.
    rates: Vec<f64>,
}

impl<L: Locks> Side<L> {
    async fn new(locks: L, editors: usize, warm_up: Duration) -> Outcome<Self> {
        let locks = Arc::new(locks);
        slice(&locks, editors, warm_up).await?;
        Ok(Side { locks, all: Slice::default(), round: (0, 0.0), rates: Vec::new() })
    }

    async fn slice(&mut self, editors: usize, duration: Duration) -> Outcome<()> {
        let slice = slice(&self.locks, editors, duration).await?;
        self.round = (self.round.0 + slice.cycles, self.round.1 + slice.busy);
        self.all.add(slice);
        Ok(())
    }

    fn end_round(&mut self, editors: usize) {
        let (cycles, seconds) = std::mem::take(&mut self.round);
        self.rates.push(cycles as f64 / seconds * editors as f64);
    }
}

/// Runs all editors until the time is over and each has finished its cycle.
async fn slice<L: Locks>(locks: &Arc<L>, editors: usize, duration: Duration) -> Outcome<Slice> {
    let end = Instant::now() + duration;
    let slices = together((0..editors).map(|editor| {
        let locks = Arc::clone(locks);
        async move {
            let mut slice = Slice::default();
            for turn in 0.. {
                let key = format!("{editor}-{}", turn % KEYS);
                let (start, mut paused) = (Instant::now(), Duration::ZERO);
                match cycle(&*locks, &key, &mut slice.latencies, &mut paused).await {
                    Ok(()) => slice.cycles += 1,
                    // For instance a deadlock, or a wait for a connection that was too long. It is counted and reported.
                    Err(_) => slice.failed += 1,
                }
                slice.busy += (start.elapsed() - paused).as_secs_f64();
                if Instant::now() >= end {
                    break;
                }
            }
            slice
        }
    }));
    let mut all = Slice::default();
    slices.await?.into_iter().for_each(|slice| all.add(slice));
    Ok(all)
}

async fn cycle<L: Locks>(
    locks: &L,
    key: &str,
    latencies: &mut [Vec<f64>; VERBS.len()],
    paused: &mut Duration,
) -> Outcome<()> {
    let start = Instant::now();
    let ticket = locks.try_lock(key, "kim").await?;
    let (locked, clock) = (Instant::now(), now());
    locks.check_lock(&ticket).await?;
    let checked = Instant::now();
    // An extension within the millisecond of the acquisition changes nothing, and SQLite and MariaDB write nothing. Real programs do not do
    // that, so it must not count as fast. It sleeps, because a busy wait would take a core from the database.
    while now() == clock {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let extending = Instant::now();
    *paused = extending - checked;
    locks.extend(&ticket).await?;
    let extended = Instant::now();
    locks.release(&ticket).await?;
    let verbs = [locked - start, checked - locked, extended - extending, extended.elapsed()];
    latencies.iter_mut().zip(verbs).for_each(|(all, verb)| all.push(millis(verb)));
    Ok(())
}

/// Measures this number of editors on one database.
pub(crate) async fn measure(
    id: &str,
    editors: usize,
    backend: Backend,
    effort: &Effort,
    databases: &Databases,
    report: &mut Report,
) -> Outcome<()> {
    let tenure = Tenure::open(&databases.fresh(backend)).await?;
    let single = Tenure::open(&databases.fresh(backend)).await?.one_by_one();
    let [classic, by_hand] = [databases.fresh(backend), databases.fresh(backend)];
    match backend {
        Backend::Sqlite => {
            let (classic, by_hand) =
                (classic::sqlite::Classic::open(&classic).await?, by_hand::sqlite::ByHand::open(&by_hand).await?);
            databases.settle(backend).await?;
            compare(id, editors, effort, (tenure, single), classic, by_hand, report).await
        }
        Backend::Postgres => {
            let (classic, by_hand) =
                (classic::postgres::Classic::open(&classic).await?, by_hand::postgres::ByHand::open(&by_hand).await?);
            compare(id, editors, effort, (tenure, single), classic, by_hand, report).await
        }
        Backend::MySql => {
            let (classic, by_hand) =
                (classic::mysql::Classic::open(&classic).await?, by_hand::mysql::ByHand::open(&by_hand).await?);
            compare(id, editors, effort, (tenure, single), classic, by_hand, report).await
        }
    }
}

async fn compare(
    id: &str,
    editors: usize,
    effort: &Effort,
    (tenure, single): (Tenure, Tenure),
    classic: impl Locks,
    by_hand: impl Locks,
    report: &mut Report,
) -> Outcome<()> {
    let warm_up = effort.slice / 2;
    let mut tenure = Side::new(tenure, editors, warm_up).await?;
    let mut classic = Side::new(classic, editors, warm_up).await?;
    let mut single = Side::new(single, editors, warm_up).await?;
    let mut by_hand = Side::new(by_hand, editors, warm_up).await?;
    let slices = slices(editors);
    let duration = effort.slice / slices;
    for _ in 0..effort.rounds {
        for slice in 0..slices {
            // Each is the first in turn, so that the disk's queue of the previous one affects all alike.
            for turn in slice..slice + 4 {
                match turn % 4 {
                    0 => tenure.slice(editors, duration).await?,
                    1 => classic.slice(editors, duration).await?,
                    2 => single.slice(editors, duration).await?,
                    _ => by_hand.slice(editors, duration).await?,
                }
            }
        }
        tenure.end_round(editors);
        classic.end_round(editors);
        single.end_round(editors);
        by_hand.end_round(editors);
    }
    let ratio = |other: &[f64]| Spread::of_ratios(&tenure.rates, other);
    report.add(Figure::of_rounds(format!("{id}.vs_classic"), ratio(&classic.rates), "ratio"))?;
    report.add(Figure::of_rounds(format!("{id}.vs_single"), ratio(&single.rates), "ratio"))?;
    report.add(Figure::of_rounds(format!("{id}.vs_by_hand"), ratio(&by_hand.rates), "ratio"))?;
    let sides = [
        ("", &tenure.rates, tenure.all.failed),
        ("classic_", &classic.rates, classic.all.failed),
        ("single_", &single.rates, single.all.failed),
        ("by_hand_", &by_hand.rates, by_hand.all.failed),
    ];
    for (side, rates, failed) in sides {
        let rate = Figure::of_rounds(format!("{id}.{side}cycles_per_second"), Spread::of(rates), "1/s");
        report.add(rate)?;
        let failures = Figure::new(format!("{id}.{side}failed"), failed as f64, "cycles");
        report.add(if failed == 0 { failures.aside() } else { failures })?;
    }
    // The columns of latencies are tenure's and the classic algorithm's.
    for (verb, (ours, theirs)) in VERBS.iter().zip(tenure.all.latencies.iter().zip(&classic.all.latencies)) {
        let p50 = Figure::new(format!("{id}.{verb}"), percentile(ours, 50.0), "ms");
        report.add(p50.tenure(ours).other(theirs))?;
    }
    Ok(())
}

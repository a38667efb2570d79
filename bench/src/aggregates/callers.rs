//! The operations on an order with one caller or many, on all cores, each on an order of its own: as requests of people run.

use std::time::{Duration, Instant};

use super::{Operation, by_hand, tenure};
use crate::Outcome;
use crate::aggregates::order::ORDERS;
use crate::backend::{Backend, Databases};
use crate::effort::Effort;
use crate::report::{Figure, Report};
use crate::rounds::Contestant;
use crate::statistics::Spread;
use crate::together::together;

/// The figures of each operation. The ratio is one of rates: above 1 tenure does more.
pub(crate) const FIGURES: [&str; 3] = ["rate_vs_by_hand", "per_second", "by_hand_per_second"];

/// How often the sides alternate in a round: often, because a busy disk is slow for a second or so and fast again.
const SLICES: u32 = 5;

/// One caller: its connections are those of the others.
struct Caller {
    side: Box<dyn Contestant>,
    turn: usize,
}

impl Caller {
    /// Works for this long, on one order, and returns the number of turns and the seconds that they took.
    async fn work(&mut self, duration: Duration) -> Outcome<(usize, f64)> {
        let (begun, mut done) = (Instant::now(), 0);
        while begun.elapsed() < duration {
            self.side.once(self.turn).await?;
            self.turn += ORDERS;
            done += 1;
        }
        Ok((done, begun.elapsed().as_secs_f64()))
    }
}

/// The callers of one side, and its turns per second of each round.
struct Callers {
    callers: Vec<Caller>,
    round: (usize, f64),
    rates: Vec<f64>,
}

impl Callers {
    async fn new<S: Contestant + 'static>(number: usize, one: impl Fn() -> S, warm_up: Duration) -> Outcome<Self> {
        let caller = |turn| Caller { side: Box::new(one()), turn };
        let mut all = Callers { callers: (0..number).map(caller).collect(), round: (0, 0.0), rates: Vec::new() };
        all.slice(warm_up).await?;
        all.round = (0, 0.0);
        Ok(all)
    }

    async fn slice(&mut self, duration: Duration) -> Outcome<()> {
        let work = |mut caller: Caller| async move {
            let worked = caller.work(duration).await;
            (caller, worked)
        };
        for (caller, worked) in together(std::mem::take(&mut self.callers).into_iter().map(work)).await? {
            let (done, seconds) = worked?;
            self.round = (self.round.0 + done, self.round.1 + seconds);
            self.callers.push(caller);
        }
        Ok(())
    }

    fn end_round(&mut self) {
        let (done, seconds) = std::mem::take(&mut self.round);
        self.rates.push(done as f64 / seconds * self.callers.len() as f64);
    }
}

/// Measures one operation with so many callers.
pub(crate) async fn measure(
    id: &str,
    (operation, callers): (Operation, usize),
    backend: Backend,
    effort: &Effort,
    databases: &Databases,
    report: &mut Report,
) -> Outcome<()> {
    let tenure = tenure::Side::open(&databases.fresh(backend), backend, operation).await?;
    let by_hand = by_hand::Side::open(&databases.fresh(backend), backend, operation).await?;
    databases.settle(backend).await?;
    let warm_up = effort.slice / 4;
    let mut tenure = Callers::new(callers, || tenure.clone(), warm_up).await?;
    let mut by_hand = Callers::new(callers, || by_hand.clone(), warm_up).await?;
    let duration = effort.slice / (2 * SLICES);
    for _ in 0..effort.rounds {
        for slice in 0..SLICES {
            let sides = if slice % 2 == 0 { [&mut tenure, &mut by_hand] } else { [&mut by_hand, &mut tenure] };
            for side in sides {
                side.slice(duration).await?;
            }
        }
        tenure.end_round();
        by_hand.end_round();
    }
    let ratio = Spread::of_ratios(&tenure.rates, &by_hand.rates);
    report.add(Figure::of_rounds(format!("{id}.rate_vs_by_hand"), ratio, "ratio"))?;
    for (figure, side) in [("per_second", &tenure), ("by_hand_per_second", &by_hand)] {
        report.add(Figure::of_rounds(format!("{id}.{figure}"), Spread::of(&side.rates), "1/s"))?;
    }
    Ok(())
}

//! Two sides alternate: A B B A A B … Disturbances of the machine affect both.

use std::time::Duration;

use async_trait::async_trait;

use crate::Outcome;
use crate::effort::Effort;
use crate::statistics::{Spread, median};

/// One side.
#[async_trait]
pub(crate) trait Contestant: Send {
    /// Runs it once, and returns the duration of the measured part. `turn` counts up, and is the same for both sides.
    async fn once(&mut self, turn: usize) -> Outcome<Duration>;
}

/// A duration in milliseconds.
pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// The durations of both sides, per round, in milliseconds.
#[derive(Debug, Default)]
pub(crate) struct Duel {
    tenure: Vec<Vec<f64>>,
    other: Vec<Vec<f64>>,
}

impl Duel {
    /// tenure's time divided by the other's: of the medians of each round.
    pub(crate) fn ratio(&self) -> Spread {
        self.ratio_of(median)
    }

    /// As [`ratio`](Self::ratio), for another statistic of each round.
    pub(crate) fn ratio_of(&self, what: impl Fn(&[f64]) -> f64) -> Spread {
        let of = |rounds: &[Vec<f64>]| rounds.iter().map(|round| what(round)).collect::<Vec<f64>>();
        Spread::of_ratios(&of(&self.tenure), &of(&self.other))
    }

    /// All durations of tenure.
    pub(crate) fn tenure(&self) -> Vec<f64> {
        self.tenure.concat()
    }

    /// All durations of the other side.
    pub(crate) fn other(&self) -> Vec<f64> {
        self.other.concat()
    }
}

/// The first few turns prepare statements and fill caches; the rest counts.
pub(crate) async fn duel(effort: &Effort, tenure: &mut dyn Contestant, other: &mut dyn Contestant) -> Outcome<Duel> {
    let mut turn = 0;
    for _ in 0..effort.warm_up {
        tenure.once(turn).await?;
        other.once(turn).await?;
        turn += 1;
    }
    let mut duel = Duel::default();
    for _ in 0..effort.rounds {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..effort.samples {
            if turn % 2 == 0 {
                ours.push(millis(tenure.once(turn).await?));
                theirs.push(millis(other.once(turn).await?));
            } else {
                theirs.push(millis(other.once(turn).await?));
                ours.push(millis(tenure.once(turn).await?));
            }
            turn += 1;
        }
        duel.tenure.push(ours);
        duel.other.push(theirs);
    }
    Ok(duel)
}

//! Whether acquiring a lock gets slower in a large table: two databases in turn, one with ten thousand rows, one with
//! millions.

use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::fill::{grow, key};
use super::tenure::Tenure;
use crate::Outcome;
use crate::backend::{Backend, Databases};
use crate::effort::Effort;
use crate::report::{Figure, Report};
use crate::rounds::{Contestant, duel};
use crate::statistics::percentile;

/// Rows of the small table.
const FEW: u64 = 10_000;

/// Acquires locks on keys that are spread over the whole table.
struct Take {
    tenure: Tenure,
    rows: u64,
}

#[async_trait]
impl Contestant for Take {
    async fn once(&mut self, turn: usize) -> Outcome<Duration> {
        // A large prime: no key repeats, and none follows the previous one.
        let key = key(turn as u64 * 1_000_003 % self.rows);
        let start = Instant::now();
        self.tenure.take(&key, "kim").await?;
        Ok(start.elapsed())
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
    // The 99th percentile needs many samples.
    let effort = Effort { samples: effort.samples * 4, ..*effort };
    let mut sides = Vec::new();
    for rows in [effort.rows, FEW] {
        let url = databases.fresh(backend);
        let tenure = Tenure::open(&url).await?;
        grow(backend, &url, &tenure, rows).await?;
        sides.push(Take { tenure, rows });
    }
    let [mut many, mut few] = <[Take; 2]>::try_from(sides).map_err(|_| "there are two sides")?;
    databases.settle(backend).await?;
    let duel = duel(&effort, &mut many, &mut few).await?;
    let (ours, theirs) = (duel.tenure(), duel.other());
    let p50 = Figure::of_rounds(format!("{id}.p50_ratio"), duel.ratio(), "ratio");
    report.add(p50.tenure(&ours).other(&theirs))?;
    let p99 = duel.ratio_of(|round| percentile(round, 99.0));
    report.add(Figure::of_rounds(format!("{id}.p99_ratio"), p99, "ratio"))
}

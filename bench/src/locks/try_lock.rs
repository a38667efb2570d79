//! The cost of acquiring a lock for one caller, compared with the minimum: one prepared upsert.

use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::by_hand::{self, Upsert};
use super::tenure::Tenure;
use super::verbs::Locks;
use crate::Outcome;
use crate::backend::{Backend, Databases};
use crate::effort::Effort;
use crate::report::{Figure, Report};
use crate::rounds::{Contestant, duel};

/// Keys that are acquired in turn. Each was held before.
const KEYS: usize = 16;

struct Take(Tenure);

#[async_trait]
impl Contestant for Take {
    async fn once(&mut self, turn: usize) -> Outcome<Duration> {
        let key = (turn % KEYS).to_string();
        let start = Instant::now();
        let ticket = self.0.try_lock(&key, "kim").await?;
        let took = start.elapsed();
        self.0.release(&ticket).await?;
        Ok(took)
    }
}

struct Bare(Box<dyn Upsert>);

#[async_trait]
impl Contestant for Bare {
    async fn once(&mut self, turn: usize) -> Outcome<Duration> {
        let key = (turn % KEYS).to_string();
        let start = Instant::now();
        self.0.upsert(&key, "kim").await?;
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
    let url = databases.fresh(backend);
    let bare: Box<dyn Upsert> = match backend {
        Backend::Sqlite => Box::new(by_hand::sqlite::ByHand::open(&url).await?),
        Backend::Postgres => Box::new(by_hand::postgres::ByHand::open(&url).await?),
        Backend::MySql => Box::new(by_hand::mysql::ByHand::open(&url).await?),
    };
    let mut tenure = Take(Tenure::open(&databases.fresh(backend)).await?);
    databases.settle(backend).await?;
    let duel = duel(effort, &mut tenure, &mut Bare(bare)).await?;
    let ratio = Figure::of_rounds(format!("{id}.vs_bare_upsert"), duel.ratio(), "ratio");
    report.add(ratio.tenure(&duel.tenure()).other(&duel.other()))
}

//! Aggregates: an order with five lines, through tenure and by hand.

mod by_hand;
mod callers;
mod operation;
mod order;
mod tables;
mod tenure;

pub(crate) use callers::{FIGURES as FIGURES_OF_CALLERS, measure as callers};
pub(crate) use operation::Operation;

use crate::Outcome;
use crate::backend::{Backend, Databases};
use crate::effort::Effort;
use crate::report::{Figure, Report};
use crate::rounds::duel;
use crate::statements;

/// The application's own statement, and as PostgreSQL spells it.
const OWN: &str = "update bench_order set version = version + 1 where no = ?";
const OWN_NUMBERED: &str = "update bench_order set version = version + 1 where no = $1";

/// The figures of each operation.
pub(crate) const FIGURES: [&str; 3] = ["vs_by_hand", "statements", "statements_by_hand"];

/// Measures one operation.
pub(crate) async fn measure(
    id: &str,
    operation: Operation,
    backend: Backend,
    effort: &Effort,
    databases: &Databases,
    report: &mut Report,
) -> Outcome<()> {
    let mut tenure = tenure::Side::open(&databases.fresh(backend), backend, operation).await?;
    let mut by_hand = by_hand::Side::open(&databases.fresh(backend), backend, operation).await?;
    databases.settle(backend).await?;
    let duel = duel(effort, &mut tenure, &mut by_hand).await?;
    let ratio = Figure::of_rounds(format!("{id}.vs_by_hand"), duel.ratio(), "ratio");
    report.add(ratio.tenure(&duel.tenure()).other(&duel.other()))?;
    let (ours, theirs) = (statements::count(&mut tenure).await?, statements::count(&mut by_hand).await?);
    let statements = Figure::new(format!("{id}.statements"), ours, "statements");
    report.add(statements.remark(format!("by hand {theirs}")))?;
    report.add(Figure::new(format!("{id}.statements_by_hand"), theirs, "statements").aside())
}

//! The state of an open form: the facts of its heartbeat, and the verdict.

use std::future::Future;

use tenure_web::beat::Beat;
use tenure_web::problem::Problem;
use tenure_web::verdict::{Facts, Mine, Verdict, decide};

use super::{Refusal, Shop};
use crate::domain::{Member, Note, Order, OrderNo, OrderState, Role};

impl Shop {
    /// A form of an order. One whose lease has lapsed is saved by its version.
    ///
    /// # Errors
    /// Those of [`Beat::facts`]; 404 for an order that this member may not see.
    pub async fn order_form(
        &self,
        actor: &Member,
        no: &OrderNo,
        beat: &Beat<Order>,
    ) -> Result<Verdict<OrderState>, Problem> {
        self.order_of(actor, no).await.map_err(problem)?;
        let frozen = |order: &Order| (!order.is_changeable()).then(|| order.state());
        let facts = self.counted(actor, beat, beat.facts(&self.locks, &self.orders, no, false, frozen)).await?;
        self.verdict(actor, beat, facts).await
    }

    /// The form of the operators' note.
    ///
    /// # Errors
    /// As for [`order_form`](Self::order_form); 403 for customers.
    pub async fn note_form(
        &self,
        actor: &Member,
        no: &OrderNo,
        beat: &Beat<Note>,
    ) -> Result<Verdict<OrderState>, Problem> {
        actor.must_be(Role::Operator).map_err(problem)?;
        self.order_of(actor, no).await.map_err(problem)?;
        let facts = self.counted(actor, beat, beat.facts(&self.locks, &self.notes, no, false, |_| None)).await?;
        self.verdict(actor, beat, facts).await
    }

    /// The facts of a heartbeat. A request for a lock counts against the rate limit.
    async fn counted<A>(
        &self,
        actor: &Member,
        beat: &Beat<A>,
        facts: impl Future<Output = Result<Facts<OrderState>, Problem>>,
    ) -> Result<Facts<OrderState>, Problem> {
        if !beat.takes_a_lock() {
            return facts.await;
        }
        self.counts_lock(actor).map_err(problem)?;
        let facts = facts.await;
        if !matches!(&facts, Ok(Facts { mine: Mine::Alive(_), .. })) {
            self.gate.forgive_lock(actor.id().as_str());
        }
        facts
    }

    async fn verdict<A>(
        &self,
        actor: &Member,
        beat: &Beat<A>,
        facts: Facts<OrderState>,
    ) -> Result<Verdict<OrderState>, Problem> {
        // A comparison of text that was typed on after a save without an answer has the form's id, and is not finished.
        let saved = self.saved_last(actor, beat.form()).await.map_err(problem)?.is_some();
        let mut facts = Facts { saved, ..facts };
        // Nothing is saved under it any more: its request was overtaken by the save, which changed nothing.
        if saved && matches!(facts.mine, Mine::Alive(_) | Mine::Resumed(_)) {
            self.leave(actor, beat.lock_id()).await.map_err(problem)?;
            facts.mine = Mine::None;
        }
        Ok(decide(beat.owner(), facts))
    }
}

pub(crate) fn problem(refusal: Refusal) -> Problem {
    match refusal {
        Refusal::NotAllowed { .. } => Problem::new(403, "forbidden", "This is for others to do"),
        Refusal::Failed(error) => error.into(),
        Refusal::TooManyLocks { .. } => {
            Problem::new(429, "too-many-locks", "Too many locks").detail(refusal.to_string())
        }
        refusal => Problem::new(500, "failed", "Something went wrong").detail(refusal.to_string()),
    }
}

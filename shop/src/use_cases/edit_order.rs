//! Editing a whole order in a form, under an offline lock.

use tenure::{
    Lease, Loaded, LockId, LockKey, Version, VersionToken,
    error::{LeaseError, LockError, TakeOverError},
    lease::LeaseLossReason,
};
use tenure_web::beat::MOVED_HERE;
use tenure_web::leases::was_left_by;

use super::change_order::may_add;
use super::{Doing, Refusal, Shop};
use crate::domain::{LineChange, Member, Order, OrderError, OrderNo, OrderState, ShippingInfo};

/// The data of an open form: the current order, and its lease.
#[derive(Debug, Clone)]
pub struct Editing<A> {
    /// The aggregate, loaded after the lock was acquired: no other person can change it.
    pub aggregate: Loaded<A>,
    /// The lease.
    pub lease: Lease,
}

/// The content of the form for a whole order.
#[derive(Debug, Clone)]
pub struct WholeForm {
    /// The delivery address.
    pub info: ShippingInfo,
    /// The changes of its lines.
    pub lines: Vec<LineChange>,
}

impl Shop {
    /// Acquires the lock and opens the order for editing. The page creates the form's id, so that a repeated
    /// request (a double click, a lost response) gets the same lease.
    pub async fn open_for_edit(&self, actor: &Member, no: &OrderNo, id: LockId) -> Result<Editing<Order>, Refusal> {
        self.counts_lock(actor)?;
        self.open_counted(actor, no, id).await
    }

    async fn open_counted(&self, actor: &Member, no: &OrderNo, id: LockId) -> Result<Editing<Order>, Refusal> {
        let forgiven = |_: &_| self.gate.forgive_lock(actor.id().as_str());
        let order = self.order_of(actor, no).await.inspect_err(forgiven)?;
        must_be_changeable(&order).inspect_err(forgiven)?;
        let key = LockKey::of::<Order>(no);
        let lease = match self.locks.try_lock_as(&key, &actor.owner(), id.clone()).await {
            Err(LockError::AlreadyLocked(own)) if was_left_by(&own, actor.id().as_str()) => {
                self.move_lease(actor, &key, own.generation, id).await?
            }
            lease => lease.map_err(Refusal::from).inspect_err(forgiven)?,
        };
        self.opened(actor, no, lease).await
    }

    /// The data of the form. Loaded after the lock was acquired, because another save may have come before.
    async fn opened(&self, actor: &Member, no: &OrderNo, lease: Lease) -> Result<Editing<Order>, Refusal> {
        let aggregate = self.order_of(actor, no).await?;
        if let Err(refusal) = must_be_changeable(&aggregate) {
            self.leave(actor, lease.id()).await?;
            return Err(refusal);
        }
        Ok(Editing { aggregate, lease })
    }

    /// The member's own lease under another lock id. In one step, so that nobody can acquire the order in between; if the holder
    /// changed since, an ordinary lock request follows.
    async fn move_lease(&self, actor: &Member, key: &LockKey, generation: i64, id: LockId) -> Result<Lease, LockError> {
        match self.locks.take_over(key, generation, &actor.owner(), id.clone(), MOVED_HERE).await {
            Ok(lease) => Ok(lease),
            Err(TakeOverError::Database(error)) => Err(error.into()),
            Err(_) => self.locks.try_lock_as(key, &actor.owner(), id).await,
        }
    }

    /// Moves the member's own editing here, from another of their tabs.
    pub async fn move_here(
        &self,
        actor: &Member,
        no: &OrderNo,
        generation: i64,
        id: LockId,
    ) -> Result<Editing<Order>, Refusal> {
        must_be_changeable(&*self.order_of(actor, no).await?)?;
        let key = LockKey::of::<Order>(no);
        // Before the other lease is ended: a member at the rate limit keeps it.
        self.counts_lock(actor)?;
        let holders = self.locks.holders(&key).await?;
        match holders.into_iter().find(|holder| holder.generation == generation) {
            Some(holder) if holder.owner.id != actor.id().as_str() => {
                self.gate.forgive_lock(actor.id().as_str());
                Err(Refusal::Lock(LockError::AlreadyLocked(Box::new(holder))))
            }
            Some(_) => {
                let lease = self.move_lease(actor, &key, generation, id).await?;
                self.opened(actor, no, lease).await
            }
            None => self.open_counted(actor, no, id).await,
        }
    }

    /// Saves the form and releases its lease, in one transaction. A lease that has lapsed is not needed if nobody else holds the lock:
    /// then the version decides. A form whose lease was broken or taken over is refused.
    pub async fn save_edit(
        &self,
        actor: &Member,
        no: &OrderNo,
        seen: VersionToken<Order>,
        id: &LockId,
        form: &WholeForm,
        doing: &Doing,
    ) -> Result<Version, Refusal> {
        may_add(actor, &form.lines)?;
        let update = self.change_by_form(actor, no, seen, id, "edit order").await?;
        let command = |order: &mut Order| {
            order.change_shipping_info(form.info.clone())?;
            order.change_lines(form.lines.clone())
        };
        Ok(self.run(actor, update, doing, command).await?)
    }

    /// Leaves without saving, and returns whether the form had a lease. One that is already gone, or was never acquired, is fine.
    pub async fn leave(&self, actor: &Member, id: &LockId) -> Result<bool, Refusal> {
        match self.locks.acting_for(&actor.owner()).release_lock(id).await {
            Ok(()) => Ok(true),
            Err(LeaseError::NoLock(lost)) => Ok(lost.why != LeaseLossReason::Unknown),
            Err(error) => Err(error.into()),
        }
    }
}

fn must_be_changeable(order: &Order) -> Result<(), Refusal> {
    match order.state() {
        state if state.is_changeable() => Ok(()),
        OrderState::Cancelled => Err(Refusal::Order(OrderError::AlreadyCancelled)),
        state => Err(Refusal::Order(OrderError::AlreadyShipped { state })),
    }
}

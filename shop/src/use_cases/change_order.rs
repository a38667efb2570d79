//! Changing an order without an offline lock: the version that the person saw decides.
//!
//! Each of these also checks the offline lock, inside the saving transaction: a command must not change an
//! order while another person edits it.

use tenure::{
    LockId, LockKey, Version, VersionToken,
    error::LeaseError,
    unit_of_work::{Retry, Update},
};
use tenure_web::leases::was_left_by;

use super::stock::SHIPPING_DEADLINE;
use super::{Doing, Refusal, Shop};
use crate::domain::{LineChange, Member, Order, OrderNo, Role, ShippingInfo};

impl Shop {
    /// The customer, or an operator for them, changes the delivery address, in a form that may have a lease.
    pub async fn change_shipping(
        &self,
        actor: &Member,
        no: &OrderNo,
        seen: VersionToken<Order>,
        id: &LockId,
        info: ShippingInfo,
        doing: &Doing,
    ) -> Result<Version, Refusal> {
        let update = self.change_by_form(actor, no, seen, id, "change shipping info").await?;
        Ok(self.run(actor, update, doing, |order| order.change_shipping_info(info.clone())).await?)
    }

    /// An operator starts shipping the order as they saw it. A lease of an editor blocks this, unless the
    /// operator has seen the lease and proceeds `anyway`, naming its generation: then the version will refuse the editor's
    /// save. The pieces leave the stock in the same transaction.
    pub async fn start_shipping(
        &self,
        actor: &Member,
        no: &OrderNo,
        seen: VersionToken<Order>,
        anyway: Option<i64>,
        doing: &Doing,
    ) -> Result<Version, Refusal> {
        actor.must_be(Role::Operator)?;
        let update = self.change(actor, no, seen, "start shipping").await?.within(SHIPPING_DEADLINE);
        let update =
            unless_edited(update, anyway).also(|mut tx, order| async move { self.take_stock(&mut tx, &order).await });
        let started = self.run(actor, update, doing, Order::start_shipping).await?;
        if let Doing::Ask = doing {
            // A dry run runs no steps.
            self.check_stock(&*self.order_of(actor, no).await?).await?;
        }
        Ok(started)
    }

    /// The customer, or an operator for them, cancels the order. A lease of an editor blocks this as it blocks
    /// [`start_shipping`](Self::start_shipping).
    pub async fn cancel(
        &self,
        actor: &Member,
        no: &OrderNo,
        seen: VersionToken<Order>,
        anyway: Option<i64>,
        doing: &Doing,
    ) -> Result<Version, Refusal> {
        let update = unless_edited(self.change(actor, no, seen, "cancel").await?, anyway);
        Ok(self.run(actor, update, doing, Order::cancel).await?)
    }

    /// An update of an order that this member may change, on the version that they saw.
    pub(super) async fn change(
        &self,
        actor: &Member,
        no: &OrderNo,
        seen: VersionToken<Order>,
        command: &str,
    ) -> Result<Update<'_, Order>, Refusal> {
        // The owner of an order never changes, so this may be read before the transaction.
        self.order_of(actor, no).await?;
        Ok(self.orders.update(no).by(&actor.owner()).command(command).expecting(seen))
    }

    /// The same by a form, under its lease if it has one, beside the member's own lease of a page that was left a moment ago.
    pub(super) async fn change_by_form(
        &self,
        actor: &Member,
        no: &OrderNo,
        seen: VersionToken<Order>,
        id: &LockId,
        command: &str,
    ) -> Result<Update<'_, Order>, Refusal> {
        let (update, me) = (self.change(actor, no, seen, command).await?, actor.owner());
        let holders = self.locks.holders(&LockKey::of::<Order>(no)).await?;
        // Not if it is this form's own, nor if this form's was ended by somebody.
        if let Some(left) = holders.iter().find(|holder| was_left_by(holder, &me.id))
            && let Err(LeaseError::NoLock(lost)) = self.locks.acting_for(&me).check_lock(id).await
            && lost.why.permits_a_save_by_version()
        {
            return Ok(update.unless_locked_except(left.generation));
        }
        Ok(update.from_form(seen, Some(id)))
    }
}

/// Refuses while somebody edits the order, except under the lease that the actor has seen.
fn unless_edited(update: Update<'_, Order>, anyway: Option<i64>) -> Update<'_, Order> {
    match anyway {
        Some(generation) => update.unless_locked_except(generation),
        None => update.unless_locked(),
    }
}

/// The shop's commands only change the given aggregate. So if the database rolls a transaction back
/// completely, the same command can run again unnoticed; the version that the person saw is
/// compared each time.
pub(super) fn as_often_as_is_safe() -> Retry {
    Retry::transient(3)
}

/// A new line contains its price, so only operators may add one; a customer could set the price.
pub(super) fn may_add(actor: &Member, lines: &[LineChange]) -> Result<(), Refusal> {
    match lines.iter().any(|line| matches!(line, LineChange::Add(_))) {
        true => actor.must_be(Role::Operator),
        false => Ok(()),
    }
}

//! Changing an order without an offline lock: the version that the person saw decides.
//!
//! Each of these also looks at the offline lock, inside the saving transaction: a command is no reason to change an
//! order under the hands of somebody who is editing it.

use tenure::{
    LockId, Version, VersionToken,
    unit_of_work::{Retry, Update},
};

use super::{Doing, Refusal, Shop};
use crate::domain::{LineChange, Member, Order, OrderNo, Role, ShippingInfo};

impl Shop {
    /// The customer, or an operator for them, changes where the order goes: under a lease, and frees it, or without one.
    pub async fn change_shipping(
        &self,
        actor: &Member,
        no: &OrderNo,
        seen: VersionToken<Order>,
        lease: Option<&LockId>,
        info: ShippingInfo,
        doing: &Doing,
    ) -> Result<Version, Refusal> {
        let update = self.change(actor, no, seen, "change shipping info").await?;
        let update = match lease {
            Some(id) => update.releasing(id),
            None => update.unless_locked(),
        };
        Ok(self.run(actor, update, doing, |order| order.change_shipping_info(info.clone())).await?)
    }

    /// An operator starts shipping the order as they saw it. Somebody who is editing it is in the way, unless the
    /// operator has seen that and goes on `anyway`, naming the generation of the lease that they saw: then the editor's
    /// save is going to be refused by the version.
    pub async fn start_shipping(
        &self,
        actor: &Member,
        no: &OrderNo,
        seen: VersionToken<Order>,
        anyway: Option<i64>,
        doing: &Doing,
    ) -> Result<Version, Refusal> {
        actor.must_be(Role::Operator)?;
        let update = self.change(actor, no, seen, "start shipping").await?;
        let update = match anyway {
            Some(generation) => update.unless_locked_except(generation),
            None => update.unless_locked(),
        };
        Ok(self.run(actor, update, doing, Order::start_shipping).await?)
    }

    /// The customer, or an operator for them, cancels the order.
    pub async fn cancel(
        &self,
        actor: &Member,
        no: &OrderNo,
        seen: VersionToken<Order>,
        doing: &Doing,
    ) -> Result<Version, Refusal> {
        let update = self.change(actor, no, seen, "cancel").await?.unless_locked();
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
        // Whose order it is never changes, so this may be read before the transaction.
        self.order_of(actor, no).await?;
        Ok(self.orders.update(no).by(&actor.owner()).command(command).expecting(seen))
    }
}

/// All that the shop's commands do is change the aggregate they are given. So where the database gives up a transaction
/// without keeping anything of it, the same command is run again, and nobody notices; the version that the person saw is
/// compared each time.
pub(super) fn as_often_as_is_safe() -> Retry {
    Retry::transient(3)
}

/// A new line names its price, so only operators add one; a customer would name their own.
pub(super) fn may_add(actor: &Member, lines: &[LineChange]) -> Result<(), Refusal> {
    match lines.iter().any(|line| matches!(line, LineChange::Add(_))) {
        true => actor.must_be(Role::Operator),
        false => Ok(()),
    }
}

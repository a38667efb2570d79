//! Saving a form on top of saves of others since it was opened, if the two changed different fields.

use std::collections::BTreeSet;

use tenure::{
    LockId, Version, VersionConflict, VersionToken,
    version::{Change, Merge},
};

use super::change_order::{as_often_as_is_safe, may_add};
use super::{Doing, Refusal, Shop};
use crate::domain::{LineChange, Member, Order, OrderError, OrderNo, ShippingInfo};

/// The content of a form, and which parts the person has changed. The rest is the opened state, perhaps stale: a
/// command that sets it again would undo the changes of others.
#[derive(Debug, Clone)]
pub struct Changes {
    /// The delivery address in the form.
    pub info: ShippingInfo,
    /// The lines in the form, if it has them.
    pub lines: Option<Vec<LineChange>>,
    /// The changed parts of `info`, by their names in [`ShippingInfo`].
    pub changed: BTreeSet<String>,
    /// The numbers of changed or removed lines. New ones always count.
    pub changed_lines: BTreeSet<u32>,
}

/// A form that was saved together with the saves of others.
#[derive(Debug, Clone)]
pub struct SavedBoth {
    /// The version that it created.
    pub version: Version,
    /// The others' changes, newest first; empty if there were none since the form was opened.
    pub with: Vec<Change>,
}

impl Shop {
    /// Saves the person's changes on top of all saves of others since version `seen`. If another person has changed
    /// the same field, it is a conflict. A lease of the form is released; one that has lapsed is not needed.
    pub async fn save_both(
        &self,
        actor: &Member,
        no: &OrderNo,
        seen: VersionToken<Order>,
        id: &LockId,
        changes: &Changes,
        doing: &Doing,
    ) -> Result<SavedBoth, Refusal> {
        may_add(actor, changes.lines.as_deref().unwrap_or_default())?;
        let command = if changes.lines.is_some() { "edit order" } else { "change shipping info" };
        let update = self.change_by_form(actor, no, seen, id, command).await?;
        let Doing::Save(once) = doing else {
            let version = update.dry_run(|order| changes.apply(order)).await?.version();
            return Ok(SavedBoth { version, with: Vec::new() });
        };
        let update = self.noting(actor, update, once);
        let update = update.merging(Merge::Disjoint).retrying(as_often_as_is_safe());
        let saved = update.run(|order| changes.apply(order)).await?;
        let with = match &saved.merged {
            Some(conflict) => self.changes_met(no, conflict, saved.loaded.version()).await,
            None => Vec::new(),
        };
        Ok(SavedBoth { version: saved.loaded.version(), with })
    }

    /// The changes of others. The save has succeeded by now: a failed read must not report it as failed.
    async fn changes_met(&self, no: &OrderNo, conflict: &VersionConflict, saved: Version) -> Vec<Change> {
        let limit = u32::try_from(saved.number() - conflict.expected.number()).unwrap_or(u32::MAX);
        let is_met = |change: &Change| change.version > conflict.expected && change.version < saved;
        let changes = self.orders.changes(no, limit).await.unwrap_or_default();
        let with: Vec<Change> = changes.into_iter().filter(is_met).collect();
        if with.is_empty() { conflict.changed.clone().into_iter().collect() } else { with }
    }
}

impl Changes {
    /// Sets only the person's changes; everything else stays as in the order.
    fn apply(&self, order: &mut Order) -> Result<(), OrderError> {
        order.change_shipping_info(order.shipping().with(&self.info, |part| self.changed.contains(part)))?;
        match &self.lines {
            Some(lines) => order.change_lines(self.lines_of(order, lines)),
            None => Ok(()),
        }
    }

    fn lines_of(&self, order: &Order, typed: &[LineChange]) -> Vec<LineChange> {
        let own = order.lines().iter().filter(|line| !self.changed_lines.contains(&line.line_no()));
        let own = own.map(|line| LineChange::Keep { line_no: line.line_no(), quantity: line.quantity() });
        let is_mine = |change: &&LineChange| match change {
            LineChange::Keep { line_no, .. } => self.changed_lines.contains(line_no),
            LineChange::Add(_) => true,
        };
        own.chain(typed.iter().filter(is_mine).cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::domain::{Address, MemberId, Money, OrderLine, Receiver};

    fn info(phone: &str, line1: &str, message: &str) -> ShippingInfo {
        let receiver = Receiver { name: "김민지".into(), phone: phone.into() };
        let address = Address { postal_code: "06236".into(), line1: line1.into(), line2: String::new() };
        ShippingInfo::new(receiver, address, message).expect("valid")
    }

    fn line(line_no: u32, quantity: u32) -> OrderLine {
        OrderLine::new(line_no, "차", Money::won(100), quantity).expect("a line")
    }

    /// The order as the others have left it: another phone number, line 1 changed, line 3 added.
    fn theirs() -> Order {
        let (no, minji) = (OrderNo::new("7").expect("a number"), MemberId::new("minji").expect("an id"));
        let (info, lines) = (info("010-2222-2222", "테헤란로 1", ""), vec![line(1, 9), line(2, 1), line(3, 3)]);
        Order::place(no, minji, "김민지", info, lines, Timestamp::UNIX_EPOCH).expect("an order")
    }

    fn quantities(order: &Order) -> Vec<(u32, u32)> {
        order.lines().iter().map(|line| (line.line_no(), line.quantity())).collect()
    }

    /// A form that was opened before that: it has the old phone number, the old line 1, and no line 3.
    fn form(lines: Vec<LineChange>, changed_lines: &[u32]) -> Changes {
        Changes {
            info: info("010-1111-1111", "세종대로 9", "문 앞에"),
            lines: Some(lines),
            changed: ["address.line1", "message"].map(String::from).into(),
            changed_lines: changed_lines.iter().copied().collect(),
        }
    }

    #[test]
    fn untouched_fields_of_the_form_undo_nothing() {
        let mut order = theirs();
        let keep = |line_no, quantity| LineChange::Keep { line_no, quantity };
        let lines = vec![keep(1, 1), keep(2, 5), LineChange::Add(line(4, 4))];
        assert_eq!(form(lines, &[2]).apply(&mut order), Ok(()));
        assert_eq!(order.shipping(), &info("010-2222-2222", "세종대로 9", "문 앞에"));
        assert_eq!(quantities(&order), [(1, 9), (2, 5), (3, 3), (4, 4)]);
        assert_eq!(order.total(), Money::won(2_100));
    }

    #[test]
    fn save_both_removes_lines_and_reports_missing_ones() {
        let mut order = theirs();
        let keep = |line_no, quantity| LineChange::Keep { line_no, quantity };
        assert_eq!(form(vec![keep(1, 1)], &[2]).apply(&mut order), Ok(()));
        assert_eq!(quantities(&order), [(1, 9), (3, 3)]);
        let gone = form(vec![keep(2, 5)], &[2]).apply(&mut order);
        assert_eq!(gone, Err(OrderError::NoSuchLine { line_no: 2 }));
    }
}

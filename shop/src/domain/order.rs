//! Orders.

use std::collections::BTreeMap;

use jiff::Timestamp;
use tenure::Aggregate;

use super::text::{Invalid, NAME_MAX, check_line};
use super::{MemberId, Money, OrderError, OrderLine, OrderNo, OrderState, ShippingInfo};

/// An order of a member: its lines, and the delivery address.
///
/// Invariants: there is at least one line, line numbers are unique and ascending, the total is the sum of the
/// lines, and nothing changes after the parcel was shipped.
#[derive(Debug, Clone, PartialEq, Eq, Aggregate)]
#[aggregate(table = "orders", revisions = 50)]
pub struct Order {
    #[aggregate(id)]
    no: OrderNo,
    orderer: MemberId,
    // The name at the time of the order: the packer needs no lookup of the member.
    orderer_name: String,
    shipping: ShippingInfo,
    #[aggregate(children, table = "order_line", owner = "order_no")]
    lines: Vec<OrderLine>,
    // Stored although it is computed from the lines: lists show it without reading them.
    total: Money,
    state: OrderState,
    placed_at: Timestamp,
}

/// One change of the lines of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineChange {
    /// The line stays, with this quantity. A line that no change keeps is removed.
    Keep {
        /// The line.
        line_no: u32,
        /// The new quantity.
        quantity: u32,
    },
    /// A new line, with an unused number. It must not reuse the number of a line that the same
    /// change removes, because a comparison of the two orders would confuse the products.
    Add(OrderLine),
}

impl Order {
    /// A new order, waiting for payment. Its time has microsecond precision, as in the tables, so that the order is
    /// equal after it is read back.
    ///
    /// # Errors
    /// [`OrderError::NoLines`], [`OrderError::DuplicateLine`], [`OrderError::TotalTooLarge`];
    /// [`OrderError::Invalid`] about the orderer's name.
    pub fn place(
        no: OrderNo,
        orderer: MemberId,
        orderer_name: impl Into<String>,
        shipping: ShippingInfo,
        lines: Vec<OrderLine>,
        now: Timestamp,
    ) -> Result<Order, OrderError> {
        let orderer_name = orderer_name.into();
        check_line(&orderer_name, NAME_MAX).map_err(|problem| Invalid { field: "orderer_name", problem })?;
        let (lines, total) = settled(lines)?;
        let placed_at = Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now);
        let state = OrderState::PaymentWaiting;
        Ok(Order { no, orderer, orderer_name, shipping, lines, total, state, placed_at })
    }

    /// Changes the delivery address or the receiver.
    ///
    /// # Errors
    /// [`OrderError::AlreadyShipped`], [`OrderError::AlreadyCancelled`].
    pub fn change_shipping_info(&mut self, shipping: ShippingInfo) -> Result<(), OrderError> {
        self.state.check_changeable()?;
        self.shipping = shipping;
        Ok(())
    }

    /// Replaces the lines by the kept and the added ones, all or nothing.
    ///
    /// # Errors
    /// [`OrderError::AlreadyShipped`], [`OrderError::AlreadyCancelled`]; [`OrderError::NoSuchLine`] for a kept line that
    /// does not exist; [`OrderError::DuplicateLine`], [`OrderError::NoLines`], [`OrderError::QuantityOutOfRange`],
    /// [`OrderError::TotalTooLarge`].
    pub fn change_lines(&mut self, changes: Vec<LineChange>) -> Result<(), OrderError> {
        self.state.check_changeable()?;
        let lines = changes.into_iter().map(|change| self.changed(change)).collect::<Result<_, _>>()?;
        (self.lines, self.total) = settled(lines)?;
        Ok(())
    }

    fn changed(&self, change: LineChange) -> Result<OrderLine, OrderError> {
        let line = |line_no| self.lines.iter().find(|line| line.line_no() == line_no);
        match change {
            LineChange::Keep { line_no, quantity } => {
                line(line_no).ok_or(OrderError::NoSuchLine { line_no })?.clone().with_quantity(quantity)
            }
            LineChange::Add(new) => match line(new.line_no()) {
                Some(_) => Err(OrderError::DuplicateLine { line_no: new.line_no() }),
                None => Ok(new),
            },
        }
    }

    /// Records the payment; the goods can be packed.
    ///
    /// # Errors
    /// [`OrderError::AlreadyCancelled`]; [`OrderError::OutOfTurn`] if it was paid before.
    pub fn confirm_payment(&mut self) -> Result<(), OrderError> {
        self.advance(OrderState::PaymentWaiting, OrderState::Preparing)
    }

    /// How many pieces of each product all lines need together.
    pub fn demand(&self) -> BTreeMap<&str, u32> {
        let mut demand = BTreeMap::new();
        for line in &self.lines {
            let pieces: &mut u32 = demand.entry(line.product()).or_default();
            *pieces = pieces.saturating_add(line.quantity());
        }
        demand
    }

    /// Hands the parcel to the carrier. From now on the order cannot be changed.
    ///
    /// # Errors
    /// [`OrderError::NotPaid`], [`OrderError::AlreadyShipped`], [`OrderError::AlreadyCancelled`].
    pub fn start_shipping(&mut self) -> Result<(), OrderError> {
        self.state.check_changeable()?;
        if self.state == OrderState::PaymentWaiting {
            return Err(OrderError::NotPaid);
        }
        self.state = OrderState::Shipped;
        Ok(())
    }

    /// The courier is on the way to the door.
    ///
    /// # Errors
    /// [`OrderError::OutOfTurn`] unless it is shipped; [`OrderError::AlreadyCancelled`].
    pub fn start_delivery(&mut self) -> Result<(), OrderError> {
        self.advance(OrderState::Shipped, OrderState::InDelivery)
    }

    /// The parcel is at the receiver's.
    ///
    /// # Errors
    /// [`OrderError::OutOfTurn`] unless it is in delivery; [`OrderError::AlreadyCancelled`].
    pub fn finish_delivery(&mut self) -> Result<(), OrderError> {
        self.advance(OrderState::InDelivery, OrderState::Delivered)
    }

    fn advance(&mut self, needed: OrderState, next: OrderState) -> Result<(), OrderError> {
        match self.state {
            OrderState::Cancelled => return Err(OrderError::AlreadyCancelled),
            state if state != needed => return Err(OrderError::OutOfTurn { needed, state }),
            _ => self.state = next,
        }
        Ok(())
    }

    /// Cancels the order.
    ///
    /// # Errors
    /// [`OrderError::AlreadyShipped`], [`OrderError::AlreadyCancelled`].
    pub fn cancel(&mut self) -> Result<(), OrderError> {
        self.state.check_changeable()?;
        self.state = OrderState::Cancelled;
        Ok(())
    }

    /// Whether address and lines may still change.
    pub fn is_changeable(&self) -> bool {
        self.state.is_changeable()
    }

    /// Why address and lines may not change any more, if so.
    pub fn frozen(&self) -> Option<OrderError> {
        self.state.check_changeable().err()
    }

    /// Its number.
    pub fn no(&self) -> &OrderNo {
        &self.no
    }

    /// The member who placed it.
    pub fn orderer(&self) -> &MemberId {
        &self.orderer
    }

    /// The name of the orderer at the time of the order.
    pub fn orderer_name(&self) -> &str {
        &self.orderer_name
    }

    /// The delivery address.
    pub fn shipping(&self) -> &ShippingInfo {
        &self.shipping
    }

    /// The lines, by line number.
    pub fn lines(&self) -> &[OrderLine] {
        &self.lines
    }

    /// The sum of all lines.
    pub fn total(&self) -> Money {
        self.total
    }

    /// Its state.
    pub fn state(&self) -> OrderState {
        self.state
    }

    /// When it was placed.
    pub fn placed_at(&self) -> Timestamp {
        self.placed_at
    }
}

/// Validates and sorts lines, and sums them. Sorted, because they are read back in that order: the
/// same lines in another order are not a change.
fn settled(mut lines: Vec<OrderLine>) -> Result<(Vec<OrderLine>, Money), OrderError> {
    if lines.is_empty() {
        return Err(OrderError::NoLines);
    }
    lines.sort_by_key(OrderLine::line_no);
    if let Some(twice) = lines.windows(2).find(|pair| pair[0].line_no() == pair[1].line_no()) {
        return Err(OrderError::DuplicateLine { line_no: twice[0].line_no() });
    }
    let total = lines.iter().try_fold(Money::ZERO, |total, line| total.plus(line.price().times(line.quantity())?))?;
    Ok((lines, total))
}

#[cfg(test)]
mod tests;

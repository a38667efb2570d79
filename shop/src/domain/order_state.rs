//! The states of an order.

use std::fmt;

use tenure::ValueObject;

use super::OrderError;

/// The state of an order, in chronological order. An order can be cancelled until it is shipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueObject)]
pub enum OrderState {
    /// Placed, not paid.
    PaymentWaiting,
    /// Paid; the goods are being packed.
    Preparing,
    /// Handed to the carrier.
    Shipped,
    /// On its last way, to the door.
    InDelivery,
    /// At the receiver's.
    Delivered,
    /// Given up before it was shipped.
    Cancelled,
}

impl OrderState {
    /// Every state, in the order in which it happens: for lists to choose from.
    pub const ALL: [OrderState; 6] = [
        OrderState::PaymentWaiting,
        OrderState::Preparing,
        OrderState::Shipped,
        OrderState::InDelivery,
        OrderState::Delivered,
        OrderState::Cancelled,
    ];

    /// Its code in the table and in addresses; never shown to people.
    pub fn code(self) -> &'static str {
        match self {
            OrderState::PaymentWaiting => "PaymentWaiting",
            OrderState::Preparing => "Preparing",
            OrderState::Shipped => "Shipped",
            OrderState::InDelivery => "InDelivery",
            OrderState::Delivered => "Delivered",
            OrderState::Cancelled => "Cancelled",
        }
    }

    /// The state with this [`code`](Self::code).
    pub fn from_code(code: &str) -> Option<OrderState> {
        Self::ALL.into_iter().find(|state| state.code() == code)
    }

    /// Whether address and lines may still change: until the parcel is shipped.
    pub fn is_changeable(self) -> bool {
        self.check_changeable().is_ok()
    }

    /// As [`is_changeable`](Self::is_changeable), with the reason if not.
    pub(super) fn check_changeable(self) -> Result<(), OrderError> {
        match self {
            OrderState::PaymentWaiting | OrderState::Preparing => Ok(()),
            OrderState::Shipped | OrderState::InDelivery | OrderState::Delivered => {
                Err(OrderError::AlreadyShipped { state: self })
            }
            OrderState::Cancelled => Err(OrderError::AlreadyCancelled),
        }
    }
}

/// In English, to complete "the order is …".
impl fmt::Display for OrderState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            OrderState::PaymentWaiting => "waiting for payment",
            OrderState::Preparing => "being prepared",
            OrderState::Shipped => "shipped",
            OrderState::InDelivery => "in delivery",
            OrderState::Delivered => "delivered",
            OrderState::Cancelled => "cancelled",
        })
    }
}

#[cfg(test)]
mod tests {
    use tenure::aggregate::value::Value;

    use super::*;

    #[test]
    fn an_order_is_changeable_until_it_is_shipped() {
        let changeable = OrderState::ALL.into_iter().filter(|state| state.is_changeable());
        assert_eq!(changeable.collect::<Vec<_>>(), [OrderState::PaymentWaiting, OrderState::Preparing]);
    }

    #[test]
    fn a_state_is_stored_under_its_code_and_found_by_it() {
        for state in OrderState::ALL {
            let mut row = Vec::new();
            state.write(&mut row);
            assert_eq!(row, [Value::Text(state.code().to_owned())]);
            assert_eq!(OrderState::from_code(state.code()), Some(state));
        }
        assert_eq!(OrderState::from_code("preparing"), None);
    }
}

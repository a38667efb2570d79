//! The reason that an order refuses a command.

use super::money::AmountTooLarge;
use super::order_line::OrderLine;
use super::order_state::OrderState;
use super::text::Invalid;

/// The reason that an order refuses a command. A refused order is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// The parcel was shipped; the order cannot change any more.
    #[error(
        "the order is already {state}, so it cannot be changed, cancelled or shipped again; \
         ask the carrier to redirect the parcel, or have it returned"
    )]
    AlreadyShipped {
        /// Its state.
        state: OrderState,
    },
    /// The order was cancelled.
    #[error("the order was cancelled, so nothing about it can change; place a new order")]
    AlreadyCancelled,
    /// The order must be paid before it is shipped.
    #[error("the order is not paid yet, so it cannot be shipped; confirm the payment first")]
    NotPaid,
    /// A step that does not fit the state of the order.
    #[error("the order is {state}, and this step is for an order that is {needed}; load the order again")]
    OutOfTurn {
        /// The state that the step starts from.
        needed: OrderState,
        /// The state that the order is in.
        state: OrderState,
    },
    /// The order would have no lines.
    #[error("the order would have no lines left; keep at least one, or cancel the order")]
    NoLines,
    /// A line number that is already used.
    #[error("line {line_no} is in the order already; give the new line a number of its own")]
    DuplicateLine {
        /// The number.
        line_no: u32,
    },
    /// A line that does not exist, or no longer exists, in the order.
    #[error("line {line_no} is not in the order; load the order again to see the lines it has")]
    NoSuchLine {
        /// The number.
        line_no: u32,
    },
    /// An invalid quantity: zero, or more than one order may have.
    #[error("{quantity} pieces on line {line_no} are not possible; order 1 to {max}", max = OrderLine::MAX_QUANTITY)]
    QuantityOutOfRange {
        /// The line.
        line_no: u32,
        /// The requested quantity.
        quantity: u32,
    },
    /// A total that a 64-bit number cannot store.
    #[error("the total of the order is too large to be kept; lower a quantity, or split the order")]
    TotalTooLarge,
    /// There are fewer pieces of a product than the order needs.
    #[error("{needed} pieces of {product} are needed and {left} are in stock; receive more, or change the order")]
    OutOfStock {
        /// The product's name.
        product: String,
        /// How many pieces are in stock; 0 for a product that was never received.
        left: u32,
        /// How many pieces all lines of the order need.
        needed: u32,
    },
    /// An invalid text or price.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

impl From<AmountTooLarge> for OrderError {
    fn from(AmountTooLarge: AmountTooLarge) -> OrderError {
        OrderError::TotalTooLarge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_names_the_cause_and_the_next_step() {
        assert_eq!(
            OrderError::AlreadyShipped { state: OrderState::InDelivery }.to_string(),
            "the order is already in delivery, so it cannot be changed, cancelled or shipped again; \
             ask the carrier to redirect the parcel, or have it returned"
        );
        assert_eq!(
            OrderError::QuantityOutOfRange { line_no: 2, quantity: 1000 }.to_string(),
            "1000 pieces on line 2 are not possible; order 1 to 999"
        );
        assert_eq!(
            OrderError::OutOfTurn { needed: OrderState::Shipped, state: OrderState::Preparing }.to_string(),
            "the order is being prepared, and this step is for an order that is shipped; load the order again"
        );
    }
}

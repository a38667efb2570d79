//! Icons. They are never alone: a word next to them says the same.

use std::borrow::Borrow;
use std::fmt;

use askama::filters::HtmlSafe;

use crate::domain::OrderState;

/// A drawing of `assets/icons.svg`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Icon(pub(crate) &'static str);

impl Icon {
    /// The icon of a state.
    pub(crate) fn of(state: impl Borrow<OrderState>) -> Icon {
        Icon(match state.borrow() {
            OrderState::PaymentWaiting => "card",
            OrderState::Preparing => "box",
            OrderState::Shipped => "out",
            OrderState::InDelivery => "truck",
            OrderState::Delivered => "check",
            OrderState::Cancelled => "cross",
        })
    }
}

impl fmt::Display for Icon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0;
        write!(
            f,
            r##"<svg class="icon" aria-hidden="true" focusable="false"><use href="/assets/icons.svg#{name}"/></svg>"##
        )
    }
}

impl HtmlSafe for Icon {}

//! The lines of an order.

use tenure::Entity;

use super::text::{Invalid, Problem, check_line};
use super::{Money, OrderError};

/// A line of an order: product, price and quantity. Its number identifies it within the order for as
/// long as the order exists; merging and comparing use the number, not the position.
#[derive(Debug, Clone, PartialEq, Eq, Entity)]
pub struct OrderLine {
    #[aggregate(key)]
    line_no: u32,
    product: String,
    // The price at the time of the order: the catalogue's may change, the customer's may not.
    price: Money,
    quantity: u32,
}

impl OrderLine {
    /// The maximum quantity of one product in one order.
    pub const MAX_QUANTITY: u32 = 999;
    /// The maximum length of a product's name, in characters.
    pub const PRODUCT_MAX: usize = 200;

    /// A line, if it is valid.
    ///
    /// # Errors
    /// [`OrderError::Invalid`] about the product's name or a negative price, [`OrderError::QuantityOutOfRange`],
    /// [`OrderError::TotalTooLarge`] if price times quantity cannot be stored.
    pub fn new(line_no: u32, product: impl Into<String>, price: Money, quantity: u32) -> Result<OrderLine, OrderError> {
        let product = product.into().trim().to_owned();
        check_line(&product, Self::PRODUCT_MAX).map_err(|problem| Invalid { field: "lines.product", problem })?;
        if price < Money::ZERO {
            return Err(Invalid { field: "lines.price", problem: Problem::Negative }.into());
        }
        OrderLine { line_no, product, price, quantity }.with_quantity(quantity)
    }

    /// The same line with another quantity.
    ///
    /// # Errors
    /// [`OrderError::QuantityOutOfRange`]; [`OrderError::TotalTooLarge`] if price times quantity cannot be stored.
    pub fn with_quantity(self, quantity: u32) -> Result<OrderLine, OrderError> {
        if !(1..=Self::MAX_QUANTITY).contains(&quantity) {
            return Err(OrderError::QuantityOutOfRange { line_no: self.line_no, quantity });
        }
        self.price.times(quantity)?;
        Ok(OrderLine { quantity, ..self })
    }

    /// Its number within the order.
    pub fn line_no(&self) -> u32 {
        self.line_no
    }

    /// The product's name.
    pub fn product(&self) -> &str {
        &self.product
    }

    /// The price of one piece.
    pub fn price(&self) -> Money {
        self.price
    }

    /// The quantity.
    pub fn quantity(&self) -> u32 {
        self.quantity
    }

    /// The price of all pieces. It always fits, because the constructor refuses other lines; for a row that was written
    /// by hand it is the largest amount, so that the order's page can still be opened.
    pub fn amount(&self) -> Money {
        self.price.times(self.quantity).unwrap_or(Money::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(product: &str, price: i64, quantity: u32) -> Result<OrderLine, OrderError> {
        OrderLine::new(1, product, Money::won(price), quantity)
    }

    #[test]
    fn line_total_is_price_times_quantity() {
        assert_eq!(line("제주 감귤 3kg", 18_900, 3).expect("a line").amount(), Money::won(56_700));
    }

    #[test]
    fn a_quantity_is_1_to_999() {
        assert_eq!(line("tea", 100, 1).expect("a line").quantity(), 1);
        assert_eq!(line("tea", 100, 999).expect("a line").quantity(), 999);
        for quantity in [0, 1000] {
            assert_eq!(line("tea", 100, quantity), Err(OrderError::QuantityOutOfRange { line_no: 1, quantity }));
        }
    }

    #[test]
    fn another_quantity_leaves_everything_else_as_it_was() {
        let changed = line("tea", 100, 1).and_then(|line| line.with_quantity(7));
        assert_eq!(changed, line("tea", 100, 7));
    }

    #[test]
    fn a_line_names_a_product_at_a_price() {
        let empty = Invalid { field: "lines.product", problem: Problem::Empty };
        assert_eq!(line("  ", 100, 1), Err(OrderError::Invalid(empty)));
        let long = Invalid { field: "lines.product", problem: Problem::TooLong { max: 200 } };
        assert_eq!(line(&"차".repeat(201), 100, 1), Err(OrderError::Invalid(long)));
        let negative = Invalid { field: "lines.price", problem: Problem::Negative };
        assert_eq!(line("tea", -1, 1), Err(OrderError::Invalid(negative)));
        assert_eq!(line("a free sample", 0, 1).expect("a line").amount(), Money::ZERO);
    }

    #[test]
    fn unstorable_amount_is_refused() {
        assert_eq!(line("a country", i64::MAX, 2), Err(OrderError::TotalTooLarge));
    }
}

//! Products in stock.

use tenure::Aggregate;

use super::text::{Invalid, Problem, check_line};
use super::{OrderError, OrderLine};

/// A product, and the number of pieces in stock. Lines of orders name it.
///
/// Invariant: the stock is never negative. Pieces leave it when a parcel is shipped.
#[derive(Debug, Clone, PartialEq, Eq, Aggregate)]
#[aggregate(table = "product")]
pub struct Product {
    #[aggregate(id)]
    name: String,
    stock: u32,
}

impl Product {
    /// The maximum number of pieces that are received at once.
    pub const MOST_RECEIVED: u32 = 10_000;

    /// A product that was not in stock before.
    ///
    /// # Errors
    /// [`Invalid`] about the name or the number of pieces.
    pub fn new(name: &str, pieces: u32) -> Result<Product, Invalid> {
        let name = name.trim().to_owned();
        check_line(&name, OrderLine::PRODUCT_MAX).map_err(|problem| Invalid { field: "product", problem })?;
        let mut product = Product { name, stock: 0 };
        product.receive(pieces)?;
        Ok(product)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many pieces are in stock.
    pub fn stock(&self) -> u32 {
        self.stock
    }

    /// Pieces arrived.
    ///
    /// # Errors
    /// [`Invalid`] unless there are 1 to [`MOST_RECEIVED`](Self::MOST_RECEIVED) of them.
    pub fn receive(&mut self, pieces: u32) -> Result<(), Invalid> {
        let invalid = Invalid { field: "pieces", problem: Problem::OutOfRange { max: Self::MOST_RECEIVED } };
        if !(1..=Self::MOST_RECEIVED).contains(&pieces) {
            return Err(invalid);
        }
        self.stock = self.stock.checked_add(pieces).ok_or(invalid)?;
        Ok(())
    }

    /// Takes pieces out of the stock.
    ///
    /// # Errors
    /// [`OrderError::OutOfStock`] if there are fewer. Then none leaves.
    pub fn take_out(&mut self, pieces: u32) -> Result<(), OrderError> {
        let left = self.stock;
        let out = || OrderError::OutOfStock { product: self.name.clone(), left, needed: pieces };
        self.stock = left.checked_sub(pieces).ok_or_else(out)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_is_cannot_leave() {
        let mut tea = Product::new(" 보성 녹차 ", 2).expect("a product");
        let refused = OrderError::OutOfStock { product: "보성 녹차".into(), left: 2, needed: 3 };
        assert_eq!(tea.take_out(3), Err(refused));
        assert_eq!((tea.take_out(2), tea.stock()), (Ok(()), 0));
    }

    #[test]
    fn a_delivery_has_one_to_ten_thousand_pieces() {
        let mut tea = Product::new("tea", 1).expect("a product");
        for pieces in [0, 10_001, u32::MAX] {
            assert_eq!(tea.receive(pieces).expect_err("out of range").field, "pieces");
        }
        assert_eq!((tea.receive(10_000), tea.stock()), (Ok(()), 10_001));
        assert_eq!(Product::new(" ", 1).expect_err("no name").field, "product");
    }
}

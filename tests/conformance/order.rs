//! The aggregates of the suite: an order with lines, and a counter that keeps no revisions.

use tenure::{Aggregate, Entity, ValueObject};

#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_order", revisions = 3)]
pub struct Order {
    #[aggregate(id)]
    pub no: String,
    pub state: State,
    pub ship_to: Address,
    pub gift: Option<Gift>,
    #[aggregate(children, table = "test_order_line", owner = "order_no")]
    pub lines: Vec<Line>,
}

#[derive(ValueObject, Debug, Clone, Copy, PartialEq)]
pub enum State {
    Preparing,
    Shipped,
}

#[derive(ValueObject, Debug, Clone, PartialEq)]
pub struct Address {
    pub line1: String,
    pub zip: String,
}

#[derive(ValueObject, Debug, Clone, PartialEq)]
pub struct Gift {
    pub card: String,
    pub wrapped: bool,
}

#[derive(Entity, Debug, Clone, PartialEq)]
pub struct Line {
    #[aggregate(key)]
    pub line_no: u32,
    pub product: String,
    pub quantity: u32,
}

#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_counter")]
pub struct Counter {
    #[aggregate(id)]
    pub name: String,
    pub count: i64,
}

/// Without revisions, but with audit columns.
#[derive(Aggregate, Debug, Clone, PartialEq)]
#[aggregate(table = "test_note", audit)]
pub struct Note {
    #[aggregate(id)]
    pub id: String,
    pub board: String,
    pub text: String,
    pub pinned: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AlreadyShipped;

impl Order {
    pub fn new(no: &str) -> Order {
        let line = |line_no, product: &str| Line { line_no, product: product.into(), quantity: 1 };
        Order {
            no: no.into(),
            state: State::Preparing,
            ship_to: Address { line1: "Teheran-ro 1".into(), zip: "06236".into() },
            gift: None,
            lines: vec![line(1, "tea"), line(2, "cups")],
        }
    }

    pub fn send_to(&mut self, line1: &str) -> Result<(), AlreadyShipped> {
        if self.state == State::Shipped {
            return Err(AlreadyShipped);
        }
        self.ship_to.line1 = line1.into();
        Ok(())
    }

    pub fn ship(&mut self) -> Result<(), AlreadyShipped> {
        if self.state == State::Shipped {
            return Err(AlreadyShipped);
        }
        self.state = State::Shipped;
        Ok(())
    }
}

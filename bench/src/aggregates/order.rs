//! The domain: the same for both sides.

use tenure::{Aggregate, Entity};

/// Number of orders at the begin. Turns use them round-robin.
pub(crate) const ORDERS: usize = 40;
/// Orders that are saved together.
pub(crate) const TOGETHER: usize = 20;

/// An order.
#[derive(Aggregate, Debug, Clone)]
#[aggregate(table = "bench_order")]
pub(crate) struct Order {
    #[aggregate(id)]
    pub(crate) no: String,
    pub(crate) customer: String,
    pub(crate) street: String,
    pub(crate) zip: String,
    pub(crate) state: String,
    pub(crate) note: String,
    #[aggregate(children, table = "bench_line", owner = "order_no")]
    pub(crate) lines: Vec<Line>,
}

/// A line of it.
#[derive(Entity, Debug, Clone)]
pub(crate) struct Line {
    #[aggregate(key)]
    pub(crate) line_no: i64,
    pub(crate) product: String,
    pub(crate) quantity: i64,
    pub(crate) cents: i64,
}

/// An order whose last versions are kept.
#[derive(Aggregate, Debug, Clone)]
#[aggregate(table = "bench_kept_order", revisions = 20)]
pub(crate) struct KeptOrder {
    #[aggregate(id)]
    pub(crate) no: String,
    pub(crate) customer: String,
    pub(crate) street: String,
    pub(crate) zip: String,
    pub(crate) state: String,
    pub(crate) note: String,
    #[aggregate(children, table = "bench_kept_line", owner = "order_no")]
    pub(crate) lines: Vec<Line>,
}

/// The line that is changed.
pub(crate) const CHANGED: usize = 2;

impl Order {
    /// With five lines.
    pub(crate) fn new(no: String) -> Self {
        let line = |line_no| Line { line_no, product: format!("product {line_no}"), quantity: line_no, cents: 1_250 };
        Order {
            no,
            customer: "Kim Minji".into(),
            street: "Teheran-ro 1".into(),
            zip: "06236".into(),
            state: "preparing".into(),
            note: "ring twice".into(),
            lines: (1..=5).map(line).collect(),
        }
    }

    /// The command: one field of the root, one line.
    pub(crate) fn change(&mut self, turn: usize) {
        change(&mut self.note, &mut self.lines, turn);
    }
}

impl KeptOrder {
    pub(crate) fn new(no: String) -> Self {
        let Order { no, customer, street, zip, state, note, lines } = Order::new(no);
        KeptOrder { no, customer, street, zip, state, note, lines }
    }

    pub(crate) fn change(&mut self, turn: usize) {
        change(&mut self.note, &mut self.lines, turn);
    }
}

fn change(note: &mut String, lines: &mut [Line], turn: usize) {
    *note = format!("change {turn}");
    lines[CHANGED].quantity += 1;
}

/// The number of an existing order.
pub(crate) fn number(turn: usize) -> String {
    format!("{:04}", turn % ORDERS)
}

/// The number of a new order.
pub(crate) fn new_number(turn: usize) -> String {
    format!("new-{turn:08}")
}

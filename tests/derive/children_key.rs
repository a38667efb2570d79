use std::collections::BTreeMap;

use tenure::{Aggregate, Entity, ValueObject};

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
    #[aggregate(children, table = "order_line", owner = "order_no", key = "line_no")]
    lines: Vec<Line>,
    #[aggregate(children, table = "order_invoice", owner = "order_no", key = "invoice_no")]
    invoice: Option<Step>,
    #[aggregate(children, table = "order_step", owner = "order_no")]
    steps: Vec<Step>,
    #[aggregate(children, table = "order_tag", owner = "order_no")]
    tags: BTreeMap<String, Step>,
    #[aggregate(children, table = "order_seat", owner = "order_no", key = "seat")]
    seats: BTreeMap<Seat, Step>,
    #[aggregate(children, table = "order_box", owner = "order_no", key = "box_no")]
    boxes: BTreeMap<u32, Line>,
}

#[derive(ValueObject, PartialEq, Eq, PartialOrd, Ord)]
struct Seat {
    hall: String,
    no: u32,
}

#[derive(Entity)]
struct Step {
    text: String,
}

#[derive(Entity)]
struct Line {
    #[aggregate(key)]
    no: u32,
    #[aggregate(children, table = "order_line_part")]
    parts: Vec<Step>,
}

fn main() {}

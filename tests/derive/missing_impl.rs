use std::collections::{BTreeMap, HashMap};

use tenure::{Aggregate, Entity, ValueObject};

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
    size: usize,
    address: Address,
    #[aggregate(children, table = "order_line", owner = "order_no")]
    lines: Vec<Address>,
    #[aggregate(children, table = "order_step", owner = "order_no", key = "step")]
    steps: HashMap<u32, Line>,
    #[aggregate(children, table = "order_invoice", owner = "order_no")]
    invoice: Line,
    #[aggregate(children, table = "order_weight", owner = "order_no", key = "weight")]
    weights: BTreeMap<f64, Line>,
}

#[derive(ValueObject)]
struct Address {
    floor: Option<usize>,
}

#[derive(Entity)]
struct Line {
    #[aggregate(key)]
    no: usize,
}

fn main() {}

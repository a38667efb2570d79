use std::collections::BTreeMap;

use tenure::{Aggregate, Entity};

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
    #[aggregate(children, table = "order_line")]
    no_owner: Vec<Line>,
    #[aggregate(children)]
    no_table: Option<Line>,
    #[aggregate(children, table = "order_note", owner = "order_no", key = "at; drop")]
    no_name: BTreeMap<u32, Line>,
    #[aggregate(children, table = "orders", owner = "order_no", column = "line")]
    table_of_the_root: Vec<Line>,
    #[aggregate(table = "order_line", owner = "order_no")]
    not_marked: Vec<Line>,
    map: BTreeMap<u32, Line>,
}

#[derive(Entity)]
struct Line {
    #[aggregate(key)]
    no: u32,
}

fn main() {}

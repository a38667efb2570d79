use tenure::{Aggregate, Entity};

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
    #[aggregate(children, table = "order_line", owner = "shop, order_no")]
    lines: Vec<Line>,
}

#[derive(Entity)]
struct Line {
    #[aggregate(key)]
    no: u32,
}

fn main() {}

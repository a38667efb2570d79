use tenure::{Aggregate, Entity};

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: String,
    #[aggregate(children, table = "order_line")]
    no_owner: Vec<Line>,
    #[aggregate(children)]
    no_vec: Option<Line>,
    #[aggregate(children, table = "orders", owner = "order_no", column = "line")]
    table_of_the_root: Vec<Line>,
    #[aggregate(table = "order_line", owner = "order_no")]
    not_marked: Vec<Line>,
}

#[derive(Entity)]
struct Line {
    #[aggregate(key)]
    no: u32,
}

fn main() {}

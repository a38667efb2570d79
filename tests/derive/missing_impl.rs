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

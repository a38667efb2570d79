use tenure::Aggregate;

#[derive(Aggregate)]
#[aggregate(table = "orders; drop table orders", version = "2nd")]
struct Order {
    #[aggregate(id)]
    no: String,
    #[aggregate(column = "ship-to")]
    ship_to: String,
    größe: u32,
    #[aggregate(children, table = "order_line", owner = "order_no,")]
    lines: Vec<String>,
}

#[derive(Aggregate)]
#[aggregate(table = "products")]
struct Product {
    #[aggregate(id)]
    no: String,
    version: u32,
}

fn main() {}

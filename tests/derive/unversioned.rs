use tenure::{Aggregate, Entity, ValueObject};

#[derive(Aggregate)]
#[aggregate(table = "orders", version = "edition")]
struct Order {
    #[aggregate(id, unversioned)]
    no: i64,
    #[aggregate(unversioned)]
    edition: i64,
    #[aggregate(unversioned = "yes")]
    views: i64,
    #[aggregate(skip, unversioned)]
    cached: i64,
    #[aggregate(children, table = "order_line", owner = "order_no", unversioned)]
    lines: Vec<Line>,
}

#[derive(Entity)]
struct Line {
    #[aggregate(key)]
    no: i64,
    #[aggregate(unversioned)]
    views: i64,
}

#[derive(ValueObject)]
struct Reader {
    id: i64,
    #[aggregate(unversioned)]
    views: i64,
}

fn main() {}

use tenure::{Aggregate, Entity, ValueObject};

#[derive(ValueObject)]
#[aggregate(integer)]
enum Uncounted {
    Low,
    High = 2,
    Other(u32),
}

#[derive(ValueObject)]
#[aggregate(integer, sql_type = "mood")]
enum Both {
    Calm = 1,
}

#[derive(ValueObject)]
#[aggregate(integer)]
struct Number(i64);

#[derive(ValueObject)]
#[aggregate(sql_type = "no type", try_from = "String")]
struct Wide {
    #[aggregate(skip, column = "text")]
    text: String,
}

#[derive(ValueObject)]
#[aggregate(try_from = "not a type")]
struct Checked(String);

#[derive(Aggregate)]
#[aggregate(table = "sales.orders.old", audit, audit_by = "changed_by")]
struct Order {
    #[aggregate(id)]
    no: i64,
    #[aggregate(generated)]
    count: i64,
    #[aggregate(skip, id)]
    other: i64,
    #[aggregate(children, table = "sales.", owner = "order_no")]
    lines: Vec<Line>,
}

#[derive(Entity)]
struct Line {
    #[aggregate(key, skip)]
    no: i64,
    text: String,
}

fn main() {}

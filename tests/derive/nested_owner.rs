use tenure::{Aggregate, Entity};

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct Order {
    #[aggregate(id)]
    no: i64,
    #[aggregate(children, table = "order_line", owner = "order_no")]
    lines: Vec<Line>,
}

#[derive(Aggregate)]
#[aggregate(table = "invoices")]
struct Invoice {
    #[aggregate(id)]
    no: i64,
    #[aggregate(children, table = "invoice_text", owner = "invoice_no")]
    text: Option<Text>,
}

#[derive(Entity)]
struct Line {
    #[aggregate(key)]
    no: i64,
    #[aggregate(children, table = "order_line_part", owner = "order_no, line_no, part_no")]
    parts: Vec<Part>,
}

#[derive(Entity)]
struct Text {
    text: String,
    #[aggregate(children, table = "invoice_text_part", owner = "text_id, text_no, text_at")]
    parts: Vec<Part>,
}

#[derive(Entity)]
struct Part {
    #[aggregate(key)]
    part_no: i64,
}

fn main() {}

use tenure::Entity;

#[derive(Entity)]
struct NoKey {
    no: u32,
}

#[derive(Entity)]
#[aggregate(table = "order_line")]
struct Line {
    #[aggregate(key)]
    no: Option<u32>,
    #[aggregate(id)]
    product: String,
    #[aggregate(children, table = "part", owner = "line_no")]
    parts: Vec<NoKey>,
    options: Vec<NoKey>,
}

fn main() {}

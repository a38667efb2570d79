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
    #[aggregate(children)]
    no_table: Vec<NoKey>,
    #[aggregate(children, table = "part", key = "at")]
    parts: Vec<NoKey>,
    #[aggregate(children, table = "Part", key = "at")]
    spares: Vec<NoKey>,
    options: Vec<NoKey>,
}

fn main() {}

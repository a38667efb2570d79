use tenure::Aggregate;

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct NoId {
    no: String,
}

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct TwoIds {
    #[aggregate(id)]
    shop: String,
    #[aggregate(id)]
    no: u32,
}

#[derive(Aggregate)]
struct NoTable {
    #[aggregate(id)]
    no: String,
}

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct UnprintableId {
    #[aggregate(id)]
    no: Vec<u8>,
}

fn main() {}

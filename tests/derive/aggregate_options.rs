use tenure::Aggregate;

#[derive(Aggregate)]
#[aggregate(tabel = "orders", version = 7, revisions = "many", name = "Order", name = "Bestellung")]
struct Order {
    #[aggregate(id = "no", colum = "no")]
    no: String,
    #[aggregate(column)]
    state: String,
    #[aggregate(column("x"), id::first)]
    note: String,
    #[aggregate]
    size: u32,
}

fn main() {}

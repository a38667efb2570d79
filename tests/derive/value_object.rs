use tenure::ValueObject;

#[derive(ValueObject)]
enum Payment {
    Cash,
    Card(String),
    #[aggregate(rename = "Cash")]
    Coins,
    #[aggregate(column = "cheque")]
    Cheque { no: u32 },
}

#[derive(ValueObject)]
struct Pair(u32, u32);

#[derive(ValueObject)]
struct Nothing;

#[derive(ValueObject)]
enum Never {}

#[derive(ValueObject)]
struct No(#[aggregate(column = "no")] u32);

#[derive(ValueObject)]
#[aggregate(column = "address")]
struct Address {
    #[aggregate(rename = "first")]
    line1: String,
    phones: Vec<String>,
}

#[derive(ValueObject)]
union Either {
    number: u32,
    sign: i32,
}

fn main() {}

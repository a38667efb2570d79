use tenure::{Aggregate, Entity, ValueObject};

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct Generic<T> {
    #[aggregate(id)]
    no: T,
}

#[derive(Entity)]
struct Borrowed<'a> {
    #[aggregate(key)]
    no: &'a str,
}

#[derive(ValueObject)]
struct Bounded
where
    u32: Copy,
{
    no: u32,
}

#[derive(Aggregate)]
#[aggregate(table = "orders")]
struct Tuple(u32);

#[derive(Entity)]
enum Line {
    One,
}

fn main() {}

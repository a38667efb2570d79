//! The shop's domain: orders, the people who place and ship them, the stock, and the operators' notes.
//!
//! Pure code without I/O: no SQL, no HTTP, no clock of its own; the time is passed in. Its only relation to storage is
//! the derives, which name the columns of a field. The locks and versions around it decide who may change an order,
//! and until when.
//!
//! A value of one of these types is valid. Rows that are read back are not validated again: no other program
//! writes them, and the tables refuse what is cheap to refuse (`migrations/`).

mod member;
mod money;
mod note;
mod order;
mod order_error;
mod order_line;
mod order_no;
mod order_state;
mod password;
mod product;
mod reason;
mod shipping;
mod text;

pub use member::{Member, MemberId, Role};
pub(crate) use money::grouped;
pub use money::{AmountTooLarge, Money};
pub use note::Note;
pub use order::{LineChange, Order};
pub use order_error::OrderError;
pub use order_line::OrderLine;
pub use order_no::OrderNo;
pub use order_state::OrderState;
pub use password::{WeakPassword, check_password};
pub use product::Product;
pub use reason::check_reason;
pub use shipping::{Address, Receiver, ShippingInfo};
pub use text::{Invalid, Problem};

#[cfg(test)]
mod tests {
    use tenure::Aggregate;
    use tenure::aggregate::mapping::Mapping;

    use super::{Member, Note, Order, Product};

    const MIGRATIONS: [&str; 2] =
        [include_str!("../migrations/sqlite/0001_shop.sql"), include_str!("../migrations/postgres/0001_shop.sql")];

    /// The columns of a table in the migration: one per line, the name first.
    fn columns_in(migration: &'static str, table: &str) -> Vec<&'static str> {
        let create = format!("create table {table} (\n");
        let (_, body) = migration.split_once(&create).expect("the table is created");
        let (body, _) = body.split_once("\n)").expect("the table ends");
        let words = body.lines().filter_map(|line| line.split_whitespace().next());
        sorted(words.filter(|word| !["--", "primary", "foreign", "check"].contains(word)))
    }

    fn sorted<'a>(columns: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
        let mut columns: Vec<_> = columns.collect();
        columns.sort_unstable();
        columns
    }

    fn assert_columns(mapping: &Mapping) {
        for migration in MIGRATIONS {
            let root = mapping.root.columns.iter().map(|column| column.name.as_str()).chain([mapping.version.as_str()]);
            assert_eq!(columns_in(migration, &mapping.root.name), sorted(root));
            for child in &mapping.children {
                let columns = child.owner.iter().chain(child.columns.iter().map(|column| &column.name));
                assert_eq!(columns_in(migration, &child.name), sorted(columns.map(String::as_str)));
            }
        }
    }

    #[test]
    fn the_tables_have_exactly_the_columns_of_the_aggregates() {
        assert_columns(Order::mapping());
        assert_columns(Member::mapping());
        assert_columns(Note::mapping());
        assert_columns(Product::mapping());
    }
}

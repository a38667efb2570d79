//! The aggregate of the load: a list of operations, and an amount.

use tenure::{Aggregate, Entity};

/// A ledger. Its version is one more than the number of its entries, because each write appends one.
#[derive(Aggregate, Debug)]
#[aggregate(table = "chaos_ledger")]
pub(crate) struct Ledger {
    /// Its name.
    #[aggregate(id)]
    pub(crate) id: String,
    /// What transfers move.
    pub(crate) balance: i64,
    /// The operations that were appended, in their order.
    #[aggregate(children, table = "chaos_entry", owner = "ledger", key = "position")]
    pub(crate) entries: Vec<Entry>,
}

/// What each ledger begins with.
pub(crate) const BALANCE: i64 = 1000;

impl Ledger {
    /// An empty one.
    pub(crate) fn new(id: &str) -> Self {
        Ledger { id: id.to_owned(), balance: BALANCE, entries: Vec::new() }
    }

    /// Appends an operation.
    pub(crate) fn append(&mut self, op: &str) {
        self.entries.push(Entry { op: op.to_owned() });
    }
}

/// One operation in the list.
#[derive(Entity, Debug)]
pub(crate) struct Entry {
    /// Its id.
    pub(crate) op: String,
}

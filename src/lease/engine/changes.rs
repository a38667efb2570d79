//! The rows that an operation changes.

use std::collections::BTreeMap;

use super::{LeaseRow, Past, Place, Rows};

/// The rows to write. A place with `None` is deleted, before other rows are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub leases: BTreeMap<Place, Option<LeaseRow>>,
    pub past: Vec<Past>,
    /// The highest generations of deleted rows, by type. A stored floor that is higher stays.
    pub floors: BTreeMap<String, i64>,
}

impl Changes {
    /// The rows after these changes.
    #[cfg(test)]
    pub(crate) fn apply(self, rows: &mut Rows) {
        for (place, row) in self.leases {
            match row {
                Some(row) => drop(rows.leases.insert(place, row)),
                None => drop(rows.leases.remove(&place)),
            }
        }
        for (kind, generation) in self.floors {
            let floor = rows.floors.entry(kind).or_insert(generation);
            *floor = generation.max(*floor);
        }
        rows.past.extend(self.past.into_iter().map(|past| (past.lock.clone(), past)));
    }
}

/// The rows while an operation is decided, and the changes so far.
pub(super) struct Draft {
    pub(super) rows: Rows,
    pub(super) changes: Changes,
}

impl Draft {
    pub(super) fn new(rows: &Rows) -> Self {
        Draft { rows: rows.clone(), changes: Changes::default() }
    }

    /// Writes a row of the lock table.
    pub(super) fn put(&mut self, row: LeaseRow) {
        self.changes.leases.insert(row.place.clone(), Some(row.clone()));
        self.rows.leases.insert(row.place.clone(), row);
    }

    /// Deletes a row of the lock table.
    pub(super) fn delete(&mut self, place: &Place) {
        self.changes.leases.insert(place.clone(), None);
        self.rows.leases.remove(place);
    }

    /// New rows of this type begin above this generation.
    pub(super) fn raise_floor(&mut self, kind: &str, generation: i64) {
        let floor = self.changes.floors.entry(kind.to_owned()).or_insert(generation);
        *floor = generation.max(*floor);
    }

    /// Appends to the history, unless it already has an entry for this lock id.
    pub(super) fn record(&mut self, past: Past) {
        if !self.rows.past.contains_key(&past.lock) {
            self.changes.past.push(past.clone());
            self.rows.past.insert(past.lock.clone(), past);
        }
    }
}

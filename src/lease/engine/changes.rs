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
    /// Whether there is nothing to write.
    pub(crate) fn are_none(&self) -> bool {
        self.leases.is_empty() && self.past.is_empty() && self.floors.is_empty()
    }

    /// The rows after these changes.
    pub(crate) fn apply(&self, rows: &mut Rows) {
        for (place, row) in &self.leases {
            match row {
                Some(row) => drop(rows.leases.insert(place.clone(), row.clone())),
                None => drop(rows.leases.remove(place)),
            }
        }
        for (kind, generation) in &self.floors {
            let floor = rows.floors.entry(kind.clone()).or_insert(*generation);
            *floor = (*floor).max(*generation);
        }
        rows.past.extend(self.past.iter().map(|past| (past.lock.clone(), past.clone())));
    }

    /// These changes, and then those of a later decision.
    pub(crate) fn and_then(&mut self, later: Changes) {
        self.leases.extend(later.leases);
        self.past.extend(later.past);
        for (kind, generation) in later.floors {
            let floor = self.floors.entry(kind).or_insert(generation);
            *floor = generation.max(*floor);
        }
    }
}

/// The rows before an operation, and its changes so far.
pub(super) struct Draft<'r> {
    pub(super) rows: &'r Rows,
    pub(super) changes: Changes,
}

impl<'r> Draft<'r> {
    pub(super) fn new(rows: &'r Rows) -> Self {
        Draft { rows, changes: Changes::default() }
    }

    /// Writes a row of the lock table.
    pub(super) fn put(&mut self, row: LeaseRow) {
        self.changes.leases.insert(row.place.clone(), Some(row));
    }

    /// Deletes a row of the lock table.
    pub(super) fn delete(&mut self, place: &Place) {
        self.changes.leases.insert(place.clone(), None);
    }

    /// New rows of this type begin above this generation.
    pub(super) fn raise_floor(&mut self, kind: &str, generation: i64) {
        let floor = self.changes.floors.entry(kind.to_owned()).or_insert(generation);
        *floor = generation.max(*floor);
    }

    /// Appends to the history, unless it already has an entry for this lock id.
    pub(super) fn record(&mut self, past: Past) {
        if !self.rows.past.contains_key(&past.lock) && self.changes.past.iter().all(|other| other.lock != past.lock) {
            self.changes.past.push(past);
        }
    }
}

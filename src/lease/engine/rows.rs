//! The rows that an operation needs.

use std::collections::{BTreeMap, BTreeSet};

use super::{LeaseRow, Past, Place};
use crate::lease::LockKey;

/// The rows that an operation needs, by their keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(Hash))]
pub(crate) struct Rows {
    pub leases: BTreeMap<Place, LeaseRow>,
    /// The history, by lock hash.
    pub past: BTreeMap<Vec<u8>, Past>,
    /// The highest generations of rows that were swept, by type.
    pub floors: BTreeMap<String, i64>,
    /// Rows of other leases that could not be locked at once. They are read, and not changed: a heartbeat may be in flight on them.
    pub busy: BTreeSet<Place>,
}

impl Rows {
    pub(crate) fn exclusive(&self, key: &LockKey) -> Option<&LeaseRow> {
        self.leases.get(&Place::exclusive(key))
    }

    pub(crate) fn of_key(&self, key: &LockKey) -> impl Iterator<Item = &LeaseRow> {
        let rows = self.leases.range(Place::exclusive(key)..);
        rows.take_while(move |(place, _)| place.key == *key).map(|(_, row)| row)
    }

    pub(crate) fn of_lock(&self, lock: &[u8]) -> Option<&LeaseRow> {
        self.leases.values().find(|row| row.lock == lock)
    }

    /// The highest generation that a key may have had; 0 if there was none.
    pub(super) fn generation(&self, key: &LockKey) -> i64 {
        let highest = self.of_key(key).map(|row| row.generation).max().unwrap_or(0);
        highest.max(self.floor(key))
    }

    /// The highest generation of the swept rows of this key's type.
    pub(crate) fn floor(&self, key: &LockKey) -> i64 {
        self.floors.get(key.kind()).copied().unwrap_or(0).max(0)
    }
}

//! The rows that a batch read from the lock table.

use std::collections::{HashMap, HashSet};

use sqlx::Row;
use sqlx::mysql::MySqlRow;

use crate::db::mysql::errors::classify;
use crate::error::DatabaseError;
use crate::lease::engine::{LeaseRow, Rows};
use crate::lease::{Holder, LockKey};
use crate::store::leases::lease;

/// A row of the lock table at the time when it was read, and locked if it was.
pub(super) struct Seen {
    pub row: LeaseRow,
    pub now: i64,
}

impl Seen {
    pub(super) fn read(row: &MySqlRow) -> Result<Self, DatabaseError> {
        let now = row.try_get("clock").map_err(classify)?;
        Ok(Seen { row: lease(row).map_err(classify)?, now })
    }

    pub(super) fn alive(&self) -> bool {
        self.row.alive(self.now)
    }

    pub(super) fn holder(&self) -> Holder {
        self.row.holder(self.now)
    }
}

/// The rows of [`look`](super::texts::look) and [`look_again`](super::texts::look_again).
#[derive(Default)]
pub(super) struct Found {
    /// Locked rows, which cannot change until the transaction ends.
    pub locked: Leases,
    /// Rows read without a lock, a moment later.
    pub seen: Leases,
    /// Lock ids whose lease has ended.
    pub used: HashSet<Vec<u8>>,
    /// The highest generations of rows that were swept, by type.
    floors: HashMap<String, i64>,
    /// The database's time of these reads.
    pub now: i64,
}

impl Found {
    pub(super) fn read(rows: &[MySqlRow]) -> Result<Self, DatabaseError> {
        let mut found = Found::default();
        found.add(rows)?;
        Ok(found)
    }

    pub(super) fn add(&mut self, rows: &[MySqlRow]) -> Result<(), DatabaseError> {
        for row in rows {
            match row.try_get("what").map_err(classify)? {
                0_i64 => self.seen.add(Seen::read(row)?),
                1 => self.locked.add(Seen::read(row)?),
                3 => {
                    let kind: String = row.try_get("kind").map_err(classify)?;
                    self.floors.insert(kind, row.try_get("generation").map_err(classify)?);
                }
                _ => {
                    self.now = row.try_get("clock").map_err(classify)?;
                    self.used.extend(row.try_get::<Option<Vec<u8>>, _>("used").map_err(classify)?);
                }
            }
        }
        Ok(())
    }

    /// What is stored of a key that has no row of its own: the highest generation that it may have had.
    pub(super) fn without_row(&self, key: &LockKey) -> Rows {
        let generation = self.seen.generation(key).max(self.floors.get(key.kind()).copied().unwrap_or(0));
        Rows { floors: [(key.kind().to_owned(), generation)].into(), ..Rows::default() }
    }
}

/// Rows of the lock table.
#[derive(Default)]
pub(super) struct Leases {
    all: Vec<Seen>,
    by_lock: HashMap<Vec<u8>, usize>,
    by_key: HashMap<LockKey, usize>,
    generations: HashMap<LockKey, i64>,
}

impl Leases {
    fn add(&mut self, seen: Seen) {
        let (at, place) = (self.all.len(), &seen.row.place);
        let generation = self.generations.entry(place.key.clone()).or_default();
        *generation = seen.row.generation.max(*generation);
        if place.slot.is_empty() {
            self.by_key.insert(place.key.clone(), at);
        }
        self.by_lock.insert(seen.row.lock.clone(), at);
        self.all.push(seen);
    }

    /// Replaces the row of a lock id, and returns its index: the next request of the batch is decided by it.
    pub(super) fn replace(&mut self, lock: &[u8], row: LeaseRow) -> Option<usize> {
        let &at = self.by_lock.get(lock)?;
        self.by_lock.insert(row.lock.clone(), at);
        self.all[at].row = row;
        Some(at)
    }

    /// The row of a lock id, with its index, to be changed in place. If an earlier request of the batch has acquired the key, it has another
    /// lock id now.
    pub(super) fn of_lock_mut(&mut self, lock: &[u8]) -> Option<(usize, &mut Seen)> {
        let &at = self.by_lock.get(lock)?;
        Some((at, &mut self.all[at]))
    }

    /// The row with this index.
    pub(super) fn row(&self, at: usize) -> &LeaseRow {
        &self.all[at].row
    }

    /// The exclusive lease of a key, alive or not.
    pub(super) fn of_key(&self, key: &LockKey) -> Option<&Seen> {
        self.by_key.get(key).map(|&at| &self.all[at])
    }

    /// The lease of a lock id, alive or not.
    pub(super) fn of_lock(&self, lock: &[u8]) -> Option<&Seen> {
        self.by_lock.get(lock).map(|&at| &self.all[at])
    }

    /// The highest generation of a key; 0 if there is none.
    fn generation(&self, key: &LockKey) -> i64 {
        self.generations.get(key).copied().unwrap_or(0)
    }
}

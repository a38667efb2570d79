//! The rows that a batch read from the lock table.

use std::collections::{HashMap, HashSet};

use sqlx::Row;
use sqlx::mysql::MySqlRow;

use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::storage::mysql::errors::classify;
use crate::storage::mysql::leases::{StoredLease, lease};

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
                0_i64 => self.seen.add(lease(row)?),
                1 => self.locked.add(lease(row)?),
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

    /// The highest generation that a key may have had; 0 if there was none.
    pub(super) fn generation(&self, key: &LockKey) -> i64 {
        self.seen.generation(key).max(self.floors.get(key.kind()).copied().unwrap_or(0))
    }
}

/// Rows of the lock table.
#[derive(Default)]
pub(super) struct Leases {
    all: Vec<StoredLease>,
    by_lock: HashMap<Vec<u8>, usize>,
    by_key: HashMap<LockKey, usize>,
    generations: HashMap<LockKey, i64>,
}

impl Leases {
    fn add(&mut self, lease: StoredLease) {
        let (at, key) = (self.all.len(), &lease.holder.key);
        let generation = self.generations.entry(key.clone()).or_default();
        *generation = lease.holder.generation.max(*generation);
        if lease.slot.is_empty() {
            self.by_key.insert(key.clone(), at);
        }
        self.by_lock.insert(lease.lock.clone(), at);
        self.all.push(lease);
    }

    /// The exclusive lease of a key, alive or not.
    pub(super) fn of_key(&self, key: &LockKey) -> Option<&StoredLease> {
        self.by_key.get(key).map(|&at| &self.all[at])
    }

    /// The lease of a lock id, alive or not.
    pub(super) fn of_lock(&self, lock: &[u8]) -> Option<&StoredLease> {
        self.by_lock.get(lock).map(|&at| &self.all[at])
    }

    /// As [`of_lock`](Self::of_lock), to change it.
    pub(super) fn of_lock_mut(&mut self, lock: &[u8]) -> Option<&mut StoredLease> {
        self.by_lock.get(lock).map(|&at| &mut self.all[at])
    }

    /// The highest generation of a key; 0 if there is none.
    fn generation(&self, key: &LockKey) -> i64 {
        self.generations.get(key).copied().unwrap_or(0)
    }
}

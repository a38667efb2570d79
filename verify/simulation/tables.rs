//! The tables of the lock manager in memory. The library's engine decides every operation on leases.

use std::collections::BTreeSet;

use super::log::Log;
use crate::lease::LockKey;
use crate::lease::engine::{Answer, Changes, LeaseRow, Operation, Rows, decide};

/// All tables, and the log of what happened in them.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) rows: Rows,
    /// The owners who resumed leases, which no limit counts.
    pub(super) resumed: BTreeSet<String>,
    pub(super) log: Log,
}

impl Tables {
    /// Runs an operation, and stores its changes.
    pub(super) fn run(&mut self, operation: &Operation, now: i64) -> Answer {
        let (answer, changes) = decide(operation, &self.rows, now).expect("generations do not run out here");
        self.store(changes, now);
        answer
    }

    pub(super) fn store(&mut self, changes: Changes, now: i64) {
        self.log.record(&self.rows, &changes, now);
        changes.apply(&mut self.rows);
    }

    /// The leases on a key that are alive.
    pub(super) fn alive<'t>(&'t self, key: &'t LockKey, now: i64) -> impl Iterator<Item = &'t LeaseRow> {
        self.rows.leases.values().filter(move |row| row.place.key == *key && !row.ended && row.expires_at > now)
    }

    pub(super) fn held(&self, owner: &str, now: i64) -> u64 {
        let rows = self.rows.leases.values();
        let held = rows.filter(|row| row.owner.id == owner && !row.ended && row.expires_at > now);
        held.count().try_into().expect("a small number")
    }
}

//! The versions that a transaction requires, and those that it has raised. No I/O here.

use std::collections::BTreeMap;

use crate::aggregate::Stored;
use crate::aggregate::mapping::Mapping;
use crate::aggregate::version::Version;
use crate::lease::LockKey;
use crate::row_lock::LockMode;

/// The versions of one transaction.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// Aggregates that were loaded in a mode with a duty for the commit, and not saved since.
    pub(crate) watched: BTreeMap<LockKey, Watched>,
    /// Saved aggregates, with their versions after the save.
    raised: BTreeMap<LockKey, Version>,
}

/// An aggregate that the commit has to check again.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) mapping: &'static Mapping,
    pub(crate) stored: Stored,
    /// The commit raises its version. Otherwise the version must be unchanged.
    pub(crate) raise: bool,
}

impl Versions {
    pub(crate) fn loaded(&mut self, key: &LockKey, mapping: &'static Mapping, stored: &Stored, mode: LockMode) {
        let raise = mode.forces_increment();
        if (raise || mode == LockMode::Optimistic) && self.raised.get(key) != Some(&stored.version) {
            // Loaded twice: the first version counts, and a requested increment is kept.
            let watched = || Watched { mapping, stored: stored.clone(), raise };
            self.watched.entry(key.clone()).or_insert_with(watched).raise |= raise;
        }
    }

    /// The version after a save of this version: the next one, once per transaction. `None` after the highest one.
    pub(crate) fn after(&self, key: &LockKey, from: Version) -> Option<Version> {
        if self.raised.get(key) == Some(&from) { Some(from) } else { from.next() }
    }

    pub(crate) fn written(&mut self, key: &LockKey, version: Version) {
        self.watched.remove(key);
        self.raised.insert(key.clone(), version);
    }

    pub(crate) fn deleted(&mut self, key: &LockKey) {
        self.watched.remove(key);
        self.raised.remove(key);
    }
}

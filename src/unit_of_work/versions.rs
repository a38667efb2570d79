//! What a transaction knows about versions: which it relies upon, and which it has raised. No I/O here.

use std::collections::BTreeMap;

use crate::aggregate::Stored;
use crate::aggregate::mapping::Mapping;
use crate::aggregate::version::Version;
use crate::lease::LockKey;
use crate::row_lock::mode::LockMode;

/// The versions of one transaction.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// What was loaded in a mode that the commit has to answer for, and not saved since.
    pub(crate) watched: BTreeMap<LockKey, Watched>,
    /// What was saved, and the version that it has since.
    raised: BTreeMap<LockKey, Version>,
}

/// An aggregate that the commit has to look at again.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) mapping: &'static Mapping,
    pub(crate) stored: Stored,
    /// Its version is raised, whatever else. Otherwise it must not have moved.
    pub(crate) raise: bool,
}

impl Versions {
    pub(crate) fn loaded(&mut self, key: &LockKey, mapping: &'static Mapping, stored: &Stored, mode: LockMode) {
        let raise = mode.forces_increment();
        if (raise || mode == LockMode::Optimistic) && self.raised.get(key) != Some(&stored.version) {
            // Loaded twice: what was relied upon first counts, and a wish for an increment stays.
            let watched = || Watched { mapping, stored: stored.clone(), raise };
            self.watched.entry(key.clone()).or_insert_with(watched).raise |= raise;
        }
    }

    /// The version after a save of this version: the next one, once per transaction. None after the highest that there is.
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

    /// Whether the transaction relies upon the aggregate's version, or has raised it.
    pub(crate) fn knows(&self, key: &LockKey) -> bool {
        self.watched.contains_key(key) || self.raised.contains_key(key)
    }
}

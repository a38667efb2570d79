//! The events of a transaction, published after its commit.

use std::collections::BTreeMap;

use super::hub::Hub;
use crate::aggregate::version::Version;
use crate::lease::LockKey;

#[derive(Debug)]
pub(crate) struct News {
    hub: Hub,
    /// The touched keys; for saved aggregates the version, and whether revisions are kept.
    keys: BTreeMap<LockKey, Option<(Version, bool)>>,
}

impl News {
    pub(crate) fn new(hub: &Hub) -> Self {
        News { hub: hub.clone(), keys: BTreeMap::new() }
    }

    /// Its lock was released or resumed.
    pub(crate) fn touched(&mut self, key: &LockKey) {
        self.keys.entry(key.clone()).or_insert(None);
    }

    pub(crate) fn saved(&mut self, key: &LockKey, version: Version, kept: bool) {
        self.keys.insert(key.clone(), Some((version, kept)));
    }

    /// The transaction changed nothing in the end.
    pub(crate) fn forget(&mut self) {
        self.keys.clear();
    }

    pub(crate) fn tell(self) {
        for (key, saved) in self.keys {
            if let Some((version, kept)) = saved {
                self.hub.saved(&key, version, kept);
            }
            self.hub.touched(&key);
        }
    }
}

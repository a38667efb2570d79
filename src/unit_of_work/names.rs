//! The names of aggregates in one database: a name belongs to one root table. No I/O here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::aggregate::mapping::{Mapping, MappingError};

/// The root table of each name that was met. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names(Arc<Mutex<HashMap<String, String>>>);

impl Names {
    /// Records the name of a mapping. Versions, leases, revisions and deletions are stored under it, so a second mapping with this name and
    /// another root table is refused.
    pub(crate) fn meet(&self, mapping: &Mapping) -> Result<(), MappingError> {
        // A panic cannot leave it half-changed.
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match names.get(&mapping.name) {
            None => {
                names.insert(mapping.name.clone(), mapping.root.name.clone());
                Ok(())
            }
            Some(table) if *table == mapping.root.name => Ok(()),
            Some(table) => {
                let what = format!(
                    "there is another aggregate `{}` in this database, with the root table `{table}`, and their versions, locks \
                     and histories would be mixed; give one of them another name, as in `#[aggregate(name = \"Purchase{}\")]`",
                    mapping.name, mapping.name
                );
                Err(MappingError::new(&mapping.root.name, "", what))
            }
        }
    }
}

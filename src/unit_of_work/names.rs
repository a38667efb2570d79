//! What is known of the aggregates in one database: a name belongs to one root table, and a mapping has rules. No I/O here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::aggregate::mapping::{Mapping, MappingError};
use crate::store::plan::Rules;

/// The root table of each name that was met, and the rules of each mapping that was saved. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    tables: HashMap<String, String>,
    /// By the address of the mapping, which is never freed.
    rules: HashMap<usize, Arc<Rules>>,
}

impl Names {
    /// Records the name of a mapping. Versions, leases, revisions and deletions are stored under it, so a second mapping with this name and
    /// another root table is refused.
    pub(crate) fn meet(&self, mapping: &Mapping) -> Result<(), MappingError> {
        let mut known = self.known();
        let names = &mut known.tables;
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

    /// The rules of a mapping, if it was saved before.
    pub(crate) fn rules(&self, mapping: &'static Mapping) -> Option<Arc<Rules>> {
        self.known().rules.get(&std::ptr::from_ref(mapping).addr()).cloned()
    }

    /// Records them.
    pub(crate) fn keep_rules(&self, mapping: &'static Mapping, rules: Rules) -> Arc<Rules> {
        let rules = Arc::new(rules);
        self.known().rules.insert(std::ptr::from_ref(mapping).addr(), Arc::clone(&rules));
        rules
    }

    /// A panic cannot leave it half-changed.
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

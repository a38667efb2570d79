//! Explains a refused save: the authors, the changes, and the states.

use std::sync::Arc;

use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Rows};
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::store::revisions;
use crate::unit_of_work::transaction::Transaction;
use crate::version::conflict::{VersionConflict, compare};

/// The state on which a change was based.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) version: Version,
    /// Only known if this transaction has loaded it, or revisions are kept.
    pub(crate) rows: Option<Arc<Rows>>,
}

impl Transaction {
    /// The state at a version, if it is stored.
    pub(crate) async fn opened_at(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        version: Version,
    ) -> Result<Opened, DatabaseError> {
        let rows = match mapping.revisions {
            0 => None,
            _ => self.database.run(async |tx| revisions::state(tx, mapping, key, version).await).await?,
        };
        Ok(Opened { version, rows: rows.map(Arc::new) })
    }

    /// The differences between the state on which the change was based, the current state, and the state after the change.
    pub(crate) async fn explain(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        opened: Opened,
        now: Option<Stored>,
        mine: Option<&Rows>,
    ) -> Result<VersionConflict, DatabaseError> {
        // Nothing is stored about a deleted aggregate.
        let changed = match &now {
            None => None,
            Some(now) => {
                let id = &now.rows.root[..mapping.root.key];
                self.database.run(async |tx| revisions::changes(tx, mapping, key, id, 1).await).await?.pop()
            }
        };
        Ok(VersionConflict {
            aggregate: key.kind().to_owned(),
            id: key.id().to_owned(),
            expected: opened.version,
            actual: now.as_ref().map(|now| now.version),
            changed,
            fields: compare(mapping, opened.rows.as_deref(), now.as_ref().map(|now| &*now.rows), mine),
            opened_known: opened.rows.is_some(),
            mine_known: mine.is_some(),
        })
    }
}

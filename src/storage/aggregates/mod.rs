//! Writing aggregates, once for all databases: the order of the statements, the version that a save compares, and what is stored beside the
//! rows: revisions, and the versions of deleted aggregates.
//!
//! A database implements [`AggregateRows`]: its statements, and the values that only it can know. The root is written first, always: its
//! row is the lock of the aggregate.

mod insert;
mod revisions;
mod save;

use async_trait::async_trait;

use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Rows, Table};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::storage::Authorship;
pub(super) use insert::{complete_insert, insert, insert_generated};
pub(super) use save::{delete, save};

/// A statement that writes rows of an aggregate.
#[derive(Debug, Clone, Copy)]
pub(super) enum Write<'w> {
    /// Updates the root with this id if it has the expected version. Values: those of the changed columns, of the audit columns, the new
    /// version, the id, the expected version.
    UpdateRoot {
        #[cfg_attr(
            not(feature = "mysql"),
            allow(dead_code, reason = "only on MySQL a statement of its own locks the root first")
        )]
        id: &'w [Value],
        changed: &'w [usize],
    },
    /// Values: the id.
    DeleteRoot,
    /// Inserts so many children. Values: for each, its row [as stored](Mapping::stored).
    InsertChildren(&'static Table, usize),
    /// Updates these columns of a child. Values: those of the changed columns, the key as stored.
    UpdateChild(&'static Table, &'w [usize]),
    /// Values: the key as stored.
    DeleteChild(&'static Table),
    /// Deletes all children of a root in this table. Values: the root's id.
    DeleteChildren(&'static Table),
    /// Stores a revision, or replaces an earlier save of this version in the same transaction. Values: the key, the version, the state, the
    /// time, the author's id and name, the command, the shape of the mapping.
    KeepRevision,
    /// Values: the key, the highest version to delete.
    DiscardRevisions,
    /// Stores the version of a deleted aggregate. A stored one never falls. Values: the key, the version, the time.
    NoteRemoved,
}

/// How a root is locked when it is read again, where the database locks rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    Share,
    Update,
}

/// The version of the aggregate that was deleted under an id, if there was one.
pub(super) type Removed = Option<i64>;

/// The tables of aggregates in one database, inside a transaction.
#[async_trait]
pub(super) trait AggregateRows: Send {
    /// The time as the tables of tenure store it, or NULL for the time of the database.
    fn now(&self) -> Value;
    /// The time as a column of an audit stores it, or NULL for the time of the database.
    fn audited_at(&self) -> Value {
        self.now()
    }
    /// The kind and the id of a key as the tables of tenure store them.
    fn key(&self, key: &LockKey) -> [Value; 2];
    /// Executes a statement with these values. Returns the number of rows that it found.
    async fn write(
        &mut self,
        mapping: &'static Mapping,
        write: Write<'_>,
        values: &[&Value],
    ) -> Result<u64, DatabaseError>;
    /// Reads an aggregate as it is after all transactions that this statement waited for.
    async fn read(
        &mut self,
        mapping: &'static Mapping,
        id: &[Value],
        hold: Hold,
    ) -> Result<Option<Stored>, DatabaseError>;
    /// Inserts the root as version 1; `None` if its id exists. The removed version is read when no other transaction can delete the id any
    /// more: that is after the insert, where it waits for one.
    async fn insert_root(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        rows: &Rows,
        audit: &[Value],
    ) -> Result<Option<Removed>, DatabaseError>;
    /// Inserts the root as version 1, without its id. Returns the id that the database generated.
    async fn insert_generated(
        &mut self,
        mapping: &'static Mapping,
        rows: &Rows,
        audit: &[Value],
    ) -> Result<i64, DatabaseError>;
    /// Reads the version of the aggregate that was deleted under this key.
    async fn removed(&mut self, key: &LockKey) -> Result<Removed, DatabaseError>;
}

/// The values of the audit columns, if there are any.
pub(super) fn audit(mapping: &Mapping, author: &Authorship, at: &Value) -> Vec<Value> {
    mapping.audit.iter().flat_map(|audit| author.audit(audit, at.clone())).collect()
}

/// The value of the version's column.
fn number(version: Version) -> Value {
    Value::Integer(version.number())
}

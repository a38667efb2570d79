//! The tables of aggregates: statements that insert, save and delete rows. The transaction has the write lock on the file, so every row is
//! locked.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::{Row as _, SqliteConnection};

use super::errors::{classify, is_duplicate};
use super::values::query;
use super::{load, statements};
use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Rows};
use crate::aggregate::value::Value;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::storage::aggregates::{AggregateRows, Hold, Removed, Write};
use crate::storage::generated;

/// The tables of aggregates at a time.
pub(super) struct AggregateTables<'c> {
    pub connection: &'c mut SqliteConnection,
    pub now: i64,
}

const KEEP_REVISION: &str = "
    insert into tenure_revision (kind, id, version, state, changed_at, by_id, by_name, command, shape)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?)
        on conflict (kind, id, version) do update
           set state = excluded.state, changed_at = excluded.changed_at, by_id = excluded.by_id,
               by_name = excluded.by_name, command = excluded.command, shape = excluded.shape";

const DISCARD_REVISIONS: &str = "delete from tenure_revision where kind = ? and id = ? and version <= ?";

const NOTE_REMOVED: &str = "
    insert into tenure_removed (kind, id, version, removed_at) values (?, ?, ?, ?)
        on conflict (kind, id) do update
           set version = max(version, excluded.version), removed_at = excluded.removed_at";

const REMOVED: &str = "select version from tenure_removed where kind = ? and id = ?";

#[async_trait]
impl AggregateRows for AggregateTables<'_> {
    fn now(&self) -> Value {
        Value::Integer(self.now)
    }

    fn audited_at(&self) -> Value {
        Value::Timestamp(self.now * 1000)
    }

    fn key(&self, key: &LockKey) -> [Value; 2] {
        [key.kind(), key.id()].map(|part| Value::Text(part.to_owned()))
    }

    async fn write(
        &mut self,
        mapping: &'static Mapping,
        write: Write<'_>,
        values: &[&Value],
    ) -> Result<u64, DatabaseError> {
        let statement = query(text(mapping, write), values.iter().copied());
        Ok(statement.execute(&mut *self.connection).await.map_err(classify)?.rows_affected())
    }

    async fn read(
        &mut self,
        mapping: &'static Mapping,
        id: &[Value],
        _hold: Hold,
    ) -> Result<Option<Stored>, DatabaseError> {
        load::load(self.connection, mapping, id).await
    }

    async fn insert_root(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        rows: &Rows,
        audit: &[Value],
    ) -> Result<Option<Removed>, DatabaseError> {
        let insert = |key: Option<&LockKey>| {
            let insert = query(statements::insert_root(mapping), rows.root.iter().chain(audit));
            insert.bind(key.map(LockKey::kind)).bind(key.map(LockKey::id))
        };
        let (inserted, removed) = match insert(Some(key)).execute(&mut *self.connection).await {
            Ok(done) if done.rows_affected() == 0 => {
                let removed = self.removed(key).await?;
                (insert(None).execute(&mut *self.connection).await, removed)
            }
            inserted => (inserted, None),
        };
        match inserted {
            Ok(_) => Ok(Some(removed)),
            // Only a duplicate id is expected; another unique column is a constraint of the table.
            Err(error) => {
                let id = &rows.root[..mapping.root.key];
                let taken = is_duplicate(&error) && load::load(self.connection, mapping, id).await?.is_some();
                if taken { Ok(None) } else { Err(classify(error)) }
            }
        }
    }

    async fn insert_generated(
        &mut self,
        mapping: &'static Mapping,
        rows: &Rows,
        audit: &[Value],
    ) -> Result<i64, DatabaseError> {
        let insert = query(statements::insert_generated(mapping), rows.root[mapping.root.key..].iter().chain(audit));
        let row = insert.fetch_one(&mut *self.connection).await.map_err(classify)?;
        generated(mapping, row.try_get(0).map_err(classify)?)
    }

    async fn removed(&mut self, key: &LockKey) -> Result<Removed, DatabaseError> {
        let read = sqlx::query(REMOVED).bind(key.kind()).bind(key.id());
        let row = read.fetch_optional(&mut *self.connection).await.map_err(classify)?;
        row.map(|row| row.try_get(0)).transpose().map_err(classify)
    }
}

/// The text of a statement.
fn text(mapping: &'static Mapping, write: Write<'_>) -> Arc<str> {
    match write {
        Write::UpdateRoot { changed, .. } => statements::update_root(mapping, changed),
        Write::DeleteRoot => statements::delete_root(mapping),
        Write::InsertChildren(table, count) => statements::insert_children(mapping, table, count),
        Write::UpdateChild(table, changed) => statements::update_child(mapping, table, changed),
        Write::DeleteChild(table) => statements::delete_child(mapping, table),
        Write::DeleteChildren(table) => statements::delete_children(mapping, table),
        Write::KeepRevision => KEEP_REVISION.into(),
        Write::DiscardRevisions => DISCARD_REVISIONS.into(),
        Write::NoteRemoved => NOTE_REMOVED.into(),
    }
}

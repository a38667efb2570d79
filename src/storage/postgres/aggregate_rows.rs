//! The tables of aggregates: statements that insert, save and delete rows.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::{PgConnection, Row as _};

use super::errors::classify;
use super::load;
use super::statements::{self, RowLock};
use super::values::query;
use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Rows};
use crate::aggregate::value::{Kind, Value};
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::storage::aggregates::{AggregateRows, Hold, Removed, Write};
use crate::storage::generated;

/// The tables of aggregates, at a time if one is given.
pub(super) struct AggregateTables<'c> {
    pub connection: &'c mut PgConnection,
    pub now: Option<i64>,
}

const KEEP_REVISION: &str = "
    insert into tenure_revision (kind, id, version, state, changed_at, by_id, by_name, command, shape)
    values ($1, $2, $3, $4, tenure_now($5), $6, $7, $8, $9)
        on conflict (kind, id, version) do update
           set state = excluded.state, changed_at = excluded.changed_at, by_id = excluded.by_id,
               by_name = excluded.by_name, command = excluded.command, shape = excluded.shape";

const DISCARD_REVISIONS: &str = "delete from tenure_revision where kind = $1 and id = $2 and version <= $3";

const NOTE_REMOVED: &str = "
    insert into tenure_removed as r (kind, id, version, removed_at) values ($1, $2, $3, tenure_now($4))
        on conflict (kind, id) do update
           set version = greatest(r.version, excluded.version), removed_at = excluded.removed_at";

#[async_trait]
impl AggregateRows for AggregateTables<'_> {
    fn now(&self) -> Value {
        self.now.map_or(Value::Null(Kind::Integer), Value::Integer)
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
        hold: Hold,
    ) -> Result<Option<Stored>, DatabaseError> {
        let lock = match hold {
            Hold::Share => RowLock::Share,
            Hold::Update => RowLock::Update,
        };
        load::load(self.connection, mapping, id, lock).await
    }

    async fn insert_root(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        rows: &Rows,
        audit: &[Value],
    ) -> Result<Option<Removed>, DatabaseError> {
        let insert = query(statements::insert_root(mapping), rows.root.iter().chain(audit));
        let insert = insert.bind(Version::FIRST.number()).bind(key.kind()).bind(key.id());
        let row = insert.fetch_optional(&mut *self.connection).await.map_err(classify)?;
        row.map(|row| row.try_get(0)).transpose().map_err(classify)
    }

    async fn insert_generated(
        &mut self,
        mapping: &'static Mapping,
        rows: &Rows,
        audit: &[Value],
    ) -> Result<i64, DatabaseError> {
        let values = rows.root[mapping.root.key..].iter().chain(audit);
        let insert = query(statements::insert_generated(mapping), values).bind(Version::FIRST.number());
        let row = insert.fetch_one(&mut *self.connection).await.map_err(classify)?;
        generated(mapping, row.try_get(0).map_err(classify)?)
    }

    async fn removed(&mut self, key: &LockKey) -> Result<Removed, DatabaseError> {
        let read = sqlx::query_scalar("select tenure_removed_version($1, $2)").bind(key.kind()).bind(key.id());
        read.fetch_one(&mut *self.connection).await.map_err(classify)
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

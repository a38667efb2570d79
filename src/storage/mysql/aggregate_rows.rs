//! The tables of aggregates: statements that insert, save and delete rows.
//!
//! The collation of the application's own column decides whether two ids are equal.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::Row as _;

use super::columns::clock;
use super::deadline::{Flavour, RowLock};
use super::errors::{classify, is_duplicate};
use super::session::{Session, Statement};
use super::values::query;
use super::{load, statements};
use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Rows};
use crate::aggregate::value::{Kind, Value};
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::storage::aggregates::{AggregateRows, Hold, Removed, Write};
use crate::storage::generated;

/// The tables of aggregates, at a time if one is given.
pub(super) struct AggregateTables<'s> {
    pub session: &'s mut Session,
    pub now: Option<i64>,
}

const KEEP_REVISION: &str = concat!(
    "insert into tenure_revision (kind, id, version, state, changed_at, by_id, by_name, command, shape)
     values (?, ?, ?, ?, ",
    clock!("?"),
    ", ?, ?, ?, ?)
         on duplicate key update state = values(state), changed_at = values(changed_at), by_id = values(by_id),
            by_name = values(by_name), command = values(command), shape = values(shape)"
);

const DISCARD_REVISIONS: &str = "delete from tenure_revision where kind = ? and id = ? and version <= ?";

const NOTE_REMOVED: &str = concat!(
    "insert into tenure_removed (kind, id, version, removed_at) values (?, ?, ?, ",
    clock!("?"),
    ") on duplicate key update version = greatest(version, values(version)), removed_at = values(removed_at)"
);

const REMOVED: &str = "select version from tenure_removed where kind = ? and id = ?";

#[async_trait]
impl AggregateRows for AggregateTables<'_> {
    fn now(&self) -> Value {
        self.now.map_or(Value::Null(Kind::Integer), Value::Integer)
    }

    fn key(&self, key: &LockKey) -> [Value; 2] {
        [key.kind(), key.id()].map(|part| Value::Bytes(part.as_bytes().to_vec()))
    }

    async fn write(
        &mut self,
        mapping: &'static Mapping,
        write: Write<'_>,
        values: &[&Value],
    ) -> Result<u64, DatabaseError> {
        if let Write::UpdateRoot { id, .. } = write {
            self.lock_first(mapping, id).await?;
        }
        self.session.write(query(text(mapping, write), values.iter().copied())).await.map_err(classify)
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
        load::load(self.session, mapping, id, lock).await
    }

    async fn insert_root(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        rows: &Rows,
        audit: &[Value],
    ) -> Result<Option<Removed>, DatabaseError> {
        let id = &rows.root[..mapping.root.key];
        self.lock_first(mapping, id).await?;
        match self.try_insert_root(mapping, key, rows, audit).await? {
            Ok(removed) => Ok(Some(removed)),
            // Only a duplicate id is expected; another unique column is a constraint of the table. The transaction continues.
            Err(error) => {
                let taken =
                    is_duplicate(&error) && load::load(self.session, mapping, id, RowLock::None).await?.is_some();
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
        let values = rows.root[mapping.root.key..].iter().chain(audit);
        let insert = query(statements::insert_generated(mapping), values).bind(Version::FIRST.number());
        let id = self.session.execute(insert).await.map_err(classify)?.last_insert_id();
        generated(mapping, i64::try_from(id).ok().filter(|id| *id > 0))
    }

    async fn removed(&mut self, key: &LockKey) -> Result<Removed, DatabaseError> {
        let read = Statement::new(REMOVED).bind(key.kind().as_bytes()).bind(key.id().as_bytes());
        // It locks, because MySQL might otherwise return an older state, see `load::afterwards`.
        let row = self.session.fetch_locked(read, RowLock::Share).await.map_err(classify)?;
        row.map(|row| row.try_get(0)).transpose().map_err(classify)
    }
}

impl AggregateTables<'_> {
    /// On MySQL only a locking read can wait for less than a second, so it locks the root before the write. On MariaDB every statement can.
    async fn lock_first(&mut self, mapping: &'static Mapping, id: &[Value]) -> Result<(), DatabaseError> {
        if self.session.flavour() == Flavour::MySql {
            let select = query(statements::select_root(mapping), id);
            self.session.fetch_locked(select, RowLock::Update).await.map_err(classify)?;
        }
        Ok(())
    }

    /// Inserts the root as version 1. Both databases read the removed version after the insert; MySQL needs a second statement.
    async fn try_insert_root(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        rows: &Rows,
        audit: &[Value],
    ) -> Result<Result<Removed, sqlx::Error>, DatabaseError> {
        let flavour = self.session.flavour();
        let insert = query(statements::insert_root(mapping, flavour), rows.root.iter().chain(audit));
        let insert = insert.bind(Version::FIRST.number());
        match flavour {
            Flavour::MariaDb => {
                let insert = insert.bind(key.kind().as_bytes()).bind(key.id().as_bytes());
                let row = self.session.write_returning(insert).await;
                Ok(row.and_then(|row| row.map_or(Ok(None), |row| row.try_get(0))))
            }
            Flavour::MySql => match self.session.write(insert).await {
                Ok(_) => self.removed(key).await.map(Ok),
                Err(error) => Ok(Err(error)),
            },
        }
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

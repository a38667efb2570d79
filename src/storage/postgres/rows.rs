//! Aggregates as rows: load, insert, save, delete. Root first, always.

use sqlx::{PgConnection, Row as _};

use super::errors::classify;
use super::statements::{self, RowLock};
use super::values::{bind, misfit, query, read};
use super::{load, removed};
use crate::aggregate::Stored;
use crate::aggregate::condition::Test;
use crate::aggregate::mapping::{Mapping, Row, Rows, Table};
use crate::aggregate::value::{Kind, Value};
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::storage::{Authorship, BulkChange, Save, Saved, child_found, generated};

/// The number of children that one statement inserts: small enough that the driver can cache a statement for every number.
const ROWS: usize = 32;

/// Inserts a new aggregate; `None` if the id exists already. Its version is 1, or the next one after that of an aggregate
/// that was deleted under this id.
pub(super) async fn insert(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    key: &LockKey,
    rows: &Rows,
    author: &Authorship,
    now: Option<i64>,
) -> Result<Option<Version>, DatabaseError> {
    let audit = audit(mapping, author, now);
    let insert = query(statements::insert_root(mapping), rows.root.iter().chain(&audit));
    let insert = insert.bind(Version::FIRST.number()).bind(key.kind()).bind(key.id());
    let Some(row) = insert.fetch_optional(&mut *connection).await.map_err(classify)? else { return Ok(None) };
    let version = Version::after_removed(row.try_get(0).map_err(classify)?)
        .map_err(|error| misfit(&mapping.root, &mapping.version, &error))?;
    complete(connection, mapping, rows, &audit, version).await?;
    Ok(Some(version))
}

/// Raises the version of a root that was inserted as version 1, and inserts its children.
async fn complete(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    rows: &Rows,
    audit: &[Value],
    version: Version,
) -> Result<(), DatabaseError> {
    if version != Version::FIRST {
        let raise = query(statements::update_root(mapping, &[]), audit).bind(version.number());
        let raise = rows.root[..mapping.root.key].iter().fold(raise, bind).bind(Version::FIRST.number());
        raise.execute(&mut *connection).await.map_err(classify)?;
    }
    for (table, children) in mapping.children.iter().zip(&rows.children) {
        insert_children(connection, mapping, table, &rows.root, &children.iter().collect::<Vec<_>>()).await?;
    }
    Ok(())
}

/// Inserts the root of a new aggregate whose id the database generates; returns the id.
pub(super) async fn insert_generated(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    rows: &Rows,
    author: &Authorship,
    now: Option<i64>,
) -> Result<i64, DatabaseError> {
    let audit = audit(mapping, author, now);
    let values = rows.root[mapping.root.key..].iter().chain(&audit);
    let insert = query(statements::insert_generated(mapping), values).bind(Version::FIRST.number());
    let row = insert.fetch_one(connection).await.map_err(classify)?;
    generated(mapping, row.try_get(0).map_err(classify)?)
}

/// Inserts the rest of an aggregate whose root was inserted as version 1.
pub(super) async fn complete_insert(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    key: &LockKey,
    rows: &Rows,
    author: &Authorship,
    now: Option<i64>,
) -> Result<Version, DatabaseError> {
    let removed = removed::version(connection, key).await?;
    let version = Version::after_removed(removed).map_err(|error| misfit(&mapping.root, &mapping.version, &error))?;
    complete(connection, mapping, rows, &audit(mapping, author, now), version).await?;
    Ok(version)
}

/// Writes the difference if the stored version is still the one that it is based on.
pub(super) async fn save(
    connection: &mut PgConnection,
    save: &Save<'_>,
    now: Option<i64>,
) -> Result<Saved, DatabaseError> {
    let (mapping, root) = (save.mapping, &save.rows.root);
    let id = &root[..mapping.root.key];
    let audit = audit(mapping, save.author, now);
    let changed = save.diff.root.iter().map(|&index| &root[index]);
    let update = query(statements::update_root(mapping, &save.diff.root), changed.chain(&audit));
    let update = id.iter().fold(update.bind(save.to.number()), bind).bind(save.from.number());
    if update.execute(&mut *connection).await.map_err(classify)?.rows_affected() == 0 {
        // With a lock, or it might return the state before the commit that this save waited for.
        return Ok(Saved::Stale(load::load(connection, mapping, id, RowLock::Share).await?));
    }
    // Deletes first, so that a new child may reuse a unique value of a deleted one; inner children before the outer ones.
    for (table, child) in mapping.children.iter().zip(&save.diff.children).rev() {
        for key in &child.deleted {
            let delete = query(statements::delete_child(mapping, table), mapping.stored(table, id, key));
            child_found(table, delete.execute(&mut *connection).await.map_err(classify)?.rows_affected())?;
        }
    }
    for (table, child) in mapping.children.iter().zip(&save.diff.children) {
        for (row, changed) in &child.updated {
            let values = changed.iter().map(|&index| &row[index]).chain(mapping.stored(table, id, &row[..table.key]));
            let update = query(statements::update_child(mapping, table, changed), values);
            child_found(table, update.execute(&mut *connection).await.map_err(classify)?.rows_affected())?;
        }
        insert_children(connection, mapping, table, root, &child.inserted).await?;
    }
    Ok(Saved::Done)
}

/// Deletes an aggregate if the version is still the one that was loaded.
pub(super) async fn delete(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    old: &Stored,
) -> Result<Saved, DatabaseError> {
    let id = &old.rows.root[..mapping.root.key];
    // The root is locked and its version checked before the children are deleted, so that a refusal has written nothing.
    let now = load::load(connection, mapping, id, RowLock::Update).await?;
    if now.as_ref().is_none_or(|now| now.version != old.version) {
        return Ok(Saved::Stale(now));
    }
    for table in mapping.children.iter().rev() {
        let delete = query(statements::delete_children(mapping, table), id);
        delete.execute(&mut *connection).await.map_err(classify)?;
    }
    query(statements::delete_root(mapping), id).execute(&mut *connection).await.map_err(classify)?;
    Ok(Saved::Done)
}

/// The ids of the matching aggregates, locked.
pub(super) async fn lock_matching(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    when: &Test,
) -> Result<Vec<Row>, DatabaseError> {
    let (select, values) = statements::lock_matching(mapping, when);
    let rows = query(select, &values).fetch_all(connection).await.map_err(classify)?;
    let id = mapping.root.key_alone();
    rows.iter().map(|row| read(&id, row, 0)).collect()
}

/// Changes all matching aggregates and raises their versions.
pub(super) async fn update_matching(
    connection: &mut PgConnection,
    change: &BulkChange<'_>,
    now: Option<i64>,
) -> Result<u64, DatabaseError> {
    let (update, values) = statements::update_matching(change, &audit(change.mapping, change.author, now));
    let done = query(update, &values).execute(connection).await.map_err(classify)?;
    Ok(done.rows_affected())
}

/// The values of the audit columns, if there are any. The default time is the server's.
fn audit(mapping: &'static Mapping, author: &Authorship, now: Option<i64>) -> Vec<Value> {
    let at = now.map_or(Value::Null(Kind::Integer), Value::Integer);
    mapping.audit.iter().flat_map(|audit| author.audit(audit, at.clone())).collect()
}

async fn insert_children(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    table: &'static Table,
    root: &Row,
    children: &[&Row],
) -> Result<(), DatabaseError> {
    for rows in children.chunks(ROWS) {
        let id = &root[..mapping.root.key];
        let values = rows.iter().flat_map(|row| mapping.stored(table, id, row));
        let insert = query(statements::insert_children(mapping, table, rows.len()), values);
        insert.execute(&mut *connection).await.map_err(classify)?;
    }
    Ok(())
}

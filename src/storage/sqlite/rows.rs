//! Aggregates as rows: load, insert, save, delete. Root first, always.

use sqlx::{Row as _, SqliteConnection};

use super::errors::{classify, is_duplicate};
use super::values::{bind, misfit, query, read};
use super::{load, removed, statements};
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
    connection: &mut SqliteConnection,
    mapping: &'static Mapping,
    key: &LockKey,
    rows: &Rows,
    author: &Authorship,
    now: i64,
) -> Result<Option<Version>, DatabaseError> {
    let audit = audit(mapping, author, now);
    let Some(inserted) = insert_root(connection, mapping, key, rows, &audit).await? else { return Ok(None) };
    for (table, children) in mapping.children.iter().zip(&rows.children) {
        insert_children(connection, mapping, table, &rows.root, &children.iter().collect::<Vec<_>>()).await?;
    }
    Ok(Some(inserted))
}

/// Inserts the root of a new aggregate whose id the database generates; returns the id.
pub(super) async fn insert_generated(
    connection: &mut SqliteConnection,
    mapping: &'static Mapping,
    rows: &Rows,
    author: &Authorship,
    now: i64,
) -> Result<i64, DatabaseError> {
    let audit = audit(mapping, author, now);
    let values = rows.root[mapping.root.key..].iter().chain(&audit);
    let insert = query(statements::insert_generated(mapping), values);
    let row = insert.fetch_one(connection).await.map_err(classify)?;
    generated(mapping, row.try_get(0).map_err(classify)?)
}

/// Inserts the rest of an aggregate whose root was inserted as version 1.
pub(super) async fn complete_insert(
    connection: &mut SqliteConnection,
    mapping: &'static Mapping,
    key: &LockKey,
    rows: &Rows,
    author: &Authorship,
    now: i64,
) -> Result<Version, DatabaseError> {
    let version = Version::after_removed(removed::version(connection, key).await?)
        .map_err(|error| misfit(&mapping.root, &mapping.version, &error))?;
    if version != Version::FIRST {
        let audit = audit(mapping, author, now);
        let raise = query(statements::update_root(mapping, &[]), &audit).bind(version.number());
        let raise = rows.root[..mapping.root.key].iter().fold(raise, bind).bind(Version::FIRST.number());
        raise.execute(&mut *connection).await.map_err(classify)?;
    }
    for (table, children) in mapping.children.iter().zip(&rows.children) {
        insert_children(connection, mapping, table, &rows.root, &children.iter().collect::<Vec<_>>()).await?;
    }
    Ok(version)
}

/// Inserts the root, and returns its version.
async fn insert_root(
    connection: &mut SqliteConnection,
    mapping: &'static Mapping,
    key: &LockKey,
    rows: &Rows,
    audit: &[Value],
) -> Result<Option<Version>, DatabaseError> {
    let root = || rows.root.iter().chain(audit);
    let first = query(statements::insert_root(mapping), root()).bind(key.kind()).bind(key.id());
    let (inserted, version) = match first.execute(&mut *connection).await {
        Ok(done) if done.rows_affected() == 0 => {
            let version = Version::after_removed(removed::version(connection, key).await?)
                .map_err(|error| misfit(&mapping.root, &mapping.version, &error))?;
            let next = query(statements::insert_successor(mapping), root()).bind(version.number());
            (next.execute(&mut *connection).await, version)
        }
        inserted => (inserted, Version::FIRST),
    };
    if let Err(error) = inserted {
        // Only a duplicate id is expected; another unique column is a constraint of the table.
        let id = &rows.root[..mapping.root.key];
        let taken = is_duplicate(&error) && load::load(connection, mapping, id).await?.is_some();
        return if taken { Ok(None) } else { Err(classify(error)) };
    }
    Ok(Some(version))
}

/// Writes the difference if the stored version is still the one that it is based on.
pub(super) async fn save(connection: &mut SqliteConnection, save: &Save<'_>, now: i64) -> Result<Saved, DatabaseError> {
    let (mapping, root) = (save.mapping, &save.rows.root);
    let id = &root[..mapping.root.key];
    let audit = audit(mapping, save.author, now);
    let changed = save.diff.root.iter().map(|&index| &root[index]);
    let update = query(statements::update_root(mapping, &save.diff.root), changed.chain(&audit));
    let update = id.iter().fold(update.bind(save.to.number()), bind).bind(save.from.number());
    if update.execute(&mut *connection).await.map_err(classify)?.rows_affected() == 0 {
        return Ok(Saved::Stale(load::load(connection, mapping, id).await?));
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
    connection: &mut SqliteConnection,
    mapping: &'static Mapping,
    old: &Stored,
) -> Result<Saved, DatabaseError> {
    let id = &old.rows.root[..mapping.root.key];
    // The version is checked before the children are deleted, so that a refusal has written nothing.
    let now = load::load(connection, mapping, id).await?;
    if now.as_ref().is_none_or(|now| now.version != old.version) {
        return Ok(Saved::Stale(now));
    }
    for table in mapping.children.iter().rev() {
        query(statements::delete_children(mapping, table), id).execute(&mut *connection).await.map_err(classify)?;
    }
    let delete = query(statements::delete_root(mapping), id).bind(old.version.number());
    delete.execute(&mut *connection).await.map_err(classify)?;
    Ok(Saved::Done)
}

/// The ids of the matching aggregates.
pub(super) async fn matching(
    connection: &mut SqliteConnection,
    mapping: &'static Mapping,
    when: &Test,
) -> Result<Vec<Row>, DatabaseError> {
    comparable(when)?;
    let (select, values) = statements::select_matching(mapping, when);
    let rows = query(select, &values).fetch_all(connection).await.map_err(classify)?;
    let id = mapping.root.key_alone();
    rows.iter().map(|row| read(&id, row, 0)).collect()
}

/// The number of matching roots.
pub(super) async fn count(
    connection: &mut SqliteConnection,
    mapping: &'static Mapping,
    when: &Test,
) -> Result<u64, DatabaseError> {
    comparable(when)?;
    let (select, values) = statements::count_matching(mapping, when);
    let row = query(select, &values).fetch_one(connection).await.map_err(classify)?;
    row.try_get::<i64, _>(0).map(i64::unsigned_abs).map_err(classify)
}

/// Refuses comparisons that SQLite would make in another order: as text, 9 is more than 10 and 1.0 is not 1.00; as floating-point numbers
/// decimals would be rounded.
fn comparable(when: &Test) -> Result<(), DatabaseError> {
    if when.compares(Kind::Decimal) {
        return Err(DatabaseError::Unsupported(
            "a condition on a decimal: SQLite has no decimals that it could compare",
        ));
    }
    Ok(())
}

/// Changes all matching aggregates and raises their versions.
pub(super) async fn update_matching(
    connection: &mut SqliteConnection,
    change: &BulkChange<'_>,
    now: i64,
) -> Result<u64, DatabaseError> {
    let (update, values) = statements::update_matching(change, &audit(change.mapping, change.author, now));
    let done = query(update, &values).execute(connection).await.map_err(classify)?;
    Ok(done.rows_affected())
}

/// The values of the audit columns, if there are any.
fn audit(mapping: &'static Mapping, author: &Authorship, now: i64) -> Vec<Value> {
    mapping.audit.iter().flat_map(|audit| author.audit(audit, Value::Timestamp(now * 1000))).collect()
}

async fn insert_children(
    connection: &mut SqliteConnection,
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

//! Aggregates as rows: load, insert, save, delete. Root first, always.
//!
//! The collation of the application's own column decides whether two ids are equal.

use sqlx::Row as _;

use super::deadline::{Flavour, RowLock};
use super::errors::{classify, is_duplicate};
use super::session::Session;
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
    session: &mut Session,
    mapping: &'static Mapping,
    key: &LockKey,
    rows: &Rows,
    author: &Authorship,
    now: Option<i64>,
) -> Result<Option<Version>, DatabaseError> {
    let id = &rows.root[..mapping.root.key];
    ask_first(session, mapping, id).await?;
    let audit = audit(mapping, author, now);
    let removed = match insert_root(session, mapping, key, rows, &audit).await? {
        Ok(removed) => removed,
        // Only a duplicate id is expected; another unique column is a constraint of the table. The transaction continues.
        Err(error) => {
            let taken = is_duplicate(&error) && load::load(session, mapping, id, RowLock::None).await?.is_some();
            return if taken { Ok(None) } else { Err(classify(error)) };
        }
    };
    let version = Version::after_removed(removed).map_err(|error| misfit(&mapping.root, &mapping.version, &error))?;
    complete(session, mapping, rows, &audit, version).await?;
    Ok(Some(version))
}

/// Raises the version of a root that was inserted as version 1, and inserts its children.
async fn complete(
    session: &mut Session,
    mapping: &'static Mapping,
    rows: &Rows,
    audit: &[Value],
    version: Version,
) -> Result<(), DatabaseError> {
    let id = &rows.root[..mapping.root.key];
    if version != Version::FIRST {
        let raise = query(statements::update_root(mapping, &[]), audit).bind(version.number());
        session.write(id.iter().fold(raise, bind).bind(Version::FIRST.number())).await.map_err(classify)?;
    }
    for (table, children) in mapping.children.iter().zip(&rows.children) {
        insert_children(session, mapping, table, &rows.root, &children.iter().collect::<Vec<_>>()).await?;
    }
    Ok(())
}

/// Inserts the root of a new aggregate whose id the database generates; returns the id.
pub(super) async fn insert_generated(
    session: &mut Session,
    mapping: &'static Mapping,
    rows: &Rows,
    author: &Authorship,
    now: Option<i64>,
) -> Result<i64, DatabaseError> {
    let audit = audit(mapping, author, now);
    let values = rows.root[mapping.root.key..].iter().chain(&audit);
    let insert = query(statements::insert_generated(mapping), values).bind(Version::FIRST.number());
    let id = session.execute(insert).await.map_err(classify)?.last_insert_id();
    generated(mapping, i64::try_from(id).ok().filter(|id| *id > 0))
}

/// Inserts the rest of an aggregate whose root was inserted as version 1.
pub(super) async fn complete_insert(
    session: &mut Session,
    mapping: &'static Mapping,
    key: &LockKey,
    rows: &Rows,
    author: &Authorship,
    now: Option<i64>,
) -> Result<Version, DatabaseError> {
    let removed = removed::version(session, key).await?;
    let version = Version::after_removed(removed).map_err(|error| misfit(&mapping.root, &mapping.version, &error))?;
    complete(session, mapping, rows, &audit(mapping, author, now), version).await?;
    Ok(version)
}

/// Inserts the root as version 1; returns the version of the aggregate that was deleted under its key, if any. Both databases read it after
/// the insert, which waits for a deleting transaction; MySQL needs a second statement.
async fn insert_root(
    session: &mut Session,
    mapping: &'static Mapping,
    key: &LockKey,
    rows: &Rows,
    audit: &[Value],
) -> Result<Result<Option<i64>, sqlx::Error>, DatabaseError> {
    let flavour = session.flavour();
    let insert = query(statements::insert_root(mapping, flavour), rows.root.iter().chain(audit));
    let insert = insert.bind(Version::FIRST.number());
    match flavour {
        Flavour::MariaDb => {
            let insert = insert.bind(key.kind().as_bytes()).bind(key.id().as_bytes());
            let row = session.write_returning(insert).await;
            Ok(row.and_then(|row| row.map_or(Ok(None), |row| row.try_get(0))))
        }
        Flavour::MySql => match session.write(insert).await {
            Ok(_) => removed::version(session, key).await.map(Ok),
            Err(error) => Ok(Err(error)),
        },
    }
}

/// Writes the difference if the stored version is still the one that it is based on.
pub(super) async fn save(session: &mut Session, save: &Save<'_>, now: Option<i64>) -> Result<Saved, DatabaseError> {
    let (mapping, root) = (save.mapping, &save.rows.root);
    let id = &root[..mapping.root.key];
    ask_first(session, mapping, id).await?;
    let audit = audit(mapping, save.author, now);
    let changed = save.diff.root.iter().map(|&index| &root[index]);
    let update = query(statements::update_root(mapping, &save.diff.root), changed.chain(&audit));
    let update = id.iter().fold(update.bind(save.to.number()), bind).bind(save.from.number());
    if session.write(update).await.map_err(classify)? == 0 {
        // With a lock, or it might return the state before the commit that this save waited for.
        return Ok(Saved::Stale(load::load(session, mapping, id, RowLock::Share).await?));
    }
    // Deletes first, so that a new child may reuse a unique value of a deleted one; inner children before the outer ones.
    for (table, child) in mapping.children.iter().zip(&save.diff.children).rev() {
        for key in &child.deleted {
            let delete = query(statements::delete_child(mapping, table), mapping.stored(table, id, key));
            child_found(table, session.write(delete).await.map_err(classify)?)?;
        }
    }
    for (table, child) in mapping.children.iter().zip(&save.diff.children) {
        for (row, changed) in &child.updated {
            let values = changed.iter().map(|&index| &row[index]).chain(mapping.stored(table, id, &row[..table.key]));
            let update = query(statements::update_child(mapping, table, changed), values);
            child_found(table, session.write(update).await.map_err(classify)?)?;
        }
        insert_children(session, mapping, table, root, &child.inserted).await?;
    }
    Ok(Saved::Done)
}

/// Deletes an aggregate if the version is still the one that was loaded.
pub(super) async fn delete(
    session: &mut Session,
    mapping: &'static Mapping,
    old: &Stored,
) -> Result<Saved, DatabaseError> {
    let id = &old.rows.root[..mapping.root.key];
    // The root is locked and its version checked before the children are deleted, so that a refusal has written nothing.
    let now = load::load(session, mapping, id, RowLock::Update).await?;
    if now.as_ref().is_none_or(|now| now.version != old.version) {
        return Ok(Saved::Stale(now));
    }
    for table in mapping.children.iter().rev() {
        session.write(query(statements::delete_children(mapping, table), id)).await.map_err(classify)?;
    }
    session.write(query(statements::delete_root(mapping), id)).await.map_err(classify)?;
    Ok(Saved::Done)
}

/// The ids of the matching aggregates, locked.
pub(super) async fn lock_matching(
    session: &mut Session,
    mapping: &'static Mapping,
    when: &Test,
) -> Result<Vec<Row>, DatabaseError> {
    let (select, values) = statements::select_matching(mapping, when);
    let rows = session.fetch_all_locked(query(select, &values), RowLock::Update).await.map_err(classify)?;
    let id = mapping.root.key_alone();
    rows.iter().map(|row| read(&id, row, 0)).collect()
}

/// Changes all matching aggregates and raises their versions.
pub(super) async fn update_matching(
    session: &mut Session,
    change: &BulkChange<'_>,
    now: Option<i64>,
) -> Result<u64, DatabaseError> {
    let (update, values) = statements::update_matching(change, &audit(change.mapping, change.author, now));
    session.write(query(update, &values)).await.map_err(classify)
}

/// The values of the audit columns, if there are any. The default time is the server's.
fn audit(mapping: &'static Mapping, author: &Authorship, now: Option<i64>) -> Vec<Value> {
    let at = now.map_or(Value::Null(Kind::Integer), Value::Integer);
    mapping.audit.iter().flat_map(|audit| author.audit(audit, at.clone())).collect()
}

async fn insert_children(
    session: &mut Session,
    mapping: &'static Mapping,
    table: &'static Table,
    root: &Row,
    children: &[&Row],
) -> Result<(), DatabaseError> {
    for rows in children.chunks(ROWS) {
        let id = &root[..mapping.root.key];
        let values = rows.iter().flat_map(|row| mapping.stored(table, id, row));
        let insert = query(statements::insert_children(mapping, table, rows.len()), values);
        session.write(insert).await.map_err(classify)?;
    }
    Ok(())
}

/// On MySQL only a locking read can wait for less than a second, so it locks the root before the write. On MariaDB every statement can.
async fn ask_first(session: &mut Session, mapping: &'static Mapping, id: &[Value]) -> Result<(), DatabaseError> {
    if session.flavour() == Flavour::MySql {
        let select = query(statements::select_root(mapping), id);
        session.fetch_locked(select, RowLock::Update).await.map_err(classify)?;
    }
    Ok(())
}

//! Loads aggregates, always of one consistent state.

use std::collections::HashMap;

use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Row};
use crate::aggregate::value::{Kind, Value};
use crate::aggregate::version::Version;
use crate::db::{Bind, Connection, RowLock, Statement};
use crate::error::DatabaseError;
use crate::store::whole::name;
use crate::store::{statements, whole};

/// Loads an aggregate. Without a lock one statement reads everything: other sessions may commit between two statements, but one statement
/// reads one state. With one, the root is locked first, and a later statement reads: one that had to wait would return the new root with the
/// old children.
pub(crate) async fn load(
    db: &mut Connection,
    mapping: &'static Mapping,
    id: &[Value],
    lock: RowLock,
) -> Result<Option<Stored>, DatabaseError> {
    if has_nul(db, id) {
        return Ok(None);
    }
    let mut after = RowLock::None;
    if let (Some(locks), true) = (&db.sheet().row_locks, lock != RowLock::None) {
        if mapping.children.is_empty() {
            after = lock;
        } else if version(db, mapping, id, lock).await?.is_none() {
            return Ok(None);
        } else {
            after = locks.rereads;
        }
    }
    let sql = statements::select_whole(db.sheet(), mapping);
    let rows = db.read(Statement::new(sql, id.iter().map(Bind::from).collect()), after).await?;
    whole::assemble(mapping, id, &rows)
}

/// Loads several aggregates, in the order of the ids: `None` where there is none, or where another transaction holds it and the lock skips it.
/// With a lock, the roots are locked one after the other, in the order of the ids; then a few aggregates are read per statement, each in a
/// consistent state.
pub(crate) async fn load_many(
    db: &mut Connection,
    mapping: &'static Mapping,
    ids: &[Row],
    lock: RowLock,
) -> Result<Vec<Option<Stored>>, DatabaseError> {
    let locks = db.sheet().row_locks.as_ref().filter(|_| lock != RowLock::None);
    if lock == RowLock::SkipLocked && locks.is_none() {
        let what = "this database has no row locks that could be skipped; use `find_many`";
        return Err(DatabaseError::Unsupported(what));
    }
    let after = locks.map_or(RowLock::None, |locks| locks.rereads);
    let mut wanted = Vec::with_capacity(ids.len());
    for id in ids {
        if !has_nul(db, id) && (locks.is_none() || version(db, mapping, id, lock).await?.is_some()) {
            wanted.push(id.clone());
        }
    }
    let mut found = HashMap::with_capacity(wanted.len());
    for stored in read_many(db, mapping, &wanted, after).await? {
        found.insert(name(&stored.rows.root[..mapping.root.key]), stored);
    }
    // One that is missing may be another spelling of a row, whose stored spelling is for the caller to refuse.
    wanted.retain(|id| !found.contains_key(&name(id)));
    let text = mapping.root.columns[..mapping.root.key].iter().any(|column| column.kind == Kind::Text);
    if text && !wanted.is_empty() && !read_many(db, mapping, &wanted, after).await?.is_empty() {
        for id in &wanted {
            if let Some(stored) = load(db, mapping, id, RowLock::None).await? {
                found.insert(name(id), stored);
            }
        }
    }
    Ok(ids.iter().map(|id| found.get(&name(id)).cloned()).collect())
}

/// Reads those of these aggregates that exist, in no particular order.
async fn read_many(
    db: &mut Connection,
    mapping: &'static Mapping,
    ids: &[Row],
    lock: RowLock,
) -> Result<Vec<Stored>, DatabaseError> {
    let mut all = Vec::with_capacity(ids.len());
    for ids in ids.chunks(whole::MANY) {
        let ids = whole::many(ids);
        let sql = statements::select_many(db.sheet(), mapping, ids.clone().count());
        let rows = db.read(Statement::new(sql, ids.flatten().map(Bind::from).collect()), lock).await?;
        all.extend(whole::assemble_many(mapping, &rows)?);
    }
    Ok(all)
}

/// The version of an aggregate, with this lock of its root.
pub(crate) async fn version(
    db: &mut Connection,
    mapping: &'static Mapping,
    id: &[Value],
    lock: RowLock,
) -> Result<Option<Version>, DatabaseError> {
    #[cfg(test)]
    if let Some(work) = db.simulated() {
        return work.version().await.map(Some);
    }
    if has_nul(db, id) {
        return Ok(None);
    }
    let sql = statements::select_version(db.sheet(), mapping);
    let rows = db.read(Statement::new(sql, id.iter().map(Bind::from).collect()), lock).await?;
    rows.first().map(|row| whole::version(mapping, id, row.integer_at(0)?)).transpose()
}

/// Whether no row can have this id.
fn has_nul(db: &Connection, id: &[Value]) -> bool {
    !db.sheet().has_nul && id.iter().any(|value| matches!(value, Value::Text(text) if text.contains('\0')))
}

//! Loads aggregates, always of one consistent state.

use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Row};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::db::{Bind, Connection, RowLock, Statement};
use crate::error::DatabaseError;
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

/// Another transaction holds the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowLocked;

/// As [`load`], and locks the root, but does not wait: the inner `Err` means that another transaction holds it.
pub(crate) async fn load_unlocked(
    db: &mut Connection,
    mapping: &'static Mapping,
    id: &[Value],
) -> Result<Result<Option<Stored>, RowLocked>, DatabaseError> {
    if db.sheet().row_locks.is_none() {
        let what = "this database has no row locks that could be skipped; use `find` with no wait";
        return Err(DatabaseError::Unsupported(what));
    }
    if let Some(stored) = load(db, mapping, id, RowLock::SkipLocked).await? {
        return Ok(Ok(Some(stored)));
    }
    // No row: it is locked, or it does not exist.
    let there = version(db, mapping, id, RowLock::None).await?.is_some();
    Ok(if there { Err(RowLocked) } else { Ok(None) })
}

/// Loads those of these aggregates that exist, in no particular order, a few per statement, each in a consistent state.
pub(crate) async fn load_many(
    db: &mut Connection,
    mapping: &'static Mapping,
    ids: &[Row],
) -> Result<Vec<Stored>, DatabaseError> {
    let ids: Vec<Row> = ids.iter().filter(|id| !has_nul(db, id)).cloned().collect();
    let mut all = Vec::with_capacity(ids.len());
    for ids in ids.chunks(whole::MANY) {
        let ids = whole::many(ids);
        let sql = statements::select_many(db.sheet(), mapping, ids.clone().count());
        let rows = db.read(Statement::new(sql, ids.flatten().map(Bind::from).collect()), RowLock::None).await?;
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
    rows.first().map(|row| whole::version(mapping, id, row.integer(0)?)).transpose()
}

/// Whether no row can have this id.
fn has_nul(db: &Connection, id: &[Value]) -> bool {
    !db.sheet().has_nul && id.iter().any(|value| matches!(value, Value::Text(text) if text.contains('\0')))
}

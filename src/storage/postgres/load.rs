//! Builds aggregates from rows, always of one consistent state.

use std::sync::Arc;

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::errors::classify;
use super::statements::{self, RowLock};
use super::values::{query, read};
use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Row, Rows};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::storage::sql::whole;

/// Loads an aggregate and locks its root, unless it is locked already: the root, then its children by statements of their
/// own. (One join would return the new root with the old children after it had to wait.)
pub(super) async fn load(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    id: &[Value],
    lock: RowLock,
) -> Result<Option<Stored>, DatabaseError> {
    let Some((version, root)) = load_root(connection, mapping, id, lock).await? else { return Ok(None) };
    let mut children = Vec::with_capacity(mapping.children.len());
    for table in &mapping.children {
        let select = query(statements::select_children(mapping, table), id);
        let rows = select.fetch_all(&mut *connection).await.map_err(classify)?;
        children.push(rows.iter().map(|row| read(table, row, 0)).collect::<Result<_, _>>()?);
    }
    Ok(Some(Stored { version, rows: Arc::new(Rows { root, children }) }))
}

/// Loads without a lock, by one statement: other sessions may commit between two statements, but one statement reads one state.
pub(super) async fn load_whole(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    id: &[Value],
) -> Result<Option<Stored>, DatabaseError> {
    if has_nul(id) {
        return Ok(None);
    }
    let select = query(statements::select_whole(mapping), id);
    let rows = select.fetch_all(connection).await.map_err(classify)?;
    let number = |row: &PgRow| row.try_get(0).map_err(classify);
    whole::assemble(mapping, &rows, number, |row| version(mapping, id, row, 1), read)
}

/// Loads several, a few per statement, each in a consistent state.
pub(super) async fn load_many(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    ids: &[Row],
) -> Result<Vec<Stored>, DatabaseError> {
    let ids: Vec<Row> = ids.iter().filter(|id| !has_nul(id)).cloned().collect();
    let mut all = Vec::with_capacity(ids.len());
    for ids in ids.chunks(whole::MANY) {
        let ids = whole::many(ids);
        let select = query(statements::select_many(mapping, ids.clone().count()), ids.flatten());
        let rows = select.fetch_all(&mut *connection).await.map_err(classify)?;
        let number = |row: &PgRow| row.try_get(0).map_err(classify);
        all.extend(whole::assemble_many(mapping, &rows, number, |row, id| version(mapping, id, row, 1), read)?);
    }
    Ok(all)
}

/// The version of an aggregate, with this lock.
pub(super) async fn version_now(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    id: &[Value],
    lock: RowLock,
) -> Result<Option<Version>, DatabaseError> {
    if has_nul(id) {
        return Ok(None);
    }
    let select = query(statements::select_version(mapping, lock), id);
    let row = select.fetch_optional(connection).await.map_err(classify)?;
    row.map(|row| version(mapping, id, &row, 0)).transpose()
}

/// Whether no row can have this id: PostgreSQL stores no text with NUL, and refuses to compare with one.
fn has_nul(id: &[Value]) -> bool {
    id.iter().any(|value| matches!(value, Value::Text(text) if text.contains('\0')))
}

async fn load_root(
    connection: &mut PgConnection,
    mapping: &'static Mapping,
    id: &[Value],
    lock: RowLock,
) -> Result<Option<(Version, Row)>, DatabaseError> {
    if has_nul(id) {
        return Ok(None);
    }
    let select = query(statements::select_root(mapping, lock), id);
    let Some(row) = select.fetch_optional(connection).await.map_err(classify)? else { return Ok(None) };
    Ok(Some((version(mapping, id, &row, 0)?, read(&mapping.root, &row, 1)?)))
}

/// The version in a row of the root.
fn version(mapping: &Mapping, id: &[Value], row: &PgRow, column: usize) -> Result<Version, DatabaseError> {
    whole::version(mapping, id, row.try_get(column).map_err(classify)?)
}

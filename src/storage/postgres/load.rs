//! Aggregates out of rows, and never half of one state and half of another.

use std::sync::Arc;

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::errors::classify;
use super::statements::{self, RowLock};
use super::values::{misfit, query, read};
use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Row, Rows};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::storage::whole;

/// Loads an aggregate whose root is locked, or gets locked by this: the root, then its children by statements of their
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

/// Loads without a lock, by one statement: others may commit between two, but one sees one moment.
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
    whole::assemble(mapping, &rows, number, |row| version(mapping, row, 1), read)
}

/// The version of an aggregate, locked as asked.
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
    row.map(|row| version(mapping, &row, 0)).transpose()
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
    Ok(Some((version(mapping, &row, 0)?, read(&mapping.root, &row, 1)?)))
}

/// The version in a row of the root.
fn version(mapping: &'static Mapping, row: &PgRow, column: usize) -> Result<Version, DatabaseError> {
    let number = row.try_get::<i64, _>(column).map_err(classify)?;
    Version::new(number).map_err(|error| misfit(&mapping.root, &mapping.version, &error))
}

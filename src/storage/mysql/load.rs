//! Aggregates out of rows, and never half of one state and half of another.

use std::sync::Arc;

use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use super::deadline::RowLock;
use super::errors::classify;
use super::session::Session;
use super::statements;
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
    session: &mut Session,
    mapping: &'static Mapping,
    id: &[Value],
    lock: RowLock,
) -> Result<Option<Stored>, DatabaseError> {
    let Some((version, root)) = load_root(session, mapping, id, lock).await? else { return Ok(None) };
    let mut children = Vec::with_capacity(mapping.children.len());
    for table in &mapping.children {
        let select = query(statements::select_children(mapping, table), id);
        let rows = session.fetch_all(select).await.map_err(classify)?;
        children.push(rows.iter().map(|row| read(table, row, 0)).collect::<Result<_, _>>()?);
    }
    Ok(Some(Stored { version, rows: Arc::new(Rows { root, children }) }))
}

/// Loads without a lock, by one statement: others may commit between two, but one sees one moment.
pub(super) async fn load_whole(
    session: &mut Session,
    mapping: &'static Mapping,
    id: &[Value],
) -> Result<Option<Stored>, DatabaseError> {
    let ids = std::iter::repeat_n(id, 1 + mapping.children.len()).flatten();
    let rows = session.fetch_all(query(statements::select_whole(mapping), ids)).await.map_err(classify)?;
    let number = |row: &MySqlRow| row.try_get(0).map_err(classify);
    whole::assemble(mapping, &rows, number, |row| version(mapping, row, 1), read)
}

/// The version of an aggregate, locked as asked.
pub(super) async fn version_now(
    session: &mut Session,
    mapping: &'static Mapping,
    id: &[Value],
    lock: RowLock,
) -> Result<Option<Version>, DatabaseError> {
    let select = query(statements::select_version(mapping), id);
    let row = session.fetch_locked(select, lock).await.map_err(classify)?;
    row.map(|row| version(mapping, &row, 0)).transpose()
}

async fn load_root(
    session: &mut Session,
    mapping: &'static Mapping,
    id: &[Value],
    lock: RowLock,
) -> Result<Option<(Version, Row)>, DatabaseError> {
    let select = query(statements::select_root(mapping), id);
    let Some(row) = session.fetch_locked(select, lock).await.map_err(classify)? else { return Ok(None) };
    Ok(Some((version(mapping, &row, 0)?, read(&mapping.root, &row, 1)?)))
}

/// The version in a row of the root.
fn version(mapping: &'static Mapping, row: &MySqlRow, column: usize) -> Result<Version, DatabaseError> {
    let number = row.try_get::<i64, _>(column).map_err(classify)?;
    Version::new(number).map_err(|error| misfit(&mapping.root, &mapping.version, &error))
}

//! Builds aggregates from rows, always of one consistent state.

use std::sync::Arc;

use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use super::deadline::{Flavour, RowLock};
use super::errors::classify;
use super::session::Session;
use super::statements;
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
    session: &mut Session,
    mapping: &'static Mapping,
    id: &[Value],
    lock: RowLock,
) -> Result<Option<Stored>, DatabaseError> {
    let Some((version, root)) = load_root(session, mapping, id, lock).await? else { return Ok(None) };
    let mut children = Vec::with_capacity(mapping.children.len());
    for table in &mapping.children {
        let select = query(statements::select_children(mapping, table), id);
        let rows = session.fetch_all_locked(select, afterwards(session.flavour(), lock)).await.map_err(classify)?;
        children.push(rows.iter().map(|row| read(table, row, 0)).collect::<Result<_, _>>()?);
    }
    Ok(Some(Stored { version, rows: Arc::new(Rows { root, children }) }))
}

/// The lock of reads that follow the lock of a root: on MySQL they lock too. Version 9.7 was seen to release the locks of a transaction a
/// moment before others see all of its changes.
pub(super) fn afterwards(flavour: Flavour, lock: RowLock) -> RowLock {
    match (flavour, lock) {
        (Flavour::MariaDb, _) | (_, RowLock::None) => RowLock::None,
        (Flavour::MySql, _) => RowLock::Share,
    }
}

/// Loads without a lock, by one statement: other sessions may commit between two statements, but one statement reads one state.
pub(super) async fn load_whole(
    session: &mut Session,
    mapping: &'static Mapping,
    id: &[Value],
) -> Result<Option<Stored>, DatabaseError> {
    let ids = std::iter::repeat_n(id, 1 + mapping.children.len()).flatten();
    let rows = session.fetch_all(query(statements::select_whole(mapping), ids)).await.map_err(classify)?;
    let number = |row: &MySqlRow| row.try_get(0).map_err(classify);
    whole::assemble(mapping, &rows, number, |row| version(mapping, id, row, 1), read)
}

/// Loads several, a few per statement, each in a consistent state.
pub(super) async fn load_many(
    session: &mut Session,
    mapping: &'static Mapping,
    ids: &[Row],
) -> Result<Vec<Stored>, DatabaseError> {
    let mut all = Vec::with_capacity(ids.len());
    for ids in ids.chunks(whole::MANY) {
        let ids = whole::many(ids);
        let values = (0..=mapping.children.len()).flat_map(|_| ids.clone().flatten());
        let select = query(statements::select_many(mapping, ids.clone().count()), values);
        let rows = session.fetch_all(select).await.map_err(classify)?;
        let number = |row: &MySqlRow| row.try_get(0).map_err(classify);
        all.extend(whole::assemble_many(mapping, &rows, number, |row, id| version(mapping, id, row, 1), read)?);
    }
    Ok(all)
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
    row.map(|row| version(mapping, id, &row, 0)).transpose()
}

async fn load_root(
    session: &mut Session,
    mapping: &'static Mapping,
    id: &[Value],
    lock: RowLock,
) -> Result<Option<(Version, Row)>, DatabaseError> {
    let select = query(statements::select_root(mapping), id);
    let Some(row) = session.fetch_locked(select, lock).await.map_err(classify)? else { return Ok(None) };
    Ok(Some((version(mapping, id, &row, 0)?, read(&mapping.root, &row, 1)?)))
}

/// The version in a row of the root.
fn version(mapping: &Mapping, id: &[Value], row: &MySqlRow, column: usize) -> Result<Version, DatabaseError> {
    whole::version(mapping, id, row.try_get(column).map_err(classify)?)
}

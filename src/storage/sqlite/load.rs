//! Builds aggregates from rows, always of one consistent state.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

use super::errors::classify;
use super::statements;
use super::values::{query, read};
use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Row};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::storage::sql::whole;

/// Loads by one statement: outside a transaction other sessions may commit between two statements, but one statement reads one state.
pub(super) async fn load(
    connection: &mut SqliteConnection,
    mapping: &'static Mapping,
    id: &[Value],
) -> Result<Option<Stored>, DatabaseError> {
    let ids = std::iter::repeat_n(id, 1 + mapping.children.len()).flatten();
    let select = query(statements::select_whole(mapping), ids);
    let rows = select.fetch_all(connection).await.map_err(classify)?;
    let number = |row: &SqliteRow| row.try_get(0).map_err(classify);
    whole::assemble(mapping, &rows, number, |row| version(mapping, id, row, 1), read)
}

/// Loads several, a few per statement, each in a consistent state.
pub(super) async fn load_many(
    connection: &mut SqliteConnection,
    mapping: &'static Mapping,
    ids: &[Row],
) -> Result<Vec<Stored>, DatabaseError> {
    let mut all = Vec::with_capacity(ids.len());
    for ids in ids.chunks(whole::MANY) {
        let ids = whole::many(ids);
        let values = (0..=mapping.children.len()).flat_map(|_| ids.clone().flatten());
        let select = query(statements::select_many(mapping, ids.clone().count()), values);
        let rows = select.fetch_all(&mut *connection).await.map_err(classify)?;
        let number = |row: &SqliteRow| row.try_get(0).map_err(classify);
        all.extend(whole::assemble_many(mapping, &rows, number, |row, id| version(mapping, id, row, 1), read)?);
    }
    Ok(all)
}

/// The version of an aggregate.
pub(super) async fn version_now(
    connection: &mut SqliteConnection,
    mapping: &'static Mapping,
    id: &[Value],
) -> Result<Option<Version>, DatabaseError> {
    let select = query(statements::select_version(mapping), id);
    let row = select.fetch_optional(connection).await.map_err(classify)?;
    row.map(|row| version(mapping, id, &row, 0)).transpose()
}

/// The version in a row of the root.
fn version(mapping: &Mapping, id: &[Value], row: &SqliteRow, column: usize) -> Result<Version, DatabaseError> {
    whole::version(mapping, id, row.try_get(column).map_err(classify)?)
}

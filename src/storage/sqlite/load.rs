//! Aggregates out of rows, and never half of one state and half of another.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

use super::errors::classify;
use super::statements;
use super::values::{misfit, query, read};
use crate::aggregate::Stored;
use crate::aggregate::mapping::Mapping;
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::storage::whole;

/// Loads by one statement: outside of a transaction others may commit between two, but one sees one moment.
pub(super) async fn load(
    connection: &mut SqliteConnection,
    mapping: &'static Mapping,
    id: &[Value],
) -> Result<Option<Stored>, DatabaseError> {
    let ids = std::iter::repeat_n(id, 1 + mapping.children.len()).flatten();
    let select = query(statements::select_whole(mapping), ids);
    let rows = select.fetch_all(connection).await.map_err(classify)?;
    let number = |row: &SqliteRow| row.try_get(0).map_err(classify);
    whole::assemble(mapping, &rows, number, |row| version(mapping, row, 1), read)
}

/// The version of an aggregate.
pub(super) async fn version_now(
    connection: &mut SqliteConnection,
    mapping: &'static Mapping,
    id: &[Value],
) -> Result<Option<Version>, DatabaseError> {
    let select = query(statements::select_version(mapping), id);
    let row = select.fetch_optional(connection).await.map_err(classify)?;
    row.map(|row| version(mapping, &row, 0)).transpose()
}

/// The version in a row of the root.
fn version(mapping: &'static Mapping, row: &SqliteRow, column: usize) -> Result<Version, DatabaseError> {
    let number = row.try_get::<i64, _>(column).map_err(classify)?;
    Version::new(number).map_err(|error| misfit(&mapping.root, &mapping.version, &error))
}

//! Aggregates out of rows, and never half of one state and half of another.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::errors::classify;
use super::statements::{self, RowLock};
use super::values::{misfit, query, read};
use crate::backend::Stored;
use crate::error::DatabaseError;
use crate::mapping::{Mapping, Row, Rows};
use crate::value::Value;
use crate::version::Version;

/// Loads an aggregate whose root is locked, or gets locked by this: the root, then its children by statements of their
/// own. (One join would return the new root with the old children after it had to wait.)
pub(super) async fn load(
    connection: &mut PgConnection,
    mapping: &Mapping,
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
    Ok(Some(Stored { version, rows: Rows { root, children } }))
}

/// Loads without a lock, at READ COMMITTED, where every statement sees another moment. So the children bring the version
/// along that the root has at theirs: if somebody saved in between, it has moved, and the aggregate is loaded again.
pub(super) async fn load_whole(
    connection: &mut PgConnection,
    mapping: &Mapping,
    id: &[Value],
) -> Result<Option<Stored>, DatabaseError> {
    'again: loop {
        let Some((version, root)) = load_root(connection, mapping, id, RowLock::None).await? else { return Ok(None) };
        let (mut children, mut known) = (Vec::with_capacity(mapping.children.len()), true);
        for table in &mapping.children {
            let select = query(statements::select_children_with_version(mapping, table), id);
            let rows = select.fetch_all(&mut *connection).await.map_err(classify)?;
            match rows.first() {
                Some(first) if at(first, table.columns.len())? != Some(version.number()) => continue 'again,
                Some(_) => {}
                // Nothing that could bring a version along.
                None => known = false,
            }
            children.push(rows.iter().map(|row| read(table, row, 0)).collect::<Result<_, _>>()?);
        }
        if known || version_now(connection, mapping, id, RowLock::None).await? == Some(version) {
            return Ok(Some(Stored { version, rows: Rows { root, children } }));
        }
    }
}

/// The version of an aggregate, locked as asked.
pub(super) async fn version_now(
    connection: &mut PgConnection,
    mapping: &Mapping,
    id: &[Value],
    lock: RowLock,
) -> Result<Option<Version>, DatabaseError> {
    let select = query(statements::select_version(mapping, lock), id);
    let row = select.fetch_optional(connection).await.map_err(classify)?;
    row.map(|row| version(mapping, &row)).transpose()
}

async fn load_root(
    connection: &mut PgConnection,
    mapping: &Mapping,
    id: &[Value],
    lock: RowLock,
) -> Result<Option<(Version, Row)>, DatabaseError> {
    let select = query(statements::select_root(mapping, lock), id);
    let Some(row) = select.fetch_optional(connection).await.map_err(classify)? else { return Ok(None) };
    Ok(Some((version(mapping, &row)?, read(&mapping.root, &row, 1)?)))
}

/// The version, which comes first in a row of the root.
fn version(mapping: &Mapping, row: &PgRow) -> Result<Version, DatabaseError> {
    let number = row.try_get::<i64, _>(0).map_err(classify)?;
    Version::new(number).map_err(|error| misfit(&mapping.root, &mapping.version, &error))
}

fn at(row: &PgRow, column: usize) -> Result<Option<i64>, DatabaseError> {
    row.try_get(column).map_err(classify)
}

//! Builds an aggregate that was read by one statement.
//!
//! The order of its rows is undefined. Sorting them here is also the same on every database, for any collation of a column.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, MappingError, Row, Rows, Table};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::db;
use crate::error::DatabaseError;

/// Builds the aggregate from the rows of a `select_whole`, children in the order of their keys. Each row has the number of its table (0 is
/// the root), the root's version, then the columns of all tables one after the other.
pub(super) fn assemble(mapping: &Mapping, id: &[Value], rows: &[db::Row]) -> Result<Option<Stored>, DatabaseError> {
    let (mut root, mut children) = (None, vec![Vec::new(); mapping.children.len()]);
    for row in rows {
        match number_of_child(row)? {
            Some(at) => children[at].push(row.read(&mapping.children[at], first_column(mapping, at))?),
            None => root = Some((version(mapping, id, row.integer_at(1)?)?, row.read(&mapping.root, 2)?)),
        }
    }
    for (table, rows) in mapping.children.iter().zip(&mut children) {
        sort(table, rows);
    }
    Ok(root.map(|(version, root)| Stored { version, rows: Arc::new(Rows { root, children }) }))
}

/// As [`assemble`], for the rows of a `select_many`, in which the root's id is between the version and the columns.
pub(super) fn assemble_many(mapping: &Mapping, rows: &[db::Row]) -> Result<Vec<Stored>, DatabaseError> {
    let (id_alone, shift) = (mapping.root.key_alone(), mapping.root.key);
    let (mut roots, mut children) = (Vec::new(), HashMap::<String, Vec<Vec<Row>>>::new());
    for row in rows {
        let id = row.read(&id_alone, 2)?;
        match number_of_child(row)? {
            Some(at) => {
                let found = row.read(&mapping.children[at], shift + first_column(mapping, at))?;
                children.entry(name(&id)).or_insert_with(|| vec![Vec::new(); mapping.children.len()])[at].push(found);
            }
            None => roots.push((version(mapping, &id, row.integer_at(1)?)?, row.read(&mapping.root, shift + 2)?, id)),
        }
    }
    let stored = |(version, root, id): (Version, Row, Row)| {
        let mut children = children.remove(&name(&id)).unwrap_or_else(|| vec![Vec::new(); mapping.children.len()]);
        for (table, rows) in mapping.children.iter().zip(&mut children) {
            sort(table, rows);
        }
        Stored { version, rows: Arc::new(Rows { root, children }) }
    };
    Ok(roots.into_iter().map(stored).collect())
}

/// An id as the key of a map: values have no hash of their own, and those of an id have one text each.
pub(super) fn name(id: &[Value]) -> String {
    format!("{id:?}")
}

/// The collection of a row; `None`: it is the root.
fn number_of_child(row: &db::Row) -> Result<Option<usize>, DatabaseError> {
    Ok(row.integer_at(0)?.and_then(|number| usize::try_from(number - 1).ok()))
}

/// The number of ids in a `select_many` for this number of ids: a power of two, so that few statements serve all numbers. The
/// last id is repeated.
pub(super) fn many(ids: &[Row]) -> impl Iterator<Item = &Row> + Clone {
    let last = ids.last().into_iter().cycle();
    ids.iter().chain(last).take(ids.len().next_power_of_two())
}

/// The maximum number of aggregates that one statement loads.
pub(super) const MANY: usize = 32;

/// The version in the row with this id. NULL is refused: no save could find the row again by `version = ?`.
pub(super) fn version(mapping: &Mapping, id: &[Value], number: Option<i64>) -> Result<Version, DatabaseError> {
    let refused = |what: String| MappingError::new(&mapping.root.name, &mapping.version, what).into();
    let columns = mapping.root.columns.iter().map(|column| &column.name);
    let row = || columns.zip(id).map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ");
    let Some(number) = number else {
        let (table, version) = (&mapping.root.name, &mapping.version);
        let row = row();
        return Err(refused(format!(
            "the row where {row} has no version, it is NULL; run `update {table} set {version} = 0 where {version} is null`, \
             then make the column `not null`"
        )));
    };
    Version::new(number).map_err(|error| refused(format!("the row where {}: {error}", row())))
}

/// The index of the first column of a child collection.
fn first_column(mapping: &Mapping, child: usize) -> usize {
    let before = mapping.children[..child].iter().map(|table| table.columns.len());
    2 + mapping.root.columns.len() + before.sum::<usize>()
}

/// Sorts rows of a table: numbers by size, texts by their bytes.
fn sort(table: &Table, rows: &mut [Row]) {
    rows.sort_by(|one, other| {
        let pairs = one[..table.key].iter().zip(&other[..table.key]);
        pairs.map(|(one, other)| compare(one, other)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
}

/// Keys are never null, and have one kind per column; decimals and JSON cannot be keys.
fn compare(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Integer(one), Value::Integer(other)) | (Value::Timestamp(one), Value::Timestamp(other)) => {
            one.cmp(other)
        }
        (Value::Real(one), Value::Real(other)) => one.total_cmp(other),
        (Value::Text(one), Value::Text(other))
        | (Value::Date(one), Value::Date(other))
        | (Value::DateTime(one), Value::DateTime(other))
        | (Value::Time(one), Value::Time(other)) => one.cmp(other),
        (Value::Bytes(one), Value::Bytes(other)) => one.cmp(other),
        (Value::Uuid(one), Value::Uuid(other)) => one.cmp(other),
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::aggregate::mapping::Column;
    use crate::aggregate::value::Kind;

    #[test]
    fn keys_sort_numerically_bytewise_and_by_first_column() {
        let columns = vec![Column::new("no", "no", Kind::Integer), Column::new("name", "name", Kind::Text)];
        let table = Table { name: "t".into(), path: "t".into(), owner: vec![], parent: None, columns, key: 2 };
        let row = |no, name: &str| vec![Value::Integer(no), Value::Text(name.into())];
        let mut rows = vec![row(10, "a"), row(9, "b"), row(9, "가"), row(9, "B")];
        sort(&table, &mut rows);
        assert_eq!(rows, [row(9, "B"), row(9, "b"), row(9, "가"), row(10, "a")]);
    }
}

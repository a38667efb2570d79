//! The application's tables as the database describes them.

use crate::aggregate::schema::{LiveColumn, LiveTable};
use crate::db::{Bind, Connection, RowLock};
use crate::error::DatabaseError;

/// Describes a table; `None` if it does not exist.
pub(super) async fn table(db: &mut Connection, name: &str) -> Result<Option<LiveTable>, DatabaseError> {
    let catalog = db.sheet().catalog;
    let (schema, name) = name.split_once('.').map_or((None, name), |(schema, name)| (Some(schema), name));
    let of = || [schema.into(), Bind::from(name)];
    let rows = db.read(catalog.columns.with(of()), RowLock::None).await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let mut table = LiveTable { exact_names: catalog.exact_names, ..LiveTable::default() };
    for row in &rows {
        table.columns.push(LiveColumn {
            name: row.text(0)?.unwrap_or_default(),
            type_name: row.text(1)?.unwrap_or_default(),
            kinds: (catalog.kinds)(&row.text(2)?.unwrap_or_default()),
            cast: row.text(3)?,
            nullable: row.integer(4)? == Some(1),
            filled: row.integer(5)? == Some(1),
            folds: row.text(6)?,
        });
    }
    // The name of an index, whether it is unique, and its columns: none if one of them is an expression.
    let mut indexes = Vec::<(Option<String>, bool, Option<Vec<String>>)>::new();
    for row in db.read(catalog.indexes.with(of()), RowLock::None).await? {
        let (index, whole, column) = (row.text(0)?, row.integer(1)? == Some(1), row.text(2)?);
        match indexes.last_mut() {
            Some((last, unique, columns)) if *last == index => {
                *unique &= whole;
                *columns = columns.take().zip(column).map(|(columns, column)| [columns, vec![column]].concat());
            }
            _ => indexes.push((index, whole, column.map(|column| vec![column]))),
        }
    }
    for (unique, columns) in indexes.into_iter().filter_map(|(_, unique, columns)| Some((unique, columns?))) {
        if unique {
            table.unique.push(columns.clone());
        }
        table.indexes.push(columns);
    }
    Ok(Some(table))
}

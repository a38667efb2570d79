//! The application's tables as SQLite describes them.

use sqlx::{Row as _, SqliteConnection};

use super::errors::classify;
use crate::aggregate::schema::{LiveColumn, LiveTable};
use crate::aggregate::value::Kind;
use crate::error::DatabaseError;

/// Describes a table; `None` if it does not exist.
pub(crate) async fn table(connection: &mut SqliteConnection, name: &str) -> Result<Option<LiveTable>, DatabaseError> {
    let (schema, name) = match name.split_once('.') {
        Some((schema, name)) => (Some(schema), name),
        None => (None, name),
    };
    let columns =
        sqlx::query("select name, type, `notnull`, dflt_value is not null, pk, hidden from pragma_table_xinfo(?, ?)")
            .bind(name)
            .bind(schema)
            .fetch_all(&mut *connection)
            .await
            .map_err(classify)?;
    if columns.is_empty() {
        return Ok(None);
    }
    let mut table = LiveTable::default();
    let mut key = Vec::<(i64, String)>::new();
    for row in &columns {
        let name: String = row.try_get(0).map_err(classify)?;
        let type_name: String = row.try_get(1).map_err(classify)?;
        let flag = |at: usize| row.try_get::<i64, _>(at).map_err(classify);
        let place = flag(4)?;
        if place > 0 {
            key.push((place, name.clone()));
        }
        table.columns.push(LiveColumn {
            kinds: kinds(&type_name),
            name,
            type_name,
            // A primary key may be NULL unless it was declared otherwise; a row with NULL has no id, and is never found.
            nullable: flag(2)? == 0 && place == 0,
            filled: flag(3)? != 0 || flag(5)? != 0,
            ..LiveColumn::default()
        });
    }
    key.sort();
    let key: Vec<String> = key.into_iter().map(|(_, name)| name).collect();
    if let [only] = &key[..]
        && let Some(column) = table.columns.iter_mut().find(|column| column.name == *only)
    {
        // An alias of the rowid, which SQLite generates.
        column.filled |= column.type_name.eq_ignore_ascii_case("integer");
    }
    if !key.is_empty() {
        table.unique.push(key.clone());
        table.indexes.push(key);
    }
    indexes(connection, schema, name, &mut table).await?;
    Ok(Some(table))
}

async fn indexes(
    connection: &mut SqliteConnection,
    schema: Option<&str>,
    name: &str,
    table: &mut LiveTable,
) -> Result<(), DatabaseError> {
    let rows = sqlx::query(
        "select list.name, list.`unique`, list.partial, info.name, info.coll
           from pragma_index_list(?, ?) list, pragma_index_xinfo(list.name, ?) info where info.key order by list.seq, info.seqno",
    )
    .bind(name)
    .bind(schema)
    .bind(schema)
    .fetch_all(connection)
    .await
    .map_err(classify)?;
    let mut found = Vec::<(String, bool, Option<Vec<String>>)>::new();
    for row in &rows {
        let index: String = row.try_get(0).map_err(classify)?;
        let [unique, partial] = [1, 2].map(|at| row.try_get::<i64, _>(at).map(|flag| flag != 0));
        let (unique, partial) = (unique.map_err(classify)?, partial.map_err(classify)?);
        // An expression has no name, and an index on one does not cover a column.
        let column: Option<String> = row.try_get(3).map_err(classify)?;
        let collation: Option<String> = row.try_get(4).map_err(classify)?;
        if found.last().is_none_or(|(last, ..)| *last != index) {
            found.push((index, unique && !partial, (!partial).then(Vec::new)));
        }
        let Some((_, unique, columns)) = found.last_mut() else { continue };
        match column {
            Some(column) => {
                if let Some(collation) =
                    collation.filter(|collation| *unique && !collation.eq_ignore_ascii_case("binary"))
                    && let Some(column) = table.columns.iter_mut().find(|found| found.name == column)
                {
                    column.folds = Some(collation);
                }
                columns.iter_mut().for_each(|columns| columns.push(column.clone()));
            }
            None => *columns = None,
        }
    }
    for (_, unique, columns) in found {
        let Some(columns) = columns else { continue };
        if unique {
            table.unique.push(columns.clone());
        }
        table.indexes.push(columns);
    }
    Ok(())
}

/// The kinds that a column of this declared type stores unchanged, by its affinity: a text in a column of numbers becomes a
/// number if it looks like one.
fn kinds(declared: &str) -> Option<&'static [Kind]> {
    let declared = declared.to_ascii_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| declared.contains(word));
    Some(if has(&["INT"]) {
        &[Kind::Bool, Kind::Integer, Kind::Timestamp]
    } else if has(&["CHAR", "CLOB", "TEXT"]) {
        &[Kind::Text, Kind::Decimal, Kind::Bytes, Kind::Uuid, Kind::Json, Kind::Date, Kind::DateTime, Kind::Time]
    } else if declared.is_empty() || has(&["BLOB"]) {
        return None;
    } else if has(&["REAL", "FLOA", "DOUB"]) {
        &[Kind::Real]
    } else {
        // `numeric`, and every other word: `boolean`, `date`, `json`, `uuid`.
        &[
            Kind::Bool,
            Kind::Integer,
            Kind::Bytes,
            Kind::Uuid,
            Kind::Json,
            Kind::Timestamp,
            Kind::Date,
            Kind::DateTime,
            Kind::Time,
        ]
    })
}

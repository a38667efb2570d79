//! The application's tables as MariaDB and MySQL describe them.

use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use super::errors::classify;
use super::session::{Session, Statement};
use crate::aggregate::schema::{LiveColumn, LiveTable};
use crate::aggregate::value::Kind;
use crate::error::DatabaseError;

/// MySQL gives these names as bytes.
const COLUMNS: &str = "
    select convert(column_name using utf8mb4), convert(data_type using utf8mb4), convert(is_nullable using utf8mb4),
           convert(concat(coalesce(column_default, ''), extra) using utf8mb4), convert(collation_name using utf8mb4)
      from information_schema.columns
     where table_schema = coalesce(?, database()) and table_name = ? order by ordinal_position";

const INDEXES: &str = "
    select convert(index_name using utf8mb4), cast(non_unique as signed), convert(column_name using utf8mb4),
           cast(sub_part as signed)
      from information_schema.statistics
     where table_schema = coalesce(?, database()) and table_name = ? order by index_name, seq_in_index";

/// Describes a table; `None` if it does not exist.
pub(crate) async fn table(session: &mut Session, name: &str) -> Result<Option<LiveTable>, DatabaseError> {
    let (schema, name) = match name.split_once('.') {
        Some((schema, name)) => (Some(schema), name),
        None => (None, name),
    };
    let of = |sql: &'static str| Statement::new(sql).bind(schema).bind(name);
    let rows = session.fetch_all(of(COLUMNS)).await.map_err(classify)?;
    if rows.is_empty() {
        return Ok(None);
    }
    let mut table = LiveTable::default();
    for row in &rows {
        let [column, type_name, nullable, default] = [0, 1, 2, 3].map(|at| row.try_get::<String, _>(at));
        let type_name = type_name.map_err(classify)?.to_ascii_lowercase();
        let collation: Option<String> = row.try_get(4).map_err(classify)?;
        let default = default.map_err(classify)?;
        table.columns.push(LiveColumn {
            name: column.map_err(classify)?,
            kinds: kinds(&type_name),
            type_name,
            cast: None,
            nullable: nullable.map_err(classify)? == "YES",
            filled: !default.is_empty(),
            folds: collation.filter(|name| folds(name)),
        });
    }
    let rows = session.fetch_all(of(INDEXES)).await.map_err(classify)?;
    let mut indexes = Vec::<(String, Option<Vec<String>>, bool)>::new();
    for row in &rows {
        let (index, column, whole, unique) = part(row).map_err(classify)?;
        if indexes.last().is_none_or(|(last, ..)| *last != index) {
            indexes.push((index, Some(Vec::new()), unique));
        }
        let Some((_, columns, unique)) = indexes.last_mut() else { continue };
        // An expression has no name. A prefix can find rows, but it is unique for fewer of them than the column.
        match column {
            Some(column) => columns.iter_mut().for_each(|columns| columns.push(column.clone())),
            None => *columns = None,
        }
        *unique &= whole;
    }
    for (_, columns, unique) in indexes {
        let Some(columns) = columns else { continue };
        if unique {
            table.unique.push(columns.clone());
        }
        table.indexes.push(columns);
    }
    Ok(Some(table))
}

/// A part of an index: its name, the column, whether the whole column counts, and whether the index is unique.
fn part(row: &MySqlRow) -> Result<(String, Option<String>, bool, bool), sqlx::Error> {
    let prefix: Option<i64> = row.try_get(3)?;
    Ok((row.try_get(0)?, row.try_get(2)?, prefix.is_none(), row.try_get::<i64, _>(1)? == 0))
}

/// Whether different texts are equal by this collation: also `utf8mb4_bin`, which ignores trailing spaces.
fn folds(collation: &str) -> bool {
    !(collation.ends_with("nopad_bin") || collation.ends_with("0900_bin") || collation == "binary")
}

/// The kinds that the statements of a mapping can write to a column of this type.
fn kinds(type_name: &str) -> Option<&'static [Kind]> {
    Some(match type_name {
        "tinyint" | "bit" => &[Kind::Bool, Kind::Integer],
        "smallint" | "mediumint" | "int" | "bigint" => &[Kind::Integer, Kind::Bool],
        "decimal" => &[Kind::Decimal, Kind::Integer, Kind::Real],
        "float" | "double" => &[Kind::Real],
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "enum" | "set" => &[Kind::Text, Kind::Json],
        // MariaDB's `json` is one.
        "longtext" => &[Kind::Text, Kind::Json],
        "json" => &[Kind::Json],
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => &[Kind::Bytes, Kind::Uuid],
        "uuid" => &[Kind::Uuid],
        "timestamp" => &[Kind::Timestamp],
        "datetime" => &[Kind::Timestamp, Kind::DateTime],
        "date" => &[Kind::Date],
        "time" => &[Kind::Time],
        _ => return None,
    })
}

//! Values to and from SQLite, as numbers, text and bytes.

use std::sync::Arc;

use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _, Sqlite, TypeInfo as _, ValueRef as _};

use crate::aggregate::mapping::{Column, MappingError, Row, Table};
use crate::aggregate::value::{Kind, Value};
use crate::error::DatabaseError;

type Query<'q> = sqlx::query::Query<'q, Sqlite, SqliteArguments>;

/// A statement with its values.
pub(super) fn query<'q, 'v>(sql: impl Into<Arc<str>>, values: impl IntoIterator<Item = &'v Value>) -> Query<'q> {
    values.into_iter().fold(sqlx::query(AssertSqlSafe(sql.into())), bind)
}

pub(super) fn bind<'q>(query: Query<'q>, value: &Value) -> Query<'q> {
    match value {
        // An invalid value is never saved, and as an id it matches no row.
        Value::Null(_) | Value::Invalid(..) => query.bind(None::<i64>),
        Value::Bool(value) => query.bind(*value),
        Value::Integer(value) | Value::Timestamp(value) => query.bind(*value),
        Value::Real(value) => query.bind(*value),
        Value::Text(value) => query.bind(value.clone()),
        Value::Bytes(value) => query.bind(value.clone()),
        Value::Uuid(value) => query.bind(value.to_vec()),
        Value::Decimal(_) | Value::Json(_) | Value::Date(_) | Value::DateTime(_) | Value::Time(_) => {
            query.bind(value.to_string())
        }
    }
}

/// The columns of a table, starting at this one.
pub(super) fn read(table: &Table, row: &SqliteRow, first: usize) -> Result<Row, DatabaseError> {
    let read = |(index, column): (usize, &Column)| {
        read_column(row, first + index, column).map_err(|error| misfit(table, &column.name, &*error))
    };
    table.columns.iter().enumerate().map(read).collect()
}

fn read_column(
    row: &SqliteRow,
    index: usize,
    column: &Column,
) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
    let value = match column.kind {
        Kind::Bool => row.try_get::<Option<bool>, _>(index)?.map(Value::Bool),
        Kind::Integer => row.try_get::<Option<i64>, _>(index)?.map(Value::Integer),
        Kind::Real => row.try_get::<Option<f64>, _>(index)?.map(Value::Real),
        Kind::Text => row.try_get::<Option<String>, _>(index)?.map(Value::Text),
        Kind::Bytes => row.try_get::<Option<Vec<u8>>, _>(index)?.map(Value::Bytes),
        Kind::Timestamp => row.try_get::<Option<i64>, _>(index)?.map(Value::Timestamp),
        // The declared type of the column decides how it is stored; that may differ from row to row.
        _ if row.try_get_raw(index)?.is_null() => None,
        kind => match (row.try_get_raw(index)?.type_info().name(), kind) {
            ("BLOB", Kind::Uuid) => Some(Value::from_uuid(row.try_get(index)?)?),
            ("INTEGER", Kind::Decimal | Kind::Json) => {
                Some(Value::from_text(kind, &row.try_get::<i64, _>(index)?.to_string())?)
            }
            ("REAL", Kind::Json) => Some(Value::Json(row.try_get::<f64, _>(index)?.into())),
            ("REAL", Kind::Decimal) => {
                Err("a floating-point number is stored, which is not exact; give the column the type `text`")?
            }
            _ => Some(Value::from_text(kind, row.try_get(index)?)?),
        },
    };
    Ok(value.unwrap_or(Value::Null(column.kind)))
}

/// The stored value does not fit the mapping.
pub(super) fn misfit(table: &Table, column: &str, error: &dyn std::error::Error) -> DatabaseError {
    MappingError::new(&table.name, column, error.to_string()).into()
}

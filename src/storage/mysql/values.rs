//! Values to and from MariaDB and MySQL, in the form that `statements.rs` selects.

use std::sync::Arc;

use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use super::session::Statement;
use crate::aggregate::mapping::{Column, MappingError, Row, Table};
use crate::aggregate::value::{Kind, Value};
use crate::error::DatabaseError;

/// A statement with its values.
pub(super) fn query<'v>(sql: impl Into<Arc<str>>, values: impl IntoIterator<Item = &'v Value>) -> Statement {
    values.into_iter().fold(Statement::new(sql), bind)
}

pub(super) fn bind(statement: Statement, value: &Value) -> Statement {
    match value {
        // An invalid value is never saved, and as an id it matches no row.
        Value::Null(kind) | Value::Invalid(kind, _) => match kind {
            Kind::Bool | Kind::Integer | Kind::Timestamp => statement.bind(None::<i64>),
            Kind::Real => statement.bind(None::<f64>),
            Kind::Bytes | Kind::Uuid => statement.bind(None::<&[u8]>),
            _ => statement.bind(None::<&str>),
        },
        Value::Bool(value) => statement.bind(*value),
        Value::Integer(value) | Value::Timestamp(value) => statement.bind(*value),
        Value::Real(value) => statement.bind(*value),
        Value::Text(value) => statement.bind(value.as_str()),
        Value::Bytes(value) => statement.bind(&value[..]),
        // MariaDB's `uuid` takes bytes as well as `binary(16)` does, which takes no text.
        Value::Uuid(value) => statement.bind(&value[..]),
        Value::Decimal(_) | Value::Json(_) | Value::Date(_) | Value::DateTime(_) | Value::Time(_) => {
            statement.bind(value.to_string())
        }
    }
}

/// The columns of a table, starting at this one.
pub(super) fn read(table: &Table, row: &MySqlRow, first: usize) -> Result<Row, DatabaseError> {
    let read = |(index, column): (usize, &Column)| {
        read_column(row, first + index, column).map_err(|error| misfit(table, &column.name, &*error))
    };
    table.columns.iter().enumerate().map(read).collect()
}

fn read_column(
    row: &MySqlRow,
    index: usize,
    column: &Column,
) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
    let value = match column.kind {
        Kind::Bool => row.try_get::<Option<i64>, _>(index)?.map(|value| Value::Bool(value != 0)),
        Kind::Integer => row.try_get::<Option<i64>, _>(index)?.map(Value::Integer),
        Kind::Real => row.try_get::<Option<f64>, _>(index)?.map(Value::Real),
        Kind::Bytes => row.try_get::<Option<Vec<u8>>, _>(index)?.map(Value::Bytes),
        Kind::Timestamp => row.try_get::<Option<i64>, _>(index)?.map(Value::Timestamp),
        Kind::Uuid => row.try_get::<Option<&[u8]>, _>(index)?.map(Value::from_uuid).transpose()?,
        kind => row.try_get::<Option<&str>, _>(index)?.map(|text| Value::from_text(kind, text)).transpose()?,
    };
    Ok(value.unwrap_or(Value::Null(column.kind)))
}

/// The stored value does not fit the mapping.
pub(super) fn misfit(table: &Table, column: &str, error: &dyn std::error::Error) -> DatabaseError {
    MappingError::new(&table.name, column, error.to_string()).into()
}

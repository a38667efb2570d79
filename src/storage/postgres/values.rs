//! Values to and from PostgreSQL, in the form that `statements.rs` selects.

use std::sync::Arc;

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{AssertSqlSafe, Postgres, Row as _};

use crate::aggregate::mapping::{Column, MappingError, Row, Table};
use crate::aggregate::value::{Kind, Value};
use crate::error::DatabaseError;

type Query<'q> = sqlx::query::Query<'q, Postgres, PgArguments>;

/// A statement with its values.
pub(super) fn query<'q, 'v>(sql: impl Into<Arc<str>>, values: impl IntoIterator<Item = &'v Value>) -> Query<'q> {
    values.into_iter().fold(sqlx::query(AssertSqlSafe(sql.into())), bind)
}

/// The driver remembers a statement by its text together with the types of its first binds, so NULL needs its type.
pub(super) fn bind<'q>(query: Query<'q>, value: &Value) -> Query<'q> {
    match value {
        Value::Null(kind) | Value::Invalid(kind, _) => match kind {
            Kind::Bool => query.bind(None::<bool>),
            Kind::Integer => query.bind(None::<i64>),
            Kind::Real => query.bind(None::<f64>),
            Kind::Bytes => query.bind(None::<Vec<u8>>),
            _ => query.bind(None::<String>),
        },
        Value::Bool(value) => query.bind(*value),
        Value::Integer(value) => query.bind(*value),
        Value::Real(value) => query.bind(*value),
        Value::Bytes(value) => query.bind(value.clone()),
        _ => query.bind(value.to_string()),
    }
}

/// The columns of a table, starting at this one.
pub(super) fn read(table: &Table, row: &PgRow, first: usize) -> Result<Row, DatabaseError> {
    let read = |(index, column): (usize, &Column)| {
        read_column(row, first + index, column).map_err(|error| misfit(table, &column.name, &*error))
    };
    table.columns.iter().enumerate().map(read).collect()
}

fn read_column(row: &PgRow, index: usize, column: &Column) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
    let value = match column.kind {
        Kind::Bool => row.try_get::<Option<bool>, _>(index)?.map(Value::Bool),
        Kind::Integer => row.try_get::<Option<i64>, _>(index)?.map(Value::Integer),
        Kind::Real => row.try_get::<Option<f64>, _>(index)?.map(Value::Real),
        Kind::Bytes => row.try_get::<Option<Vec<u8>>, _>(index)?.map(Value::Bytes),
        Kind::Timestamp => row.try_get::<Option<i64>, _>(index)?.map(Value::Timestamp),
        kind => row.try_get::<Option<&str>, _>(index)?.map(|text| Value::from_text(kind, text)).transpose()?,
    };
    Ok(value.unwrap_or(Value::Null(column.kind)))
}

/// The stored value does not fit the mapping.
pub(super) fn misfit(table: &Table, column: &str, error: &dyn std::error::Error) -> DatabaseError {
    MappingError::new(&table.name, column, error.to_string()).into()
}

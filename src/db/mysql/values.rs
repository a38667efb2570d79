//! Values to and from MariaDB and MySQL, in the form that their sheet selects.

use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use super::session::Statement;
use crate::aggregate::value::{Kind, Value};
use crate::db::{Bind, Misfit};

/// A statement with its values, in the order of its placeholders.
pub(crate) fn bind(statement: Statement, value: &Bind<'_>) -> Statement {
    match value {
        Bind::Text(text) => statement.bind_text(text),
        // Keys are stored as bytes.
        Bind::Key(text) => statement.bind_bytes(text.as_bytes()),
        Bind::Bytes(bytes) => statement.bind_bytes(bytes),
        Bind::Value(value) => match &**value {
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
            Value::Text(value) => statement.bind_text(value),
            Value::Bytes(value) => statement.bind_bytes(value),
            // MariaDB's `uuid` takes bytes as well as `binary(16)` does, which takes no text.
            Value::Uuid(value) => statement.bind_bytes(value),
            value @ (Value::Decimal(_) | Value::Json(_) | Value::Date(_) | Value::DateTime(_) | Value::Time(_)) => {
                statement.bind_text(&value.to_string())
            }
        },
    }
}

/// The value of a column of this kind.
pub(crate) fn read(row: &MySqlRow, at: usize, kind: Kind) -> Result<Value, Misfit> {
    let value = match kind {
        Kind::Bool => row.try_get::<Option<i64>, _>(at)?.map(|value| Value::Bool(value != 0)),
        Kind::Integer => row.try_get::<Option<i64>, _>(at)?.map(Value::Integer),
        Kind::Real => row.try_get::<Option<f64>, _>(at)?.map(Value::Real),
        Kind::Bytes => row.try_get::<Option<Vec<u8>>, _>(at)?.map(Value::Bytes),
        Kind::Timestamp => row.try_get::<Option<i64>, _>(at)?.map(Value::Timestamp),
        Kind::Uuid => row.try_get::<Option<&[u8]>, _>(at)?.map(Value::from_uuid).transpose()?,
        kind => row.try_get::<Option<&str>, _>(at)?.map(|text| Value::from_text(kind, text)).transpose()?,
    };
    Ok(value.unwrap_or(Value::Null(kind)))
}

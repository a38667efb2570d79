//! Values to and from SQLite, as numbers, text and bytes.

use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Arguments as _, Encode, Row as _, Sqlite, Type, TypeInfo as _, ValueRef as _};

use crate::aggregate::value::{Kind, Value};
use crate::db::{Bind, Misfit};

/// The values of a statement, in the order of its placeholders.
pub(crate) fn arguments<'v>(values: impl Iterator<Item = &'v Bind<'v>>) -> SqliteArguments {
    let mut arguments = SqliteArguments::default();
    values.for_each(|value| add(&mut arguments, value));
    arguments
}

fn add(arguments: &mut SqliteArguments, value: &Bind<'_>) {
    match value {
        Bind::Text(text) | Bind::Key(text) => put(arguments, (*text).to_owned()),
        Bind::Bytes(bytes) => put(arguments, bytes.to_vec()),
        Bind::Value(value) => match &**value {
            // An invalid value is never saved, and as an id it matches no row.
            Value::Null(_) | Value::Invalid(..) => put(arguments, None::<i64>),
            Value::Bool(value) => put(arguments, *value),
            Value::Integer(value) | Value::Timestamp(value) => put(arguments, *value),
            Value::Real(value) => put(arguments, *value),
            Value::Text(value) => put(arguments, value.clone()),
            Value::Bytes(value) => put(arguments, value.clone()),
            Value::Uuid(value) => put(arguments, value.to_vec()),
            value @ (Value::Decimal(_) | Value::Json(_) | Value::Date(_) | Value::DateTime(_) | Value::Time(_)) => {
                put(arguments, value.to_string());
            }
        },
    }
}

fn put<'v, T: Encode<'v, Sqlite> + Type<Sqlite> + 'v>(arguments: &mut SqliteArguments, value: T) {
    arguments.add(value).expect("numbers, texts and bytes are encoded by copying them");
}

/// The value of a column of this kind.
pub(crate) fn read(row: &SqliteRow, at: usize, kind: Kind) -> Result<Value, Misfit> {
    let value = match kind {
        Kind::Bool => row.try_get::<Option<bool>, _>(at)?.map(Value::Bool),
        Kind::Integer => row.try_get::<Option<i64>, _>(at)?.map(Value::Integer),
        Kind::Real => row.try_get::<Option<f64>, _>(at)?.map(Value::Real),
        Kind::Text => row.try_get::<Option<String>, _>(at)?.map(Value::Text),
        Kind::Bytes => row.try_get::<Option<Vec<u8>>, _>(at)?.map(Value::Bytes),
        Kind::Timestamp => row.try_get::<Option<i64>, _>(at)?.map(Value::Timestamp),
        // The declared type of the column decides how it is stored; that may differ from row to row.
        _ if row.try_get_raw(at)?.is_null() => None,
        kind => match (row.try_get_raw(at)?.type_info().name(), kind) {
            ("BLOB", Kind::Uuid) => Some(Value::from_uuid(row.try_get(at)?)?),
            ("INTEGER", Kind::Decimal | Kind::Json) => {
                Some(Value::from_text(kind, &row.try_get::<i64, _>(at)?.to_string())?)
            }
            ("REAL", Kind::Json) => Some(Value::Json(row.try_get::<f64, _>(at)?.into())),
            ("REAL", Kind::Decimal) => {
                Err("a floating-point number is stored, which is not exact; give the column the type `text`")?
            }
            _ => Some(Value::from_text(kind, row.try_get(at)?)?),
        },
    };
    Ok(value.unwrap_or(Value::Null(kind)))
}

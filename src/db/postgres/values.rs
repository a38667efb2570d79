//! Values to and from PostgreSQL, in the form that its sheet selects.

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments as _, Encode, Postgres, Row as _, Type};

use crate::aggregate::value::{Kind, Value};
use crate::db::{Bind, Misfit};

/// The values of a statement, in the order of its placeholders.
pub(crate) fn arguments<'v>(values: impl Iterator<Item = &'v Bind<'v>>) -> PgArguments {
    let mut arguments = PgArguments::default();
    values.for_each(|value| add(&mut arguments, value));
    arguments
}

/// The driver remembers a statement by its text together with the types of its first values, so NULL needs its type.
fn add(arguments: &mut PgArguments, value: &Bind<'_>) {
    match value {
        Bind::Text(text) | Bind::Key(text) => put(arguments, *text),
        Bind::Bytes(bytes) => put(arguments, *bytes),
        Bind::Value(value) => match &**value {
            Value::Null(kind) | Value::Invalid(kind, _) => match kind {
                Kind::Bool => put(arguments, None::<bool>),
                Kind::Integer => put(arguments, None::<i64>),
                Kind::Real => put(arguments, None::<f64>),
                Kind::Bytes => put(arguments, None::<&[u8]>),
                _ => put(arguments, None::<&str>),
            },
            Value::Bool(value) => put(arguments, *value),
            Value::Integer(value) => put(arguments, *value),
            Value::Real(value) => put(arguments, *value),
            Value::Bytes(value) => put(arguments, &value[..]),
            Value::Text(value) => put(arguments, value.as_str()),
            value => put(arguments, value.to_string()),
        },
    }
}

fn put<'v, T: Encode<'v, Postgres> + Type<Postgres>>(arguments: &mut PgArguments, value: T) {
    arguments.add(value).expect("numbers, texts and bytes are encoded by copying them");
}

/// The value of a column of this kind.
pub(crate) fn read(row: &PgRow, at: usize, kind: Kind) -> Result<Value, Misfit> {
    let value = match kind {
        Kind::Bool => row.try_get::<Option<bool>, _>(at)?.map(Value::Bool),
        Kind::Integer => row.try_get::<Option<i64>, _>(at)?.map(Value::Integer),
        Kind::Real => row.try_get::<Option<f64>, _>(at)?.map(Value::Real),
        Kind::Bytes => row.try_get::<Option<Vec<u8>>, _>(at)?.map(Value::Bytes),
        Kind::Timestamp => row.try_get::<Option<i64>, _>(at)?.map(Value::Timestamp),
        kind => row.try_get::<Option<&str>, _>(at)?.map(|text| Value::from_text(kind, text)).transpose()?,
    };
    Ok(value.unwrap_or(Value::Null(kind)))
}

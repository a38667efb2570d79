//! A [`Version`] as the field of an entity.

use sea_orm::sea_query::{ArrayType, ColumnType, Nullable, ValueType, ValueTypeErr};
use sea_orm::{ActiveValue, ColIdx, DbErr, IntoActiveValue, QueryResult, TryGetError, TryGetable, Value};

use crate::aggregate::version::Version;

impl From<Version> for Value {
    fn from(version: Version) -> Self {
        version.number().into()
    }
}

impl TryGetable for Version {
    fn try_get_by<I: ColIdx>(row: &QueryResult, index: I) -> Result<Self, TryGetError> {
        // Some drivers do not read an `integer` as a `bigint`.
        let number = match i64::try_get_by(row, index) {
            Err(TryGetError::DbErr(_)) => i32::try_get_by(row, index).map(i64::from),
            number => number,
        }?;
        Version::new(number).map_err(|error| TryGetError::DbErr(DbErr::Type(error.to_string())))
    }
}

impl ValueType for Version {
    fn try_from(value: Value) -> Result<Self, ValueTypeErr> {
        from_value(&value).ok_or(ValueTypeErr)
    }

    fn type_name() -> String {
        "Version".into()
    }

    fn array_type() -> ArrayType {
        ArrayType::BigInt
    }

    fn column_type() -> ColumnType {
        ColumnType::BigInteger
    }
}

impl Nullable for Version {
    fn null() -> Value {
        Value::BigInt(None)
    }
}

impl IntoActiveValue<Version> for Version {
    fn into_active_value(self) -> ActiveValue<Version> {
        ActiveValue::Set(self)
    }
}

/// The version that a column of any integer type holds.
pub(super) fn from_value(value: &Value) -> Option<Version> {
    let number = match *value {
        Value::TinyInt(number) => number?.into(),
        Value::SmallInt(number) => number?.into(),
        Value::Int(number) => number?.into(),
        Value::BigInt(number) => number?,
        Value::TinyUnsigned(number) => number?.into(),
        Value::SmallUnsigned(number) => number?.into(),
        Value::Unsigned(number) => number?.into(),
        Value::BigUnsigned(number) => number?.try_into().ok()?,
        _ => return None,
    };
    Version::new(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_read_from_any_integer_type_only() {
        for value in [Value::from(7i8), 7i16.into(), 7i32.into(), 7i64.into(), 7u8.into(), 7u64.into()] {
            assert_eq!(from_value(&value), Version::new(7).ok(), "{value:?}");
        }
        assert_eq!(from_value(&Value::from(0i32)), Version::new(0).ok());
        for value in [Value::from(-1i32), (-1i64).into(), u64::MAX.into(), Value::Int(None), "7".into(), 7.0f64.into()]
        {
            assert_eq!(from_value(&value), None, "{value:?}");
        }
    }
}

//! Single-column types, each of one kind: primitive types, and the macro for others.

use super::{Decimal, Kind, RowReader, Value, ValueObject};
use crate::aggregate::mapping::{Column, MappingError};
use crate::clock::{from_micros, to_micros};

/// A [`ValueObject`] of one column: its kind, how to write it, and how to read it; reading may fail with a text.
macro_rules! scalar {
    ($type:ty, $kind:ident, |$value:ident| $write:expr, |$stored:ident| $read:expr) => {
        impl ValueObject for $type {
            const WIDTH: usize = 1;

            fn columns(column: &str, path: &str, columns: &mut Vec<Column>) {
                columns.push(Column::new(column, path, Kind::$kind));
            }

            fn write(&self, row: &mut Vec<Value>) {
                let $value = self;
                row.push(Value::$kind($write));
            }

            fn write_null(row: &mut Vec<Value>) {
                row.push(Value::Null(Kind::$kind));
            }

            fn read(row: &mut RowReader<'_>) -> Result<Self, MappingError> {
                let here = row.clone();
                match row.next_value()? {
                    Value::$kind($stored) => $read.map_err(|error| here.error(error)),
                    other => Err(here.error(format!("expected {:?}, found {other:?}", Kind::$kind))),
                }
            }
        }
    };
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        scalar!(
            $type, Integer,
            |value| i64::from(*value),
            |stored| <$type>::try_from(*stored).map_err(|_| format!("{stored} is out of range for {}", stringify!($type)))
        );
    )*};
}

integer!(i8, i16, i32, i64, u8, u16, u32);
scalar!(bool, Bool, |value| *value, |stored| Ok::<_, String>(*stored));
scalar!(f64, Real, |value| *value, |stored| finite(*stored));
scalar!(f32, Real, |value| f64::from(*value), |stored| exact(*stored));
scalar!(Decimal, Decimal, |value| value.clone(), |stored| Ok::<_, String>(stored.clone()));
scalar!(String, Text, |value| value.clone(), |stored| Ok::<_, String>(stored.clone()));
scalar!(Vec<u8>, Bytes, |value| value.clone(), |stored| Ok::<_, String>(stored.clone()));
scalar!(serde_json::Value, Json, |value| value.clone(), |stored| Ok::<_, String>(stored.clone()));
// To the microsecond; smaller fractions are cut off.
scalar!(std::time::SystemTime, Timestamp, |value| to_micros(*value), |stored| Ok::<_, String>(from_micros(*stored)));

/// SQLite stores NaN as NULL; MariaDB has neither NaN nor infinity, nor has JSON, in which revisions are stored.
pub(super) fn finite(number: f64) -> Result<f64, String> {
    match number.is_finite() {
        true => Ok(number),
        false => Err(format!("{number} is no number that every database can hold; keep `None` instead")),
    }
}

/// A rounded number would differ from the stored one, and the next save would write it.
fn exact(number: f64) -> Result<f32, String> {
    #[allow(clippy::cast_possible_truncation, reason = "what was lost is what is asked next")]
    let short = finite(number)? as f32;
    match f64::from(short) == number {
        true => Ok(short),
        false => Err(format!("{number} does not fit into f32 exactly; use f64")),
    }
}

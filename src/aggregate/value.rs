//! Values as the databases know them, and the types that live in columns.
//!
//! A [`ValueObject`] occupies one column (a number, a text, a newtype, an enum) or several (an address inside an
//! order). It defines its columns, writes itself into a row and reads itself back; it contains no SQL. Values are bound by
//! the *kind of the column*, never by the value itself: drivers cache statements by their text, and the first bind
//! fixes the parameter types, so a NULL has a kind as well.
//!
//! Saves write differences, so each value has one canonical form for comparison: an instant to the microsecond, a date in
//! ISO 8601, a decimal and JSON by value and not by spelling.

// First, because the others use its macro.
#[macro_use]
mod scalar;

#[cfg(any(test, fuzzing))]
pub(crate) mod any_text;
mod array;
mod calendar;
mod decimal;
mod json;
mod key;
mod uuid;
mod value_object;
#[cfg(feature = "jiff")]
mod with_jiff;
#[cfg(feature = "rust_decimal")]
mod with_rust_decimal;
#[cfg(feature = "time")]
mod with_time;
#[cfg(feature = "uuid")]
mod with_uuid;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use array::{Array, ArrayItem};
pub use decimal::{Decimal, InvalidDecimal};
pub use json::Json;
pub(crate) use key::Key;
pub use value_object::{RowReader, ValueObject};

use calendar::{Day, Hour};

/// The kind of a column's values, the same on every database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// True or false.
    Bool,
    /// A signed 64-bit number.
    Integer,
    /// A finite 64-bit floating-point number.
    Real,
    /// An exact decimal number.
    Decimal,
    /// Unicode text.
    Text,
    /// Bytes.
    Bytes,
    /// A UUID.
    Uuid,
    /// JSON.
    Json,
    /// An instant, in microseconds since 1970-01-01T00:00:00Z, in the years 1 to 9999.
    Timestamp,
    /// A date of the calendar, in the years 1 to 9999.
    Date,
    /// A date and a time of day, to the microsecond, without a time zone.
    DateTime,
    /// A time of day, to the microsecond, without a time zone.
    Time,
}

impl Kind {
    /// Whether equal values are equal on every database, so that rows can be found by them. Decimals are text on SQLite,
    /// where 1.0 is not 1.00; JSON is text on MariaDB.
    pub(crate) fn identifies(self) -> bool {
        !matches!(self, Kind::Decimal | Kind::Json)
    }
}

/// One value of one column.
///
/// Two values are equal if a save need not replace one with the other: decimals are compared as numbers (`1.0` is
/// `1.00`), JSON by content (the order of keys does not count, `1e2` is `100`).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Value {
    /// NULL, in a column of this kind.
    Null(Kind),
    /// True or false.
    Bool(bool),
    /// A signed 64-bit number.
    Integer(i64),
    /// A 64-bit floating-point number. A non-finite one cannot be saved.
    Real(f64),
    /// An exact decimal number.
    Decimal(Decimal),
    /// Unicode text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A UUID, its bytes in the order in which it is written.
    Uuid([u8; 16]),
    /// JSON.
    Json(serde_json::Value),
    /// An instant, in microseconds since 1970-01-01T00:00:00Z.
    Timestamp(i64),
    /// A date, always written `YYYY-MM-DD`.
    Date(String),
    /// A date and a time without a time zone, always written `YYYY-MM-DD HH:MM:SS.ffffff`.
    DateTime(String),
    /// A time of day, always written `HH:MM:SS.ffffff`.
    Time(String),
    /// An invalid value for a column of this kind, with the reason. A save refuses it with that reason.
    #[serde(skip)]
    Invalid(Kind, String),
}

impl Value {
    /// The kind of the column this value belongs in.
    pub fn kind(&self) -> Kind {
        match self {
            Value::Null(kind) | Value::Invalid(kind, _) => *kind,
            Value::Bool(_) => Kind::Bool,
            Value::Integer(_) => Kind::Integer,
            Value::Real(_) => Kind::Real,
            Value::Decimal(_) => Kind::Decimal,
            Value::Text(_) => Kind::Text,
            Value::Bytes(_) => Kind::Bytes,
            Value::Uuid(_) => Kind::Uuid,
            Value::Json(_) => Kind::Json,
            Value::Timestamp(_) => Kind::Timestamp,
            Value::Date(_) => Kind::Date,
            Value::DateTime(_) => Kind::DateTime,
            Value::Time(_) => Kind::Time,
        }
    }

    /// Whether this is `Null` of any kind.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null(_))
    }

    /// Parses a database's text into the canonical form of this kind; the error is for messages.
    pub(crate) fn from_text(kind: Kind, text: &str) -> Result<Value, String> {
        match kind {
            Kind::Decimal => text.parse().map(Value::Decimal).map_err(|error: InvalidDecimal| error.to_string()),
            Kind::Uuid => uuid::parse(text).map(Value::Uuid),
            Kind::Json => serde_json::from_str(text).map(Value::Json).map_err(|error| format!("not JSON: {error}")),
            Kind::Date => Day::parse(text).map(|day| Value::Date(day.to_string())),
            Kind::DateTime => calendar::parse(text).map(|(day, hour)| Value::DateTime(format!("{day} {hour}"))),
            Kind::Time => Hour::parse(text).map(|hour| Value::Time(hour.to_string())),
            Kind::Text => Ok(Value::Text(text.to_owned())),
            Kind::Bool | Kind::Integer | Kind::Real | Kind::Bytes | Kind::Timestamp => {
                Err(format!("expected {kind:?}, found the text `{text}`"))
            }
        }
    }

    /// A UUID as databases return it: its 16 bytes, or its text.
    #[cfg(any(feature = "sqlite", feature = "mysql"))]
    pub(crate) fn from_uuid(stored: &[u8]) -> Result<Value, String> {
        uuid::from_stored(stored).map(Value::Uuid)
    }

    /// Whether a column of this kind can store it on every database; if not, the reason for messages.
    pub(crate) fn check(&self, kind: Kind) -> Result<(), String> {
        match self {
            Value::Invalid(_, why) => Err(why.clone()),
            _ if self.kind() != kind => Err(format!("a column of {kind:?} was given {self:?}")),
            Value::Real(value) => scalar::finite(*value).map(drop),
            // PostgreSQL cannot store it, and other programs end the text there.
            Value::Text(text) if text.contains('\0') => Err(NUL.into()),
            Value::Json(json) if json::contains_nul(json) => Err(NUL.into()),
            Value::Timestamp(micros) if !calendar::INSTANTS.contains(micros) => {
                Err(format!("{self} is not in the years 1 to 9999, so not every database can hold it"))
            }
            Value::Date(text) | Value::DateTime(text) | Value::Time(text) => match Value::from_text(kind, text)? {
                same if same == *self => Ok(()),
                other => {
                    Err(format!("`{text}` has to be written `{other}`, or it would always differ from what is stored"))
                }
            },
            _ => Ok(()),
        }
    }
}

const NUL: &str = "it contains a NUL character";

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Null(a), Value::Null(b)) => a == b,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Integer(a), Value::Integer(b)) | (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
            // Otherwise NaN would differ from itself, and every save would write it.
            (Value::Real(a), Value::Real(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Value::Decimal(a), Value::Decimal(b)) => a == b,
            (Value::Text(a), Value::Text(b))
            | (Value::Date(a), Value::Date(b))
            | (Value::DateTime(a), Value::DateTime(b))
            | (Value::Time(a), Value::Time(b)) => a == b,
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (Value::Uuid(a), Value::Uuid(b)) => a == b,
            (Value::Json(a), Value::Json(b)) => json::same(a, b),
            (Value::Invalid(a, why), Value::Invalid(b, other)) => (a, why) == (b, other),
            _ => false,
        }
    }
}

/// The value as a form or a conflict page shows it. `Null` is the empty string; bytes are hexadecimal;
/// an instant is in ISO 8601 and UTC, as in `2026-11-20T10:00:00Z`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null(_) => Ok(()),
            Value::Bool(value) => value.fmt(f),
            Value::Integer(value) => value.fmt(f),
            Value::Real(value) => value.fmt(f),
            Value::Decimal(value) => value.fmt(f),
            Value::Text(text) | Value::Date(text) | Value::DateTime(text) | Value::Time(text) => text.fmt(f),
            Value::Bytes(bytes) => f.write_str(&hex(bytes)),
            Value::Uuid(bytes) => uuid::write(bytes, f),
            Value::Json(json) => json.fmt(f),
            Value::Timestamp(micros) => calendar::write_instant(*micros, f),
            Value::Invalid(_, why) => why.fmt(f),
        }
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |at: u8| char::from(DIGITS[usize::from(at)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The bytes of hexadecimal digits.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok();
    match text.as_bytes().as_chunks() {
        (pairs, []) => pairs.iter().map(byte).collect(),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

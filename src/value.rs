//! Values as the databases know them, and the types that live in columns.
//!
//! A [`ValueObject`] occupies one column (a number, a text, a newtype, an enum) or several (an address inside an
//! order). It knows its columns, writes itself into a row and reads itself back; it never sees SQL. Values are bound by
//! the *kind of the column*, never by the value at hand: drivers cache statements by their text, and the first bind
//! fixes the parameter types, so a NULL has to carry its kind as well.

use serde::{Deserialize, Serialize};

use crate::mapping::{Column, MappingError};

/// What a column holds, the same on every database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// True or false.
    Bool,
    /// A signed 64-bit number.
    Integer,
    /// A 64-bit floating-point number.
    Real,
    /// Unicode text.
    Text,
    /// Bytes.
    Bytes,
    /// An instant, in microseconds since 1970-01-01T00:00:00Z.
    Timestamp,
}

/// One value of one column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// Nothing, in a column of this kind.
    Null(Kind),
    /// True or false.
    Bool(bool),
    /// A signed 64-bit number.
    Integer(i64),
    /// A 64-bit floating-point number.
    Real(f64),
    /// Unicode text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// An instant, in microseconds since 1970-01-01T00:00:00Z.
    Timestamp(i64),
}

impl Value {
    /// The kind of the column this value belongs in.
    pub fn kind(&self) -> Kind {
        match self {
            Value::Null(kind) => *kind,
            Value::Bool(_) => Kind::Bool,
            Value::Integer(_) => Kind::Integer,
            Value::Real(_) => Kind::Real,
            Value::Text(_) => Kind::Text,
            Value::Bytes(_) => Kind::Bytes,
            Value::Timestamp(_) => Kind::Timestamp,
        }
    }

    /// Whether this is `Null` of any kind.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null(_))
    }
}

/// For people: the value as a form or a conflict page would show it. `Null` is the empty string; bytes are hexadecimal.
impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Null(_) => Ok(()),
            Value::Bool(value) => value.fmt(f),
            Value::Integer(value) | Value::Timestamp(value) => value.fmt(f),
            Value::Real(value) => value.fmt(f),
            Value::Text(value) => value.fmt(f),
            Value::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

/// A type that lives in one or more columns of an aggregate's table.
///
/// Derive it for newtypes (`struct OrderNo(String)`: one column, the inner type's), for structs (one column per field,
/// named with the field's name as prefix) and for enums without data (one text column, the variant's name):
///
/// ```
/// use tenure::ValueObject;
///
/// #[derive(ValueObject)]
/// struct OrderNo(String);
///
/// #[derive(ValueObject)]
/// struct Receiver { name: String, phone: Option<String> }   // receiver_name, receiver_phone
///
/// #[derive(ValueObject)]
/// enum OrderState { Preparing, Shipped }                    // 'Preparing' or 'Shipped'
/// ```
///
/// A column that holds something the type does not know is a [`MappingError`] when the aggregate is loaded.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored in a column",
    note = "derive `ValueObject` for it, or use one of: bool, i16, i32, i64, u8, u16, u32, f64, String, Vec<u8>, SystemTime, Option of those"
)]
pub trait ValueObject: Sized {
    /// How many columns it occupies.
    const WIDTH: usize;

    /// Adds its columns. `column` is the column's name (or, for several columns, the prefix without the underscore);
    /// `path` is the field path shown to people, as in `shipping.address.line1`.
    fn columns(column: &str, path: &str, columns: &mut Vec<Column>);

    /// Adds its values, [`WIDTH`](Self::WIDTH) of them.
    fn write(&self, row: &mut Vec<Value>);

    /// Adds [`WIDTH`](Self::WIDTH) nulls of the right kinds: how `None` of it is stored.
    fn write_null(row: &mut Vec<Value>);

    /// Takes its values back off the row.
    ///
    /// # Errors
    /// [`MappingError`] when a value is of another kind or outside the type's range.
    fn read(row: &mut RowReader<'_>) -> Result<Self, MappingError>;
}

/// Reads a row from left to right; knows the column at hand, so that an error can name it.
#[derive(Debug, Clone)]
pub struct RowReader<'a> {
    table: &'a str,
    columns: &'a [Column],
    values: &'a [Value],
}

impl<'a> RowReader<'a> {
    /// Starts at the first column of a row of `table`.
    pub fn new(table: &'a str, columns: &'a [Column], values: &'a [Value]) -> Self {
        RowReader { table, columns, values }
    }

    /// The next value.
    ///
    /// # Errors
    /// [`MappingError`] when the row has no more values.
    pub fn next_value(&mut self) -> Result<&'a Value, MappingError> {
        match (self.values.split_first(), self.columns.split_first()) {
            (Some((value, values)), Some((_, columns))) => {
                (self.values, self.columns) = (values, columns);
                Ok(value)
            }
            _ => Err(MappingError::new(self.table, "", "the row has fewer columns than the mapping")),
        }
    }

    /// Whether the next `width` values are all null.
    pub fn is_null(&self, width: usize) -> bool {
        self.values.iter().take(width).all(Value::is_null)
    }

    /// Steps over `width` values.
    pub fn skip(&mut self, width: usize) {
        self.values = &self.values[width.min(self.values.len())..];
        self.columns = &self.columns[width.min(self.columns.len())..];
    }

    /// An error about the column that is read next.
    pub fn error(&self, what: impl Into<String>) -> MappingError {
        let column = self.columns.first().map_or("", |column| column.name.as_str());
        MappingError::new(self.table, column, what)
    }
}

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
scalar!(f64, Real, |value| *value, |stored| Ok::<_, String>(*stored));
scalar!(String, Text, |value| value.clone(), |stored| Ok::<_, String>(stored.clone()));
scalar!(Vec<u8>, Bytes, |value| value.clone(), |stored| Ok::<_, String>(stored.clone()));
scalar!(std::time::SystemTime, Timestamp, |value| crate::clock::to_micros(*value), |stored| Ok::<_, String>(
    crate::clock::from_micros(*stored)
));

#[cfg(feature = "jiff")]
scalar!(jiff::Timestamp, Timestamp, |value| value.as_microsecond(), |stored| jiff::Timestamp::from_microsecond(
    *stored
)
.map_err(|error| error.to_string()));

/// `None` is null in every column. A value of which *every* column may be null reads back as `None` when all are.
impl<T: ValueObject> ValueObject for Option<T> {
    const WIDTH: usize = T::WIDTH;

    fn columns(column: &str, path: &str, columns: &mut Vec<Column>) {
        let first = columns.len();
        T::columns(column, path, columns);
        columns[first..].iter_mut().for_each(|column| column.nullable = true);
    }

    fn write(&self, row: &mut Vec<Value>) {
        match self {
            Some(value) => value.write(row),
            None => T::write_null(row),
        }
    }

    fn write_null(row: &mut Vec<Value>) {
        T::write_null(row);
    }

    fn read(row: &mut RowReader<'_>) -> Result<Self, MappingError> {
        if row.is_null(T::WIDTH) {
            row.skip(T::WIDTH);
            return Ok(None);
        }
        T::read(row).map(Some)
    }
}

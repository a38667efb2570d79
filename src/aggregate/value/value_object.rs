//! The trait of types that are stored in columns, and the reader of a row.

use super::Value;
use crate::aggregate::mapping::{Column, MappingError};

/// A type that is stored in one or more columns of an aggregate's table.
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
/// Lists, maps and enums with data go into one JSON column, see [`Json`](super::Json). A table in
/// `docs/databases.md` lists the column types of each database.
///
/// Types of other crates, each with the feature of its name; instants and times of day have microsecond precision, and
/// smaller fractions are cut off:
///
/// ```
/// # #[cfg(all(feature = "jiff", feature = "rust_decimal", feature = "time", feature = "uuid"))] {
/// use tenure::ValueObject;
///
/// #[derive(ValueObject)]
/// struct Booking {
///     no: uuid::Uuid,
///     price: rust_decimal::Decimal,
///     arrival: jiff::civil::Date,       // or time::Date
///     check_in: jiff::civil::Time,      // or time::Time
///     reminder: jiff::civil::DateTime,  // without a zone; or time::PrimitiveDateTime
///     booked_at: jiff::Timestamp,       // or time::OffsetDateTime, which comes back in UTC; or SystemTime
/// }
/// # }
/// ```
///
/// If a column holds a value that the type does not know, loading the aggregate is a [`MappingError`]. A value that
/// not every database can store (a date before the year 1, a NaN) is one at the save; nothing is written then.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored in a column",
    note = "derive `ValueObject` for it, or use one of: bool, i8, i16, i32, i64, u8, u16, u32, f32, f64, String, Vec<u8>, SystemTime, tenure::aggregate::value::Decimal, serde_json::Value; with the features `jiff`, `rust_decimal`, `time`, `uuid` the types of those crates; Option of all of them",
    note = "for anything that serde can write, use `tenure::aggregate::value::Json<{Self}>`; for u64 and usize, which no column of integers can hold, i64 or `tenure::aggregate::value::Decimal`"
)]
pub trait ValueObject: Sized {
    /// The number of columns that it occupies.
    const WIDTH: usize;

    /// Adds its columns. `column` is the column's name (or, for several columns, the prefix without the underscore);
    /// `path` is the field path in messages, as in `shipping.address.line1`.
    fn columns(column: &str, path: &str, columns: &mut Vec<Column>);

    /// Adds its values, [`WIDTH`](Self::WIDTH) of them.
    fn write(&self, row: &mut Vec<Value>);

    /// Adds [`WIDTH`](Self::WIDTH) nulls of the right kinds: how `None` of it is stored.
    fn write_null(row: &mut Vec<Value>);

    /// Reads its values from the row.
    ///
    /// # Errors
    /// [`MappingError`] if a value is of another kind or outside the type's range.
    fn read(row: &mut RowReader<'_>) -> Result<Self, MappingError>;
}

/// Reads a row from left to right, and tracks the current column for error messages.
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
    /// [`MappingError`] if the row has no more values.
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

    /// An error about the next column.
    pub fn error(&self, what: impl Into<String>) -> MappingError {
        let column = self.columns.first().map_or("", |column| column.name.as_str());
        MappingError::new(self.table, column, what)
    }
}

/// `None` is null in every column. A value whose columns may *all* be null reads back as `None` if all are.
impl<T: ValueObject> ValueObject for Option<T> {
    const WIDTH: usize = T::WIDTH;

    fn columns(column: &str, path: &str, columns: &mut Vec<Column>) {
        let first = columns.len();
        T::columns(column, path, columns);
        for column in &mut columns[first..] {
            column.nullable = true;
            if T::WIDTH > 1 {
                column.part_of = Some(path.to_owned());
            }
        }
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

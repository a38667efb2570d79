//! Arrays: a column of the type `text[]` on PostgreSQL, of JSON elsewhere.

use std::ops::{Deref, DerefMut};

use super::{Json, Kind, RowReader, Value, ValueObject};
use crate::aggregate::mapping::{Column, MappingError};

/// A list in one column: an array on PostgreSQL, JSON (`["a","b"]`) on the other databases, which have no arrays. An
/// array with NULL inside it is a [`MappingError`].
///
/// ```
/// use tenure::Aggregate;
/// use tenure::aggregate::value::Array;
///
/// #[derive(Aggregate, Debug)]
/// #[aggregate(table = "article")]
/// struct Article {
///     #[aggregate(id)]
///     no: i64,
///     tags: Array<String>,            // text[]
///     ratings: Option<Array<i64>>,    // bigint[]
/// }
///
/// let article = Article { no: 1, tags: vec!["tea".to_owned()].into(), ratings: None };
/// assert_eq!(article.tags[0], "tea");
/// assert_eq!(Article::mapping().root.columns[1].sql_type.as_deref(), Some("text[]"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Array<T>(pub Vec<T>);

/// A type whose lists are [`Array`]s: texts and whole numbers.
pub trait ArrayItem: serde::Serialize + serde::de::DeserializeOwned {
    /// The type of the array on PostgreSQL: `text[]`.
    const ARRAY: &'static str;
}

impl ArrayItem for String {
    const ARRAY: &'static str = "text[]";
}

impl ArrayItem for i32 {
    const ARRAY: &'static str = "integer[]";
}

impl ArrayItem for i64 {
    const ARRAY: &'static str = "bigint[]";
}

impl<T: ArrayItem> ValueObject for Array<T> {
    const WIDTH: usize = 1;

    fn columns(column: &str, path: &str, columns: &mut Vec<Column>) {
        let sql_type = Some(T::ARRAY.to_owned());
        columns.push(Column { sql_type, ..Column::new(column, path, Kind::Json) });
    }

    fn write(&self, row: &mut Vec<Value>) {
        row.push(match serde_json::to_value(&self.0) {
            Ok(array) => Value::Json(array),
            Err(error) => Value::Invalid(Kind::Json, error.to_string()),
        });
    }

    fn write_null(row: &mut Vec<Value>) {
        row.push(Value::Null(Kind::Json));
    }

    fn read(row: &mut RowReader<'_>) -> Result<Self, MappingError> {
        <Json<Vec<T>> as ValueObject>::read(row).map(|Json(items)| Array(items))
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(items: Vec<T>) -> Self {
        Array(items)
    }
}

impl<T> Deref for Array<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Array<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

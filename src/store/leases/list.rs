//! A statement for one row or for many.
//!
//! One row is parameters: a statement that a database plans once, or in a moment. Many rows are one parameter, a list in JSON, so that a
//! constant text takes any number of them.

use serde::ser::{Serialize, Serializer};

use crate::aggregate::value::{Value, hex};
use crate::db::{Bind, Column, Sheet, Statement, Text};

/// The texts of a statement, for one row and for many.
pub(super) struct Listed {
    columns: &'static [Column],
    one: Text,
    many: Text,
}

/// The texts of a statement with rows of these columns. The parameters of the rows begin with this number.
macro_rules! listed {
    ($name:ident, $columns:expr, $first:literal, $make:path) => {
        static $name: Listed = Listed::new(
            $columns,
            Text::made(|sheet| $make(&Source::one(sheet, $columns, $first))),
            Text::made(|sheet| $make(&Source::many(sheet, $columns, $first))),
        );
    };
}
pub(super) use listed;

impl Listed {
    pub(super) const fn new(columns: &'static [Column], one: Text, many: Text) -> Self {
        Listed { columns, one, many }
    }

    /// For these rows, each with a value for each column; the other values stand before theirs. `None` if there are no rows.
    pub(super) fn with<'v>(&'static self, before: Option<Bind<'v>>, rows: Vec<Vec<Bind<'v>>>) -> Option<Statement<'v>> {
        let before = before.into_iter();
        if rows.len() > 1 {
            let list = Bind::from(Value::Text(json(self.columns, &rows)?));
            return Some(self.many.with(before.chain([list, i64::try_from(rows.len()).ok()?.into()])));
        }
        rows.into_iter().next().map(|row| self.one.with(before.chain(row)))
    }
}

/// The rows of a statement, in its text.
pub(super) struct Source<'s> {
    pub sheet: &'s Sheet,
    columns: &'static [Column],
    first: usize,
    is_one: bool,
}

impl<'s> Source<'s> {
    pub(super) fn one(sheet: &'s Sheet, columns: &'static [Column], first: usize) -> Self {
        Source { sheet, columns, first, is_one: true }
    }

    pub(super) fn many(sheet: &'s Sheet, columns: &'static [Column], first: usize) -> Self {
        Source { is_one: false, ..Self::one(sheet, columns, first) }
    }

    /// The list as rows `new`; `None`: it is one row.
    pub(super) fn list(&self) -> Option<String> {
        let (list, count) = (format!("${}", self.first), format!("${}", self.first + 1));
        (!self.is_one).then(|| (self.sheet.list)(&list, &count, self.columns))
    }

    /// The value of a column in each row.
    pub(super) fn value(&self, name: &str) -> String {
        let at = self.columns.iter().position(|column| column.name == name).filter(|_| self.is_one);
        at.map_or_else(|| format!("new.{name}"), |at| format!("${}", self.first + at))
    }

    /// The number of rows.
    pub(super) fn count(&self) -> String {
        if self.is_one { "1".to_owned() } else { format!("${}", self.first + 1) }
    }

    /// Whether columns of the table with this prefix are equal to those of a row.
    pub(super) fn equals(&self, prefix: &str, columns: &[Column]) -> String {
        let equal = columns.iter().map(|column| format!("{prefix}{} = {}", column.name, self.value(column.name)));
        equal.collect::<Vec<_>>().join(" and ")
    }

    /// What an insert inserts into its columns.
    pub(super) fn rows(&self) -> String {
        let values = self.columns.iter().map(|column| self.value(column.name)).collect::<Vec<_>>().join(", ");
        self.list()
            .map_or_else(|| format!("values ({values})"), |list| format!("select {values} from {list} where true"))
    }
}

/// Rows as a JSON text with the names of the columns: binary values in hexadecimal, flags as 0 and 1, and no nulls.
fn json(columns: &[Column], rows: &[Vec<Bind<'_>>]) -> Option<String> {
    serde_json::to_string(&rows.iter().map(|row| Object(columns, row)).collect::<Vec<_>>()).ok()
}

struct Object<'r>(&'r [Column], &'r [Bind<'r>]);

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Object(columns, row) = self;
        let fields = columns.iter().zip(*row).filter(|(_, value)| !value.is_null());
        serializer.collect_map(fields.map(|(column, value)| (column.name, Field(value))))
    }
}

struct Field<'r>(&'r Bind<'r>);

impl Serialize for Field<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Bind::Text(text) | Bind::Key(text) => serializer.serialize_str(text),
            Bind::Bytes(bytes) => serializer.serialize_str(&hex(bytes)),
            Bind::Value(value) => match &**value {
                Value::Integer(number) => serializer.serialize_i64(*number),
                Value::Bool(flag) => serializer.serialize_u8((*flag).into()),
                _ => serializer.serialize_none(),
            },
        }
    }
}

//! The columns of tenure's own tables, and their values in a row.

use sqlx::Error;

use crate::db::{Row, Sheet};
use crate::lease::Owner;

/// A column: its name, and what it holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub name: &'static str,
    pub holds: Holds,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// A part of a key, which is compared by its bytes.
    Key,
    Text,
    Bytes,
    Number,
    Flag,
}

impl Column {
    pub(crate) const fn key(name: &'static str) -> Self {
        Column { name, holds: Holds::Key }
    }

    pub(crate) const fn text(name: &'static str) -> Self {
        Column { name, holds: Holds::Text }
    }

    pub(crate) const fn bytes(name: &'static str) -> Self {
        Column { name, holds: Holds::Bytes }
    }

    pub(crate) const fn number(name: &'static str) -> Self {
        Column { name, holds: Holds::Number }
    }

    pub(crate) const fn flag(name: &'static str) -> Self {
        Column { name, holds: Holds::Flag }
    }

    /// The columns of the table with this prefix, as a `select` returns them under names with this other one.
    pub(crate) fn read(columns: &[Column], table: &str, called: &str, sheet: &Sheet) -> String {
        let read = |column: &Column| {
            let name = format!("{table}{}", column.name);
            let read = if column.holds == Holds::Key { (sheet.key_text)(&name) } else { name };
            format!("{read} as {called}{}", column.name)
        };
        columns.iter().map(read).collect::<Vec<_>>().join(", ")
    }

    /// Their names, with this prefix.
    pub(crate) fn names(columns: &[Column], prefix: &str) -> String {
        columns.iter().map(|column| format!("{prefix}{}", column.name)).collect::<Vec<_>>().join(", ")
    }
}

/// A value of a column that is never null.
pub(crate) fn there<T>(value: Result<Option<T>, Error>, column: &str) -> Result<T, Error> {
    value?.ok_or_else(|| Error::Decode(format!("the column `{column}` is null").into()))
}

/// The owner in the columns `…_id`, `…_name` and `…_role`, if there is one.
pub(crate) fn person(row: &Row, who: &str) -> Result<Option<Owner>, Error> {
    let owner = row.text(&format!("{who}_id"))?.zip(row.text(&format!("{who}_name"))?);
    let role = row.text(&format!("{who}_role"))?;
    Ok(owner.map(|(id, name)| Owner { role, ..Owner::new(id, name) }))
}

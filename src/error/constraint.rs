//! The rule of a table that refused a row, and the value that a column cannot store.

use std::fmt;

/// What kind of rule it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConstraintKind {
    /// A row with the same key exists: a primary key, or a unique index.
    Unique,
    /// The referenced row does not exist, or other rows refer to this one.
    ForeignKey,
    /// A `check` does not hold.
    Check,
    /// NULL in a column that does not allow it.
    NotNull,
    /// An exclusion constraint of PostgreSQL.
    Exclusion,
    /// Any other rule, such as a trigger on SQLite.
    Other,
}

/// A rule of a table that refused a row, as the database reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConstraintViolation {
    /// What kind of rule.
    pub kind: ConstraintKind,
    /// The name of the constraint or index, to compare with the one in the application's migrations. For
    /// [`NotNull`](ConstraintKind::NotNull) it is the column. SQLite names the columns of a unique constraint instead
    /// (`outbox.message_id`, joined by `, `), puts the table before the column of a not-null one, and never names a foreign key. `None`
    /// where the database reports none, and on MariaDB and MySQL also where `lc_messages` is not English.
    pub name: Option<String>,
    /// The message of the database. It may contain values of the row.
    pub message: String,
}

impl ConstraintViolation {
    /// Whether it is this kind of rule, with this name.
    pub fn is(&self, kind: ConstraintKind, name: &str) -> bool {
        self.kind == kind && self.name.as_deref() == Some(name)
    }
}

impl fmt::Display for ConstraintViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A value that its column cannot store: a text that is longer than the column or has a character outside its character set, a number or a
/// time out of its range.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DoesNotFit {
    /// The table. `None` for the application's own statements.
    pub table: Option<String>,
    /// The column, where it is known: PostgreSQL does not tell it.
    pub column: Option<String>,
    /// What is wrong, with the limit if the database tells it. It may contain the value.
    pub problem: String,
}

impl fmt::Display for DoesNotFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value does not fit")?;
        if let Some(table) = &self.table {
            write!(f, " table `{table}`")?;
        }
        if let Some(column) = &self.column {
            write!(f, "{} column `{column}`", if self.table.is_some() { "," } else { "" })?;
        }
        write!(f, ": {}", self.problem)
    }
}

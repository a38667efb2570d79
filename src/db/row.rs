//! A row of an answer.

use std::error::Error;

#[cfg(feature = "mysql")]
use sqlx::mysql::MySqlRow;
#[cfg(feature = "postgres")]
use sqlx::postgres::PgRow;
#[cfg(feature = "sqlite")]
use sqlx::sqlite::SqliteRow;

use crate::aggregate::mapping::{self, MappingError, Table};
#[cfg(feature = "mysql")]
use crate::db::mysql;
#[cfg(feature = "postgres")]
use crate::db::postgres;
#[cfg(feature = "sqlite")]
use crate::db::sqlite;
use crate::error::DatabaseError;

/// A stored value that does not fit.
pub(crate) type Misfit = Box<dyn Error + Send + Sync>;

/// A row of an answer.
pub(crate) enum Row {
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteRow),
    #[cfg(feature = "postgres")]
    Postgres(PgRow),
    #[cfg(feature = "mysql")]
    MySql(MySqlRow),
}

/// The same on each database's own row.
macro_rules! on_each {
    ($row:expr, $own:ident => $work:expr) => {
        match $row {
            #[cfg(feature = "sqlite")]
            Row::Sqlite($own) => $work,
            #[cfg(feature = "postgres")]
            Row::Postgres($own) => $work,
            #[cfg(feature = "mysql")]
            Row::MySql($own) => $work,
        }
    };
}

impl Row {
    /// The number in a column.
    pub(crate) fn integer_at(&self, at: usize) -> Result<Option<i64>, DatabaseError> {
        self.get(|row| on_each!(row, row => sqlx::Row::try_get(row, at)))
    }

    /// The text in a column.
    pub(crate) fn text_at(&self, at: usize) -> Result<Option<String>, DatabaseError> {
        self.get(|row| on_each!(row, row => sqlx::Row::try_get(row, at)))
    }

    /// The columns of a table, starting at this one.
    pub(crate) fn read(&self, table: &Table, first: usize) -> Result<mapping::Row, DatabaseError> {
        let read = |(at, column): (usize, &mapping::Column)| {
            let value = match self {
                #[cfg(feature = "sqlite")]
                Row::Sqlite(row) => sqlite::values::read(row, first + at, column.kind),
                #[cfg(feature = "postgres")]
                Row::Postgres(row) => postgres::values::read(row, first + at, column.kind),
                #[cfg(feature = "mysql")]
                Row::MySql(row) => mysql::values::read(row, first + at, column.kind),
            };
            value.map_err(|error| MappingError::new(&table.name, &column.name, error.to_string()).into())
        };
        table.columns.iter().enumerate().map(read).collect()
    }

    /// What is read from its columns by their names.
    pub(crate) fn get<T>(&self, read: impl FnOnce(&Self) -> Result<T, sqlx::Error>) -> Result<T, DatabaseError> {
        read(self).map_err(|error| self.classify(error))
    }

    /// The meaning of a column that cannot be read.
    fn classify(&self, error: sqlx::Error) -> DatabaseError {
        match self {
            #[cfg(feature = "sqlite")]
            Row::Sqlite(_) => sqlite::errors::classify(error),
            #[cfg(feature = "postgres")]
            Row::Postgres(_) => postgres::errors::classify(error),
            #[cfg(feature = "mysql")]
            Row::MySql(_) => mysql::errors::classify(error),
        }
    }
}

/// A column by its name; `None` is null.
impl Row {
    pub(crate) fn text(&self, column: &str) -> Result<Option<String>, sqlx::Error> {
        on_each!(self, row => sqlx::Row::try_get(row, column))
    }

    pub(crate) fn number(&self, column: &str) -> Result<Option<i64>, sqlx::Error> {
        on_each!(self, row => sqlx::Row::try_get(row, column))
    }

    pub(crate) fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, sqlx::Error> {
        on_each!(self, row => sqlx::Row::try_get(row, column))
    }

    pub(crate) fn flag(&self, column: &str) -> Result<Option<bool>, sqlx::Error> {
        on_each!(self, row => sqlx::Row::try_get(row, column))
    }
}

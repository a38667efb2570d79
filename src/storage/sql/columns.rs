//! The values of a row by their columns, the same for every driver.

use sqlx::{Error, Row};

use crate::lease::Owner;

/// A row. `None` is null.
pub(crate) trait Columns {
    fn text(&self, column: &str) -> Result<Option<String>, Error>;
    fn number(&self, column: &str) -> Result<Option<i64>, Error>;
    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, Error>;
    fn flag(&self, column: &str) -> Result<Option<bool>, Error>;
}

macro_rules! columns {
    ($row:ty) => {
        impl Columns for $row {
            fn text(&self, column: &str) -> Result<Option<String>, Error> {
                self.try_get(column)
            }

            fn number(&self, column: &str) -> Result<Option<i64>, Error> {
                self.try_get(column)
            }

            fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, Error> {
                self.try_get(column)
            }

            fn flag(&self, column: &str) -> Result<Option<bool>, Error> {
                self.try_get(column)
            }
        }
    };
}

#[cfg(feature = "mysql")]
columns!(sqlx::mysql::MySqlRow);
#[cfg(feature = "postgres")]
columns!(sqlx::postgres::PgRow);
#[cfg(feature = "sqlite")]
columns!(sqlx::sqlite::SqliteRow);

/// A value of a column that is never null.
pub(crate) fn there<T>(value: Result<Option<T>, Error>, column: &str) -> Result<T, Error> {
    value?.ok_or_else(|| Error::Decode(format!("the column `{column}` is null").into()))
}

/// The owner in the columns `…_id`, `…_name` and `…_role`, if there is one.
pub(crate) fn person(row: &impl Columns, who: &str) -> Result<Option<Owner>, Error> {
    let owner = row.text(&format!("{who}_id"))?.zip(row.text(&format!("{who}_name"))?);
    let role = row.text(&format!("{who}_role"))?;
    Ok(owner.map(|(id, name)| Owner { role, ..Owner::new(id, name) }))
}

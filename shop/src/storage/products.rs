//! The list of products.

use tenure::aggregate::value::Value;
use tenure::{Database, Version, error::DatabaseError};

use super::sql::read;
use super::value;
use crate::use_cases::ProductRow;

/// All products, by name. A list decides nothing, so it is read without loading aggregates.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub async fn list_products(db: &Database) -> Result<Vec<ProductRow>, DatabaseError> {
    let text = "select name, stock, version from product order by name";
    let rows: Vec<(String, i64, i64)> = read!(db, fetch_all, text, ())?;
    let row = |(name, stock, version)| {
        Ok(ProductRow {
            name,
            stock: value("stock", Value::Integer(stock))?,
            version: Version::new(version).map_err(DatabaseError::other)?,
        })
    };
    rows.into_iter().map(row).collect()
}

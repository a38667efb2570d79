//! The shop's own SQL: its tables, lists for pages, sign-in sessions. Aggregates are not here; they go through the
//! library's repositories.
//!
//! A file per database, with the same functions in the same order. This is the only folder of the shop that depends on
//! the kind of database.

mod forms;
mod mysql;
mod orders;
mod postgres;
mod sessions;
mod sqlite;

use std::sync::Arc;

use jiff::Timestamp;
use tenure::aggregate::mapping::Column;
use tenure::aggregate::value::{RowReader, Value};
use tenure::{Database, Error, ValueObject, Version, error::DatabaseError};

use crate::domain::{MemberId, OrderNo, OrderState};
use crate::use_cases::{OrderRow, ProductRow};

pub(crate) use forms::{
    KeptRow, SavedRow, TextOf, UnsavedRow, keep_form, kept_form, mark_saved, move_text, saved_form, sweep_forms,
    unsaved_forms,
};
pub(crate) use orders::Asked;
pub use orders::Sort;
pub(crate) use sessions::{
    Ended, SessionRow, delete_session, delete_sessions, demo_members, insert_session, knows_browser, list_sessions,
    read_session, remember_browser, sessions_now, sweep_sessions, touch_session,
};

/// Dispatches to the file of the database.
macro_rules! on {
    ($db:expr, $function:ident ( $($argument:expr),* )) => {
        if $db.postgres().is_ok() {
            postgres::$function($($argument),*).await
        } else if $db.mysql().is_ok() {
            mysql::$function($($argument),*).await
        } else {
            sqlite::$function($($argument),*).await
        }
    };
}
use on;

/// Brings the shop's own tables up to date.
///
/// # Errors
/// [`DatabaseError::Schema`] if a newer shop wrote them.
pub async fn migrate(db: &Database) -> Result<(), DatabaseError> {
    on!(db, migrate(db))
}

/// Counts orders.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn count_orders(db: &Database, asked: &Asked<'_>) -> Result<u64, DatabaseError> {
    let count: i64 = on!(db, count_orders(db, asked))?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// A page of them. A list decides nothing, so it is read without loading aggregates.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub(crate) async fn list_orders(
    db: &Database,
    asked: &Asked<'_>,
    limit: u32,
    offset: u32,
) -> Result<Vec<OrderRow>, DatabaseError> {
    on!(db, list_orders(db, asked, (offset, limit)))?.into_iter().map(Listed::order_row).collect()
}

/// The versions of these orders, with whom and in which state they are: one statement, without loading the aggregates.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub async fn orders_now(db: &Database, numbers: &[&str]) -> Result<Vec<OrderNow>, DatabaseError> {
    let rows: Vec<OrderNowRow> = if numbers.is_empty() { Vec::new() } else { on!(db, orders_now(db, numbers))? };
    let now = |row: OrderNowRow| {
        Ok(OrderNow {
            no: value("no", Value::Text(row.no))?,
            orderer: value("orderer", Value::Text(row.orderer))?,
            state: value("state", Value::Text(row.state))?,
            version: Version::new(row.version).map_err(DatabaseError::other)?,
        })
    };
    rows.into_iter().map(now).collect()
}

/// The versions of the notes on these orders, as far as there are notes: one statement.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub async fn notes_now(db: &Database, numbers: &[&str]) -> Result<Vec<(String, Version)>, DatabaseError> {
    let rows: Vec<(String, i64)> = if numbers.is_empty() { Vec::new() } else { on!(db, notes_now(db, numbers))? };
    let note = |(no, version)| Ok((no, Version::new(version).map_err(DatabaseError::other)?));
    rows.into_iter().map(note).collect()
}

/// The secret of this name. If there is none yet, it is this one: of several processes that start at the same time, the first decides.
///
/// # Errors
/// [`Error::Database`] when the database failed.
pub(crate) async fn secret(db: &Database, name: &str, value: &str) -> Result<String, Error> {
    on!(db, secret(db, name, value))
}

/// Whether there is a member: whether the shop was seeded.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub async fn has_members(db: &Database) -> Result<bool, DatabaseError> {
    on!(db, has_members(db))
}

/// All products, by name. A list decides nothing, so it is read without loading aggregates.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub async fn list_products(db: &Database) -> Result<Vec<ProductRow>, DatabaseError> {
    let rows: Vec<(String, i64, i64)> = on!(db, list_products(db))?;
    let row = |(name, stock, version)| {
        Ok(ProductRow {
            name,
            stock: value("stock", Value::Integer(stock))?,
            version: Version::new(version).map_err(DatabaseError::other)?,
        })
    };
    rows.into_iter().map(row).collect()
}

/// How an order is now.
#[derive(Debug, Clone)]
pub struct OrderNow {
    /// Its number.
    pub no: OrderNo,
    /// The member who placed it.
    pub orderer: MemberId,
    /// Its state.
    pub state: OrderState,
    /// Its version.
    pub version: Version,
}

/// Its row.
#[derive(sqlx::FromRow)]
struct OrderNowRow {
    no: String,
    orderer: String,
    state: String,
    version: i64,
}

/// A row of the list of orders.
#[derive(sqlx::FromRow)]
struct Listed {
    no: String,
    orderer_name: String,
    state: String,
    total: i64,
    /// Microseconds since 1970.
    placed_at: i64,
    version: i64,
}

impl Listed {
    fn order_row(self) -> Result<OrderRow, DatabaseError> {
        Ok(OrderRow {
            no: value("no", Value::Text(self.no))?,
            orderer_name: self.orderer_name,
            state: value("state", Value::Text(self.state))?,
            total: value("total", Value::Integer(self.total))?,
            placed_at: value::<Timestamp>("placed_at", Value::Timestamp(self.placed_at))?,
            version: Version::new(self.version).map_err(DatabaseError::other)?,
            editing: None,
        })
    }
}

/// Reads a column like the aggregates do.
fn value<T: ValueObject>(name: &str, value: Value) -> Result<T, DatabaseError> {
    let columns = [Column::new(name, name, value.kind())];
    Ok(T::read(&mut RowReader::new("orders", &columns, &[value]))?)
}

/// The error of a failed statement of the shop.
fn failed(error: sqlx::Error) -> DatabaseError {
    DatabaseError::Other(Arc::new(error))
}

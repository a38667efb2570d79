//! The shop's own SQL: its tables, lists for pages, sign-in sessions. Aggregates are not here; they go through the
//! library's repositories.
//!
//! A file per database, with the same functions in the same order. This is the only room of the shop that asks which
//! database it is.

mod forms;
mod mysql;
mod postgres;
mod sessions;
mod sqlite;

use std::sync::Arc;

use jiff::Timestamp;
use tenure::aggregate::mapping::Column;
use tenure::aggregate::value::{RowReader, Value};
use tenure::{Database, ValueObject, error::DatabaseError};

use crate::domain::{MemberId, OrderState};
use crate::use_cases::OrderRow;

pub(crate) use forms::{KeptRow, SavedRow, keep_form, kept_form, mark_saved, saved_form, sweep_forms};
pub(crate) use sessions::{
    Ended, SessionRow, delete_session, delete_sessions, demo_members, insert_session, knows_browser, list_sessions,
    read_session, remember_browser, sweep_sessions, touch_session,
};

/// Which of the files answers.
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
/// [`DatabaseError::Schema`] when they were written by a newer shop.
pub async fn migrate(db: &Database) -> Result<(), DatabaseError> {
    on!(db, migrate(db))
}

/// How many orders there are, of one member and in one state, or of all.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub async fn count_orders(
    db: &Database,
    orderer: Option<&MemberId>,
    state: Option<OrderState>,
) -> Result<u64, DatabaseError> {
    let count = on!(db, count_orders(db, orderer.map(MemberId::as_str), state.map(OrderState::code)))?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// A page of them, the newest first. Nothing is decided by what a list shows, so it reads past the aggregates.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub async fn list_orders(
    db: &Database,
    orderer: Option<&MemberId>,
    state: Option<OrderState>,
    limit: u32,
    offset: u32,
) -> Result<Vec<OrderRow>, DatabaseError> {
    let (orderer, state) = (orderer.map(MemberId::as_str), state.map(OrderState::code));
    on!(db, list_orders(db, orderer, state, limit.into(), offset.into()))?.into_iter().map(Listed::order_row).collect()
}

/// Whether anybody can sign in: whether the shop was seeded.
///
/// # Errors
/// [`DatabaseError`] when the database failed.
pub async fn has_members(db: &Database) -> Result<bool, DatabaseError> {
    on!(db, has_members(db))
}

/// An order as a list reads it.
#[derive(sqlx::FromRow)]
struct Listed {
    no: String,
    orderer_name: String,
    state: String,
    total: i64,
    /// Microseconds since 1970.
    placed_at: i64,
}

impl Listed {
    fn order_row(self) -> Result<OrderRow, DatabaseError> {
        Ok(OrderRow {
            no: value("no", Value::Text(self.no))?,
            orderer_name: self.orderer_name,
            state: value("state", Value::Text(self.state))?,
            total: value("total", Value::Integer(self.total))?,
            placed_at: value::<Timestamp>("placed_at", Value::Timestamp(self.placed_at))?,
            editing: None,
        })
    }
}

/// Reads a column the way the aggregates do.
fn value<T: ValueObject>(name: &str, value: Value) -> Result<T, DatabaseError> {
    let columns = [Column::new(name, name, value.kind())];
    Ok(T::read(&mut RowReader::new("orders", &columns, &[value]))?)
}

/// A failed statement of the shop's own.
fn failed(error: sqlx::Error) -> DatabaseError {
    DatabaseError::Other(Arc::new(error))
}

//! The shop's own SQL: its tables, lists for pages, sign-in sessions. Aggregates are not here; they go through the
//! library's repositories.
//!
//! Each statement has one text for all databases; what they spell differently is in `sql`. This is the only folder of the shop
//! that depends on the kind of database.

mod forms;
mod members;
mod orders;
mod products;
mod secrets;
mod sessions;
mod sql;

use std::sync::Arc;

use tenure::aggregate::mapping::Column;
use tenure::aggregate::value::{RowReader, Value};
use tenure::{Database, ValueObject, error::DatabaseError};

use sql::Dialect;

pub(crate) use forms::{
    KeptRow, SavedRow, TextOf, UnsavedRow, keep_form, kept_form, mark_saved, move_text, saved_form, set_aside,
    sweep_forms, unsaved_forms,
};
pub(crate) use members::demo_members;
pub use members::has_members;
pub(crate) use orders::{Asked, count_orders, list_orders};
pub use orders::{OrderNow, Sort, notes_now, orders_now};
pub use products::list_products;
pub(crate) use secrets::secret;
pub(crate) use sessions::{
    Ended, SessionRow, delete_session, delete_sessions, insert_session, knows_browser, list_sessions, read_session,
    remember_browser, sessions_now, sweep_sessions, touch_session,
};

/// Brings the shop's own tables up to date.
///
/// # Errors
/// [`DatabaseError::Schema`] if a newer shop wrote them.
pub async fn migrate(db: &Database) -> Result<(), DatabaseError> {
    let migrations = match Dialect::of(db) {
        Dialect::Sqlite => sqlx::migrate!("migrations/sqlite"),
        Dialect::Postgres => sqlx::migrate!("migrations/postgres"),
        Dialect::MySql => sqlx::migrate!("migrations/mysql"),
    };
    db.migrate(&migrations).await
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

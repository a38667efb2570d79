//! The shop's own SQL: its tables, lists for pages, sign-in sessions. Aggregates are not here; they go through the
//! library's repositories.

mod orders;
mod sessions;

use tenure::{Database, DatabaseError};

pub use orders::{count_orders, has_members, list_orders};
pub use sessions::Sessions;

/// Brings the shop's own tables up to date.
///
/// # Errors
/// [`DatabaseError::Schema`] when the file was written by a newer shop.
pub async fn migrate(db: &Database) -> Result<(), DatabaseError> {
    db.migrate(&sqlx::migrate!("migrations/sqlite")).await
}

/// A failed statement of the shop's own.
fn failed(error: sqlx::Error) -> DatabaseError {
    DatabaseError::Other(std::sync::Arc::new(error))
}

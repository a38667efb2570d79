//! What the page shows of the tables.

use tenure::{Database, error::DatabaseError};

fn failed(error: sqlx::Error) -> DatabaseError {
    DatabaseError::Other(std::sync::Arc::new(error))
}

/// The row of an order.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct OrderRow {
    pub(crate) no: String,
    pub(crate) address: String,
    pub(crate) message: String,
    pub(crate) state: String,
    pub(crate) version: i64,
}

const ORDER: &str = "
    select no, shipping_address_line1 as address, shipping_message as message, state, version from orders where no = ?";

pub(in crate::demo) async fn order(db: &Database, no: &str) -> Result<OrderRow, DatabaseError> {
    sqlx::query_as(ORDER).bind(no).fetch_one(db.sqlite()?).await.map_err(failed)
}

/// The row of a lock.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct LockRow {
    pub(crate) id: String,
    pub(crate) owner_id: String,
    pub(crate) owner: String,
    pub(crate) generation: i64,
    /// Milliseconds since 1970.
    pub(crate) expires_at: i64,
    pub(crate) ended: bool,
}

const LOCK: &str = "
    select id, owner_id, owner_name as owner, generation, expires_at, ended <> 0 as ended from tenure_lock where kind = 'Order'";

pub(in crate::demo) async fn lock(db: &Database) -> Result<Option<LockRow>, DatabaseError> {
    sqlx::query_as(LOCK).fetch_optional(db.sqlite()?).await.map_err(failed)
}

pub(in crate::demo) async fn pieces(db: &Database) -> Result<i64, DatabaseError> {
    sqlx::query_scalar("select sum(stock) from product").fetch_one(db.sqlite()?).await.map_err(failed)
}

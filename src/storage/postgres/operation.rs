//! Operation ids, which show later whether a transaction was committed.

use std::time::Duration;

use sqlx::{PgConnection, Row};

use super::errors::classify;
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::storage::operation::OperationId;

/// The statement that is sent in the message of the COMMIT, so it has no parameters.
pub(super) fn carried(operation: &OperationId) -> String {
    let id = operation.hex();
    format!("insert into tenure_operation (id, committed, at) values ('\\x{id}', true, tenure_now(null))")
}

/// Reserves the id, unless it exists; waits for a transaction that is inserting it. Returns whether the transaction was committed.
pub(super) async fn settle(connection: &mut PgConnection, operation: &OperationId) -> Result<bool, DatabaseError> {
    let take = "insert into tenure_operation (id, committed, at) values ($1, false, tenure_now(null))
                on conflict (id) do nothing";
    sqlx::query(take).bind(&operation.0[..]).execute(&mut *connection).await.map_err(classify)?;
    let read = sqlx::query("select committed from tenure_operation where id = $1").bind(&operation.0[..]);
    read.fetch_one(connection).await.and_then(|row| row.try_get(0)).map_err(classify)
}

/// Deletes ids that are older than this.
pub(super) async fn forget(connection: &mut PgConnection, older_than: Duration) -> Result<u64, DatabaseError> {
    let forget = sqlx::query("delete from tenure_operation where at < tenure_now(null) - $1").bind(millis(older_than));
    forget.execute(connection).await.map(|done| done.rows_affected()).map_err(classify)
}

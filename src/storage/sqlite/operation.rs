//! Operation ids, which show later whether a transaction was committed.

use sqlx::{Row, SqliteConnection};

use super::errors::classify;
use crate::error::DatabaseError;
use crate::storage::operation::OperationId;

/// The statement that is sent with the COMMIT, in the same call to the connection's thread.
pub(super) fn carried(operation: &OperationId, now: i64) -> String {
    format!("insert into tenure_operation (id, committed, at) values (x'{}', 1, {now})", operation.hex())
}

/// Reserves the id, unless it exists. Returns whether its transaction was committed.
pub(super) async fn settle(
    connection: &mut SqliteConnection,
    operation: &OperationId,
    now: i64,
) -> Result<bool, DatabaseError> {
    let take = "insert into tenure_operation (id, committed, at) values (?, 0, ?) on conflict (id) do nothing";
    sqlx::query(take).bind(&operation.0[..]).bind(now).execute(&mut *connection).await.map_err(classify)?;
    let read = sqlx::query("select committed from tenure_operation where id = ?").bind(&operation.0[..]);
    read.fetch_one(connection).await.and_then(|row| row.try_get(0)).map_err(classify)
}

/// Deletes ids that were written before this.
pub(super) async fn forget(connection: &mut SqliteConnection, before: i64) -> Result<u64, DatabaseError> {
    let forget = sqlx::query("delete from tenure_operation where at < ?").bind(before);
    forget.execute(connection).await.map(|done| done.rows_affected()).map_err(classify)
}

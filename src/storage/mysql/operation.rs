//! Operation ids, which show later whether a transaction was committed.

use std::time::Duration;

use sqlx::Row;

use super::errors::classify;
use super::session::{Session, Statement};
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::storage::operation::OperationId;

/// The statement that is sent in the message of the COMMIT, or just before it, so it has no parameters.
pub(super) fn carried(operation: &OperationId) -> String {
    let id = operation.hex();
    format!("insert into tenure_operation (id, committed, at) values (x'{id}', 1, {NOW}); ")
}

/// The server's time in milliseconds.
const NOW: &str = "cast(unix_timestamp(sysdate(6)) * 1000 as signed)";

/// Reserves the id, unless it exists; waits for a transaction that is inserting it. Returns whether the transaction was committed.
///
/// InnoDB releases the locks of a commit before it is flushed. So this changes the row in any case, and its own commit flushes that one too.
pub(super) async fn settle(session: &mut Session, operation: &OperationId) -> Result<bool, DatabaseError> {
    let take = format!(
        "insert into tenure_operation (id, committed, at) values (?, 0, {NOW}) on duplicate key update at = at + 1"
    );
    session.write(Statement::new(take).bind(&operation.0[..])).await.map_err(classify)?;
    let read = Statement::new("select cast(committed as signed) from tenure_operation where id = ?");
    let row = session.fetch_optional(read.bind(&operation.0[..])).await.map_err(classify)?;
    let committed = row.map(|row| row.try_get::<i64, _>(0)).transpose().map_err(classify)?;
    Ok(committed == Some(1))
}

/// Deletes ids that are older than this.
pub(super) async fn forget(session: &mut Session, older_than: Duration) -> Result<u64, DatabaseError> {
    let forget = Statement::new(format!("delete from tenure_operation where at < {NOW} - ?")).bind(millis(older_than));
    session.write(forget).await.map_err(classify)
}

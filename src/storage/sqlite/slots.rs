//! Shared and advisory leases on one key, each in a slot of its own. The row of the exclusive lock is marked shared while there may be
//! shared leases; only then the slots have to be read.

use sqlx::SqliteConnection;

use super::errors::classify;
use super::leases::lease;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockKey};

const READER: &str = "
    select * from tenure_lock
     where kind = ?2 and id = ?3 and slot <> x'' and shared = 1 and ended = 0 and expires_at > ?1
     order by since, generation limit 1";

/// The shared lease that has been held the longest.
pub(super) async fn reader(
    connection: &mut SqliteConnection,
    key: &LockKey,
    now: i64,
) -> Result<Option<Holder>, DatabaseError> {
    let select = sqlx::query(READER).bind(now).bind(key.kind()).bind(key.id());
    let row = select.fetch_optional(connection).await.map_err(classify)?;
    Ok(row.as_ref().map(|row| lease(row, now)).transpose()?.map(|lease| lease.holder))
}

//! Deleting old entries of the history. `?1` is the instant before which an entry must have ended, `?2`
//! the type, or null for all.

use sqlx::SqliteConnection;

use super::errors::classify;
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::storage::Slice;

const HISTORY: &str = "
    delete from tenure_lock_history where lock_hash in (
        select lock_hash from tenure_lock_history
         where ended_at <= ?1 and (?2 is null or kind = ?2) order by ended_at limit ?3)";

/// Deletes ended leases from the history.
pub(super) async fn history(
    connection: &mut SqliteConnection,
    slice: &Slice<'_>,
    now: i64,
) -> Result<u64, DatabaseError> {
    let delete = sqlx::query(HISTORY).bind(now.saturating_sub(millis(slice.older_than))).bind(slice.kind);
    delete.bind(slice.most).execute(connection).await.map(|done| done.rows_affected()).map_err(classify)
}

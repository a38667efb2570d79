//! Deleting old entries of the history. Rows that another session has locked are left for the next sweep. `$1` is the time of a test, or null; `$2` the age;
//! `$3` the type, or null for all.

use sqlx::PgConnection;

use super::errors::classify;
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::storage::Slice;

const HISTORY: &str = "
    delete from tenure_lock_history where lock_hash in (
        select lock_hash from tenure_lock_history
         where ended_at <= (select tenure_now($1)) - $2 and ($3::text is null or kind = $3)
         order by ended_at limit $4 for update skip locked)";

/// Deletes ended leases from the history.
pub(super) async fn history(
    connection: &mut PgConnection,
    slice: &Slice<'_>,
    now: Option<i64>,
) -> Result<u64, DatabaseError> {
    let delete = sqlx::query(HISTORY).bind(now).bind(millis(slice.older_than)).bind(slice.kind);
    delete.bind(i64::from(slice.most)).execute(connection).await.map(|done| done.rows_affected()).map_err(classify)
}

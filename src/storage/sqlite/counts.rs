//! Counts of leases.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::errors::classify;
use crate::clock::until;
use crate::error::DatabaseError;
use crate::lease::HeldByType;

const COUNT: &str = "select count(*) from tenure_lock where owner_id = ?2 and ended = 0 and expires_at > ?1";

/// The number of leases that an owner holds.
pub(super) async fn count(connection: &mut SqliteConnection, owner: &str, now: i64) -> Result<u64, DatabaseError> {
    let count: i64 = sqlx::query_scalar(COUNT).bind(now).bind(owner).fetch_one(connection).await.map_err(classify)?;
    Ok(u64::try_from(count).unwrap_or(0))
}

const HELD_BY_TYPE: &str = "
    select kind, count(*) as count, min(since) as since from tenure_lock
     where ended = 0 and expires_at > ?1 group by kind order by kind";

/// The number of held leases, by type.
pub(super) async fn held_by_type(
    connection: &mut SqliteConnection,
    now: i64,
) -> Result<Vec<HeldByType>, DatabaseError> {
    let rows = sqlx::query(HELD_BY_TYPE).bind(now).fetch_all(connection).await.map_err(classify)?;
    let read = |row: &SqliteRow| {
        let number = |column| row.try_get::<i64, _>(column).map_err(classify);
        Ok(HeldByType {
            kind: row.try_get("kind").map_err(classify)?,
            count: number("count")?.try_into().unwrap_or(0),
            oldest: until(now, number("since")?),
        })
    };
    rows.iter().map(read).collect()
}

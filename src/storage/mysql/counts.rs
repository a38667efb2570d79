//! Counts of leases.

use sqlx::Row;
use sqlx::mysql::MySqlRow;

use super::columns::clock;
use super::errors::classify;
use super::session::{Session, Statement};
use crate::clock::until;
use crate::error::DatabaseError;
use crate::lease::HeldByType;

const COUNT: &str = concat!(
    "select count(*) from tenure_lock
      where owner_id = ? and cast(owner_id as binary) = cast(? as binary) and not ended and expires_at > ",
    clock!("?")
);

/// The number of leases that an owner holds.
pub(super) async fn count(session: &mut Session, owner: &str, now: Option<i64>) -> Result<u64, DatabaseError> {
    let count = Statement::new(COUNT).bind(owner).bind(owner).bind(now);
    let row = session.fetch_optional(count).await.map_err(classify)?;
    let count: i64 = row.map_or(Ok(0), |row| row.try_get(0)).map_err(classify)?;
    Ok(u64::try_from(count).unwrap_or(0))
}

const HELD_BY_TYPE: &str = concat!(
    "select convert(kind using utf8mb4) as kind, count(*) as count, min(since) as since, ",
    clock!("?"),
    " as clock from tenure_lock where not ended and expires_at > ",
    clock!("?"),
    " group by tenure_lock.kind order by tenure_lock.kind"
);

/// The number of held leases, by type.
pub(super) async fn held_by_type(session: &mut Session, now: Option<i64>) -> Result<Vec<HeldByType>, DatabaseError> {
    let rows = session.fetch_all(Statement::new(HELD_BY_TYPE).bind(now).bind(now)).await.map_err(classify)?;
    let read = |row: &MySqlRow| {
        let number = |column| row.try_get::<i64, _>(column).map_err(classify);
        Ok(HeldByType {
            kind: row.try_get("kind").map_err(classify)?,
            count: number("count")?.try_into().unwrap_or(0),
            oldest: until(number("clock")?, number("since")?),
        })
    };
    rows.iter().map(read).collect()
}

//! Deleting old rows. The write lock is held, so every read stays valid. `?1` is the instant before which an entry must have ended, `?2`
//! the type, or null for all.

use sqlx::{Row, SqliteConnection};

use super::errors::classify;
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::storage::{RowPlace, Slice, SweptRows};

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
    delete(connection, HISTORY, slice, now).await
}

const REQUESTS: &str = "
    delete from tenure_lock_request where (kind, id, asker_id) in (
        select kind, id, asker_id from tenure_lock_request
         where expires_at <= ?1 and (?2 is null or kind = ?2) limit ?3)";

/// Deletes expired requests.
pub(super) async fn requests(
    connection: &mut SqliteConnection,
    slice: &Slice<'_>,
    now: i64,
) -> Result<u64, DatabaseError> {
    delete(connection, REQUESTS, slice, now).await
}

async fn delete(
    connection: &mut SqliteConnection,
    statement: &'static str,
    slice: &Slice<'_>,
    now: i64,
) -> Result<u64, DatabaseError> {
    let delete = sqlx::query(statement).bind(now.saturating_sub(millis(slice.older_than))).bind(slice.kind);
    delete.bind(slice.most).execute(connection).await.map(|done| done.rows_affected()).map_err(classify)
}

/// The expiry has no index, so all rows are read, in the order of the primary key.
const UPTO: &str = "
    select kind, id, slot from tenure_lock
     where (kind, id, slot) > (?1, ?2, ?3) and (?4 is null or kind = ?4)
     order by kind, id, slot limit 1 offset ?5";

/// Three statements on the rows of a slice whose leases have expired or were ended. An expiry is recorded, because the key was not acquired
/// since; the floor keeps generations from falling. The row of the exclusive lock stays as long as other leases on the key exist: it is
/// what excludes an exclusive request.
macro_rules! sweep {
    ($upto:literal) => {
        [
            concat!(
                "insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                                  since, ended_at, how, idle, limited)
                 select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, expires_at,
                        'expired', coalesce(expires_at >= active_at + idle_limit, 0), expires_at >= hard_until from ",
                sweep!(rows $upto),
                " and ended = 0 on conflict (lock_hash) do nothing"
            ),
            concat!(
                "insert into tenure_lock_floor (kind, generation) select kind, max(generation) from ",
                sweep!(rows $upto),
                " group by kind on conflict (kind) do update set generation = max(generation, excluded.generation)"
            ),
            concat!("delete from ", sweep!(rows $upto)),
        ]
    };
    (rows $upto:literal) => {
        concat!(
            "tenure_lock
             where expires_at <= ?1 and (?2 is null or kind = ?2) and (kind, id, slot) > (?3, ?4, ?5)
               and (slot <> x'' or not exists (
                   select 1 from tenure_lock as beside
                    where beside.kind = tenure_lock.kind and beside.id = tenure_lock.id and beside.slot <> x''
                      and beside.expires_at > ?1))",
            $upto
        )
    };
}

/// The end of the slice is a condition of its own; otherwise the primary key could not use it.
const SLICE: [&str; 3] = sweep!(" and (kind, id, slot) <= (?6, ?7, ?8)");
const LAST_SLICE: [&str; 3] = sweep!("");

/// Deletes the rows of ended leases, among the next rows.
pub(super) async fn rows(
    connection: &mut SqliteConnection,
    slice: &Slice<'_>,
    after: &RowPlace,
    now: i64,
) -> Result<SweptRows, DatabaseError> {
    let upto = sqlx::query(UPTO)
        .bind(&after.kind)
        .bind(&after.id)
        .bind(&after.slot)
        .bind(slice.kind)
        .bind(slice.most.saturating_sub(1))
        .fetch_optional(&mut *connection)
        .await
        .map_err(classify)?;
    let place = |row: &sqlx::sqlite::SqliteRow| -> Result<RowPlace, sqlx::Error> {
        Ok(RowPlace { kind: row.try_get("kind")?, id: row.try_get("id")?, slot: row.try_get("slot")? })
    };
    let upto = upto.as_ref().map(place).transpose().map_err(classify)?;
    let mut swept = 0;
    for statement in if upto.is_some() { SLICE } else { LAST_SLICE } {
        let done = sqlx::query(statement)
            .bind(now.saturating_sub(millis(slice.older_than)))
            .bind(slice.kind)
            .bind(&after.kind)
            .bind(&after.id)
            .bind(&after.slot)
            .bind(upto.as_ref().map(|upto| &upto.kind))
            .bind(upto.as_ref().map(|upto| &upto.id))
            .bind(upto.as_ref().map(|upto| &upto.slot))
            .execute(&mut *connection)
            .await
            .map_err(classify)?;
        swept = done.rows_affected();
    }
    Ok(SweptRows { swept, upto })
}

//! Deleting old rows. Rows that another session has locked are left for the next sweep. `$1` is the time of a test, or null; `$2` the age;
//! `$3` the type, or null for all.

use sqlx::{PgConnection, Row};

use super::errors::classify;
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::storage::{RowPlace, Slice, SweptRows};

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
    delete(connection, HISTORY, slice, now).await
}

const REQUESTS: &str = "
    delete from tenure_lock_request where (kind, id, asker_id) in (
        select kind, id, asker_id from tenure_lock_request
         where expires_at <= (select tenure_now($1)) - $2 and ($3::text is null or kind = $3)
         limit $4 for update skip locked)";

/// Deletes expired requests.
pub(super) async fn requests(
    connection: &mut PgConnection,
    slice: &Slice<'_>,
    now: Option<i64>,
) -> Result<u64, DatabaseError> {
    delete(connection, REQUESTS, slice, now).await
}

async fn delete(
    connection: &mut PgConnection,
    statement: &'static str,
    slice: &Slice<'_>,
    now: Option<i64>,
) -> Result<u64, DatabaseError> {
    let delete = sqlx::query(statement).bind(now).bind(millis(slice.older_than)).bind(slice.kind);
    delete.bind(i64::from(slice.most)).execute(connection).await.map(|done| done.rows_affected()).map_err(classify)
}

/// The expiry has no index, so all rows are read, in the order of the primary key.
const UPTO: &str = "
    select kind, id, slot from tenure_lock
     where (kind, id, slot) > ($1, $2, $3) and ($4::text is null or kind = $4)
     order by kind, id, slot limit 1 offset $5";

/// Rows that may be swept. (Between the two ends there are at most `limit` rows; the clause informs the planner.)
macro_rules! lock {
    ($upto:literal) => {
        concat!(
            "select kind, id, slot from tenure_lock
              where expires_at <= (select tenure_now($1)) - $2 and ($3::text is null or kind = $3)
                and (kind, id, slot) > ($4, $5, $6)",
            $upto,
            " order by kind, id, slot limit $7 for update skip locked"
        )
    };
}

/// The end of the slice is a condition of its own; otherwise the primary key could not use it.
const LOCK: &str = lock!(" and (kind, id, slot) <= ($8, $9, $10)");
const LOCK_LAST: &str = lock!("");

/// Of the locked rows, in a later statement, which sees the leases that were granted beside them before. The row of the exclusive lock
/// stays as long as other leases on the key exist: it is what excludes an exclusive request. The expiry of a lease whose key was not
/// acquired since is recorded here. The floor keeps generations from falling; one statement raises it and deletes the rows, so that an
/// insert of a new row sees both or neither.
const SWEEP: &str = "
    with gone as materialized (
        select l.* from unnest($3::text[], $4::text[], $5::bytea[]) as locked (kind, id, slot)
          join tenure_lock l on l.kind = locked.kind and l.id = locked.id and l.slot = locked.slot
         where l.slot <> '' or not exists (
               select 1 from tenure_lock beside
                where beside.kind = l.kind and beside.id = l.id and beside.slot <> ''
                  and beside.expires_at > tenure_now($1) - $2)
    ), expired as (
        insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                         since, ended_at, how, idle, limited)
        select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, expires_at, 'expired',
               coalesce(expires_at >= active_at + idle_limit, false), expires_at >= hard_until
          from gone where not ended
            on conflict (lock_hash) do nothing
    ), floor as (
        insert into tenure_lock_floor as floor (kind, generation)
        select kind, max(generation) from gone group by kind order by kind
            on conflict (kind) do update set generation = greatest(floor.generation, excluded.generation)
    )
    delete from tenure_lock l using gone where l.kind = gone.kind and l.id = gone.id and l.slot = gone.slot";

/// Deletes the rows of ended leases, among the next rows.
pub(super) async fn rows(
    connection: &mut PgConnection,
    slice: &Slice<'_>,
    after: &RowPlace,
    now: Option<i64>,
) -> Result<SweptRows, DatabaseError> {
    let upto = sqlx::query(UPTO)
        .bind(&after.kind)
        .bind(&after.id)
        .bind(&after.slot)
        .bind(slice.kind)
        .bind(i64::from(slice.most) - 1)
        .fetch_optional(&mut *connection)
        .await
        .map_err(classify)?;
    let place = |row: &sqlx::postgres::PgRow| -> Result<RowPlace, sqlx::Error> {
        Ok(RowPlace { kind: row.try_get("kind")?, id: row.try_get("id")?, slot: row.try_get("slot")? })
    };
    let upto = upto.as_ref().map(place).transpose().map_err(classify)?;
    let lock = sqlx::query(if upto.is_some() { LOCK } else { LOCK_LAST })
        .bind(now)
        .bind(millis(slice.older_than))
        .bind(slice.kind)
        .bind(&after.kind)
        .bind(&after.id)
        .bind(&after.slot)
        .bind(i64::from(slice.most))
        .bind(upto.as_ref().map(|upto| &upto.kind))
        .bind(upto.as_ref().map(|upto| &upto.id))
        .bind(upto.as_ref().map(|upto| &upto.slot));
    let rows = lock.fetch_all(&mut *connection).await.map_err(classify)?;
    let locked: Vec<RowPlace> = rows.iter().map(place).collect::<Result<_, _>>().map_err(classify)?;
    if locked.is_empty() {
        return Ok(SweptRows { swept: 0, upto });
    }
    let sweep = sqlx::query(SWEEP)
        .bind(now)
        .bind(millis(slice.older_than))
        .bind(locked.iter().map(|row| &*row.kind).collect::<Vec<_>>())
        .bind(locked.iter().map(|row| &*row.id).collect::<Vec<_>>())
        .bind(locked.iter().map(|row| &*row.slot).collect::<Vec<_>>());
    let swept = sweep.execute(connection).await.map_err(classify)?.rows_affected();
    Ok(SweptRows { swept, upto })
}

//! Taking, keeping and ending leases. Every function runs inside a transaction that holds the write lock already, so
//! the time is read after any wait, and one conditional statement decides.

use std::time::Duration;

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::errors::{classify, is_duplicate};
use super::leases::{self, lease, lease_columns, now};
use crate::backend::{Attempt, LockRequest, Proof};
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockKey, NoLock, Owner, Why};

/// Beyond every limit, and leaves room to add.
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Takes the lock if it is free or expired, and records how the lease before it ended.
///
/// The winner is known by the row that comes back, never by a number of affected rows. A lock id that had its lease
/// already gets nothing: that is a request that came twice.
pub(super) async fn take(
    connection: &mut SqliteConnection,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<Attempt, DatabaseError> {
    let slot: &[u8] = if request.policy.exclusive { &[] } else { &request.lock };
    record_expired(connection, request, now).await?;
    let granted = sqlx::query(concat!(
        "insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name,
                                  since, last_active, expires_at, ttl, hard_until)
         select ?2, ?3, ?4,
                1 + coalesce((select max(generation) from tenure_lock where kind = ?2 and id = ?3), 0),
                ?5, ?6, ?7, ", now!(), ", ", now!(), ", ", now!(), " + ?8, ?8, ", now!(), " + ?9
         where not exists (select 1 from tenure_lock_history where lock_hash = ?5)
         on conflict (kind, id, slot) do update set
                generation  = tenure_lock.generation + (tenure_lock.lock_hash <> excluded.lock_hash),
                since       = iif(tenure_lock.lock_hash = excluded.lock_hash, tenure_lock.since, excluded.since),
                hard_until  = iif(tenure_lock.lock_hash = excluded.lock_hash, tenure_lock.hard_until, excluded.hard_until),
                expires_at  = iif(tenure_lock.lock_hash = excluded.lock_hash,
                                  max(tenure_lock.expires_at, min(excluded.expires_at, tenure_lock.hard_until)),
                                  excluded.expires_at),
                lock_hash   = excluded.lock_hash,
                owner_id    = excluded.owner_id,
                owner_name  = excluded.owner_name,
                last_active = excluded.last_active,
                ttl         = excluded.ttl,
                ended       = 0
         where ((tenure_lock.ended = 1 or tenure_lock.expires_at <= ", now!(), ") and tenure_lock.lock_hash <> excluded.lock_hash)
            or (tenure_lock.ended = 0 and tenure_lock.expires_at > ", now!(), "
                and tenure_lock.lock_hash = excluded.lock_hash and tenure_lock.owner_id = excluded.owner_id)
         returning ", lease_columns!()
    ))
    .bind(now)
    .bind(request.key.kind())
    .bind(request.key.id())
    .bind(slot)
    .bind(&request.lock[..])
    .bind(&request.owner.id)
    .bind(&request.owner.name)
    .bind(millis(request.policy.ttl))
    .bind(millis(request.policy.limit))
    .fetch_optional(&mut *connection)
    .await;
    match granted {
        Ok(Some(row)) => Ok(Attempt::Granted(lease(&row)?.holder)),
        Ok(None) => refused(connection, request, now).await,
        // Lock ids are unique over all keys: this one holds another aggregate.
        Err(error) if is_duplicate(&error) => {
            Ok(Attempt::Used(NoLock { key: Some(request.key.clone()), why: Why::OtherAggregate, held_now: None }))
        }
        Err(error) => Err(classify(error)),
    }
}

/// Why nothing was granted.
async fn refused(connection: &mut SqliteConnection, request: &LockRequest, now: Option<i64>) -> Result<Attempt, DatabaseError> {
    let proof = Proof { lock: request.lock, owner: Some(request.owner.id.clone()) };
    match leases::check(connection, &proof, now).await? {
        Ok(holder) => Ok(Attempt::Granted(holder)),
        Err(NoLock { why: Why::Unknown, .. }) => Ok(Attempt::Lost),
        Err(no_lock) => Ok(Attempt::Used(no_lock)),
    }
}

/// Writes down that leases on this key ran out, before their rows are overwritten; and sweeps advisory ones, whose
/// rows nobody needs but for the highest generation.
async fn record_expired(connection: &mut SqliteConnection, request: &LockRequest, now: Option<i64>) -> Result<(), DatabaseError> {
    sqlx::query(concat!(
        "insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, since, ended_at, how)
         select lock_hash, kind, id, generation, owner_id, owner_name, since, expires_at, 'expired' from tenure_lock
         where kind = ?2 and id = ?3 and ended = 0 and expires_at <= ", now!(), " and lock_hash <> ?4
         on conflict (lock_hash) do nothing"
    ))
    .bind(now)
    .bind(request.key.kind())
    .bind(request.key.id())
    .bind(&request.lock[..])
    .execute(&mut *connection)
    .await
    .map_err(classify)?;
    if request.policy.exclusive {
        return Ok(());
    }
    sqlx::query(concat!(
        "delete from tenure_lock
         where kind = ?2 and id = ?3 and slot <> x'' and (ended = 1 or expires_at <= ", now!(), ")
           and generation < (select max(generation) from tenure_lock where kind = ?2 and id = ?3)"
    ))
    .bind(now)
    .bind(request.key.kind())
    .bind(request.key.id())
    .execute(connection)
    .await
    .map(drop)
    .map_err(classify)
}

/// Sets the expiry to now + ttl, within the absolute limit; never backwards.
pub(super) async fn keep_alive(
    connection: &mut SqliteConnection,
    proof: &Proof,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let kept = sqlx::query(concat!(
        "update tenure_lock set last_active = ", now!(), ",
                expires_at = max(expires_at, min(", now!(), " + ttl, hard_until))
         where lock_hash = ?2 and (?3 is null or owner_id = ?3) and ended = 0 and expires_at > ", now!(), "
         returning ", lease_columns!()
    ))
    .bind(now)
    .bind(&proof.lock[..])
    .bind(&proof.owner)
    .fetch_optional(&mut *connection)
    .await
    .map_err(classify)?;
    answer(connection, proof, kept, now).await
}

/// Adds to the expiry, within now + ttl and the absolute limit; never backwards.
pub(super) async fn extend(
    connection: &mut SqliteConnection,
    proof: &Proof,
    by: Duration,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let extended = sqlx::query(concat!(
        "update tenure_lock set last_active = ", now!(), ",
                expires_at = max(expires_at, min(expires_at + ?4, ", now!(), " + ttl, hard_until))
         where lock_hash = ?2 and (?3 is null or owner_id = ?3) and ended = 0 and expires_at > ", now!(), "
         returning ", lease_columns!()
    ))
    .bind(now)
    .bind(&proof.lock[..])
    .bind(&proof.owner)
    .bind(millis(by.min(CENTURY)))
    .fetch_optional(&mut *connection)
    .await
    .map_err(classify)?;
    answer(connection, proof, extended, now).await
}

/// Brings the expiry forward; a sign of life within that time sets it back.
pub(super) async fn expire_within(
    connection: &mut SqliteConnection,
    proof: &Proof,
    within: Duration,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let parting = sqlx::query(concat!(
        "update tenure_lock set expires_at = min(expires_at, ", now!(), " + ?4)
         where lock_hash = ?2 and (?3 is null or owner_id = ?3) and ended = 0 and expires_at > ", now!(), "
         returning ", lease_columns!()
    ))
    .bind(now)
    .bind(&proof.lock[..])
    .bind(&proof.owner)
    .bind(millis(within.min(CENTURY)))
    .fetch_optional(&mut *connection)
    .await
    .map_err(classify)?;
    answer(connection, proof, parting, now).await
}

/// Frees a live lease and records it.
pub(super) async fn release(
    connection: &mut SqliteConnection,
    proof: &Proof,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let released = sqlx::query(concat!(
        "update tenure_lock set ended = 1
         where lock_hash = ?2 and (?3 is null or owner_id = ?3) and ended = 0 and expires_at > ", now!(), "
         returning ", lease_columns!()
    ))
    .bind(now)
    .bind(&proof.lock[..])
    .bind(&proof.owner)
    .fetch_optional(&mut *connection)
    .await
    .map_err(classify)?;
    if let Some(row) = &released {
        record_ended(connection, row, "released", None, now).await?;
    }
    answer(connection, proof, released, now).await
}

/// Ends the live lease of that generation, and records who did it and why.
pub(super) async fn break_lock(
    connection: &mut SqliteConnection,
    key: &LockKey,
    generation: i64,
    by: &Owner,
    reason: &str,
    now: Option<i64>,
) -> Result<Option<Holder>, DatabaseError> {
    let broken = sqlx::query(concat!(
        "update tenure_lock set ended = 1
         where kind = ?2 and id = ?3 and generation = ?4 and ended = 0 and expires_at > ", now!(), "
         returning ", lease_columns!()
    ))
    .bind(now)
    .bind(key.kind())
    .bind(key.id())
    .bind(generation)
    .fetch_optional(&mut *connection)
    .await
    .map_err(classify)?;
    let Some(row) = broken else { return Ok(None) };
    record_ended(connection, &row, "broken", Some((by, reason)), now).await?;
    Ok(Some(lease(&row)?.holder))
}

async fn record_ended(
    connection: &mut SqliteConnection,
    row: &SqliteRow,
    how: &str,
    broken: Option<(&Owner, &str)>,
    now: Option<i64>,
) -> Result<(), DatabaseError> {
    let hash: Vec<u8> = row.try_get("lock_hash").map_err(classify)?;
    sqlx::query(concat!(
        "insert into tenure_lock_history
                (lock_hash, kind, id, generation, owner_id, owner_name, since, ended_at, how, by_id, by_name, reason)
         select lock_hash, kind, id, generation, owner_id, owner_name, since, ", now!(), ", ?3, ?4, ?5, ?6
         from tenure_lock where lock_hash = ?2"
    ))
    .bind(now)
    .bind(hash)
    .bind(how)
    .bind(broken.map(|(by, _)| by.id.as_str()))
    .bind(broken.map(|(by, _)| by.name.as_str()))
    .bind(broken.map(|(_, reason)| reason))
    .execute(connection)
    .await
    .map(drop)
    .map_err(classify)
}

/// The lease as it is now, or why there is none.
async fn answer(
    connection: &mut SqliteConnection,
    proof: &Proof,
    row: Option<SqliteRow>,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    match row {
        Some(row) => Ok(Ok(lease(&row)?.holder)),
        None => leases::check(connection, proof, now).await,
    }
}

//! Taking, keeping and ending leases. Every function runs inside a transaction, and one conditional statement decides. `$1`
//! is the time that a test gives, or null, in every statement; `tenure_now` is evaluated after the row is locked.

use std::time::Duration;

use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use super::errors::{classify, is_duplicate};
use super::leases::{self, lease};
use crate::backend::{Attempt, LockRequest, Proof};
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockKey, NoLock, Owner, Why};

/// Beyond every limit, and leaves room to add.
pub(super) const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The row is taken over if its lease has ended or is a reservation for whoever asks, or kept if the same lock id asks
/// again. What comes back is the winner; a number of affected rows would not tell. Times are evaluated after the row is
/// locked, which EXCLUDED's are not.
const TAKE: &str = "
    insert into tenure_lock as l (kind, id, slot, generation, lock_hash, owner_id, owner_name,
                                  since, last_active, expires_at, ttl, hard_until)
    select $2, $3, $4, 1 + coalesce((select max(generation) from tenure_lock where kind = $2 and id = $3), 0),
           $5, $6, $7, tenure_now($1), tenure_now($1), tenure_now($1) + $8, $8, tenure_now($1) + $9
     where not exists (select 1 from tenure_lock_history where lock_hash = $5)
        on conflict (kind, id, slot) do update set
           generation  = l.generation + (l.lock_hash <> excluded.lock_hash)::int,
           since       = case when l.lock_hash = excluded.lock_hash then l.since else tenure_now($1) end,
           hard_until  = case when l.lock_hash = excluded.lock_hash then l.hard_until else tenure_now($1) + $9 end,
           expires_at  = case when l.lock_hash = excluded.lock_hash
                              then greatest(l.expires_at, least(tenure_now($1) + $8, l.hard_until))
                              else tenure_now($1) + $8 end,
           lock_hash   = excluded.lock_hash,
           owner_id    = excluded.owner_id,
           owner_name  = excluded.owner_name,
           last_active = tenure_now($1),
           ttl         = excluded.ttl,
           ended       = false
     where ((l.ended or l.expires_at <= tenure_now($1) or (l.ttl = 0 and l.owner_id = excluded.owner_id)) and l.lock_hash <> excluded.lock_hash)
        or (not l.ended and l.expires_at > tenure_now($1)
            and l.lock_hash = excluded.lock_hash and l.owner_id = excluded.owner_id)
    returning *, tenure_now($1) as now";

/// Takes the lock if it is free or its lease has run out, and records how the lease before it ended.
///
/// A lock id that had its lease already gets nothing: that is a request that came twice.
pub(super) async fn take(
    connection: &mut PgConnection,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<Attempt, DatabaseError> {
    record_expired(connection, request, now).await?;
    let slot: &[u8] = if request.policy.exclusive { &[] } else { &request.lock };
    let granted = sqlx::query(TAKE)
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
async fn refused(
    connection: &mut PgConnection,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<Attempt, DatabaseError> {
    let proof = Proof { lock: request.lock, owner: Some(request.owner.id.clone()) };
    match leases::check(connection, &proof, now).await? {
        Ok(holder) => Ok(Attempt::Granted(holder)),
        Err(NoLock { why: Why::Unknown, .. }) => Ok(Attempt::Lost),
        Err(no_lock) => Ok(Attempt::Used(no_lock)),
    }
}

const RECORD_EXPIRED: &str = "
    insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, since, ended_at, how)
    select lock_hash, kind, id, generation, owner_id, owner_name, since, expires_at, 'expired'
      from tenure_lock
     where kind = $2 and id = $3 and not ended and expires_at <= tenure_now($1) and lock_hash <> $4
        on conflict (lock_hash) do nothing";

/// Of the advisory leases that have ended only the highest generation is still needed.
const SWEEP_ADVISORY: &str = "
    delete from tenure_lock
     where kind = $2 and id = $3 and slot <> '' and (ended or expires_at <= tenure_now($1))
       and generation < (select max(generation) from tenure_lock where kind = $2 and id = $3)";

/// Writes down that leases on this key ran out, before their rows are overwritten.
async fn record_expired(
    connection: &mut PgConnection,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<(), DatabaseError> {
    let (kind, id) = (request.key.kind(), request.key.id());
    let record = sqlx::query(RECORD_EXPIRED).bind(now).bind(kind).bind(id).bind(&request.lock[..]);
    record.execute(&mut *connection).await.map_err(classify)?;
    if !request.policy.exclusive {
        let sweep = sqlx::query(SWEEP_ADVISORY).bind(now).bind(kind).bind(id);
        sweep.execute(connection).await.map_err(classify)?;
    }
    Ok(())
}

const KEEP_ALIVE: &str = "
    update tenure_lock set last_active = tenure_now($1),
           expires_at = greatest(expires_at, least(tenure_now($1) + ttl, hard_until))
     where lock_hash = $2 and ($3::text is null or owner_id = $3) and not ended and expires_at > tenure_now($1)
       and $4::bigint is not null
    returning *, tenure_now($1) as now";

/// Sets the expiry to now + ttl, within the absolute limit; never backwards.
pub(super) async fn keep_alive(
    connection: &mut PgConnection,
    proof: &Proof,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let kept = change(connection, KEEP_ALIVE, proof, Duration::ZERO, now).await?;
    answer(connection, proof, kept, now).await
}

const EXTEND: &str = "
    update tenure_lock set last_active = tenure_now($1),
           expires_at = greatest(expires_at, least(expires_at + $4, tenure_now($1) + ttl, hard_until))
     where lock_hash = $2 and ($3::text is null or owner_id = $3) and not ended and expires_at > tenure_now($1)
       and $4::bigint is not null
    returning *, tenure_now($1) as now";

/// Adds to the expiry, within now + ttl and the absolute limit; never backwards.
pub(super) async fn extend(
    connection: &mut PgConnection,
    proof: &Proof,
    by: Duration,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let extended = change(connection, EXTEND, proof, by, now).await?;
    answer(connection, proof, extended, now).await
}

const EXPIRE_WITHIN: &str = "
    update tenure_lock set expires_at = least(expires_at, tenure_now($1) + $4)
     where lock_hash = $2 and ($3::text is null or owner_id = $3) and not ended and expires_at > tenure_now($1)
       and $4::bigint is not null
    returning *, tenure_now($1) as now";

/// Brings the expiry forward; a sign of life within that time sets it back.
pub(super) async fn expire_within(
    connection: &mut PgConnection,
    proof: &Proof,
    within: Duration,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let parting = change(connection, EXPIRE_WITHIN, proof, within, now).await?;
    answer(connection, proof, parting, now).await
}

const RELEASE: &str = "
    update tenure_lock set ended = true
     where lock_hash = $2 and ($3::text is null or owner_id = $3) and not ended and expires_at > tenure_now($1)
       and $4::bigint is not null
    returning *, tenure_now($1) as now";

/// Frees a live lease and records it.
pub(super) async fn release(
    connection: &mut PgConnection,
    proof: &Proof,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let released = change(connection, RELEASE, proof, Duration::ZERO, now).await?;
    if let Some(row) = &released {
        record_ended(connection, row, "released", None, None, now).await?;
    }
    answer(connection, proof, released, now).await
}

/// Takes the row as a takeover would: whoever saves under this lease is waited for.
const HOLD: &str = "
    select *, tenure_now($1) as now from tenure_lock
     where kind = $2 and id = $3 and generation = $4 and not ended and expires_at > tenure_now($1) for update";

const BREAK: &str = "update tenure_lock set ended = true where lock_hash = $1";

/// Ends the live lease of that generation, and records who did it and why.
pub(super) async fn break_lock(
    connection: &mut PgConnection,
    key: &LockKey,
    generation: i64,
    by: &Owner,
    reason: &str,
    now: Option<i64>,
) -> Result<Option<Holder>, DatabaseError> {
    let broken = sqlx::query(HOLD).bind(now).bind(key.kind()).bind(key.id()).bind(generation);
    let Some(row) = broken.fetch_optional(&mut *connection).await.map_err(classify)? else { return Ok(None) };
    record_ended(connection, &row, "broken", Some(by), Some(reason), now).await?;
    let broken = lease(&row)?;
    sqlx::query(BREAK).bind(&broken.lock).execute(connection).await.map_err(classify)?;
    Ok(Some(broken.holder))
}

const RECORD_ENDED: &str = "
    insert into tenure_lock_history
           (lock_hash, kind, id, generation, owner_id, owner_name, since, ended_at, how, by_id, by_name, reason)
    select lock_hash, kind, id, generation, owner_id, owner_name, since, tenure_now($1), $3, $4, $5, $6
      from tenure_lock where lock_hash = $2";

/// Writes down how a live lease ends, and who has to do with it.
pub(super) async fn record_ended(
    connection: &mut PgConnection,
    row: &PgRow,
    how: &str,
    by: Option<&Owner>,
    reason: Option<&str>,
    now: Option<i64>,
) -> Result<(), DatabaseError> {
    let record = sqlx::query(RECORD_ENDED)
        .bind(now)
        .bind(lease(row)?.lock)
        .bind(how)
        .bind(by.map(|by| by.id.as_str()))
        .bind(by.map(|by| by.name.as_str()))
        .bind(reason);
    record.execute(connection).await.map(drop).map_err(classify)
}

/// Runs one of the statements on the lease that a lock id holds; no row comes back if it holds none.
async fn change(
    connection: &mut PgConnection,
    statement: &'static str,
    proof: &Proof,
    by: Duration,
    now: Option<i64>,
) -> Result<Option<PgRow>, DatabaseError> {
    let query = sqlx::query(statement).bind(now).bind(&proof.lock[..]).bind(&proof.owner);
    query.bind(millis(by.min(CENTURY))).fetch_optional(connection).await.map_err(classify)
}

/// The lease as it is now, or why there is none.
async fn answer(
    connection: &mut PgConnection,
    proof: &Proof,
    row: Option<PgRow>,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    match row {
        Some(row) => Ok(Ok(lease(&row)?.holder)),
        None => leases::check(connection, proof, now).await,
    }
}

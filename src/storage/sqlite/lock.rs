//! Acquiring, keeping and ending leases. Every function runs inside a transaction that already holds the write lock, so `now` was read
//! after any wait, and one conditional statement decides. `?1` is `now` in every statement.

use std::time::Duration;

use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::errors::{classify, is_duplicate};
use super::leases::{self, lease};
use super::slots;
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::{Holder, LeaseLossReason, LockId, LockKey, NoLock, Owner};
use crate::storage::{Attempt, CENTURY, LockHash, LockRequest, Proof};

/// The row is taken over if its lease has ended or is a reservation for the requester, or kept if the same lock id repeats its request. The
/// returned row is the winner; the number of affected rows does not show it. After a repeated request or a heartbeat, [`give_back`] leaves
/// the lease alone: its last heartbeat is then later than its grant.
const TAKE: &str = "
    insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name, owner_role, shown_as, shared,
                             since, last_active, active_at, expires_at, ttl, idle_limit, hard_until)
    select ?2, ?3, ?4,
           1 + max(coalesce((select max(generation) from tenure_lock where kind = ?2 and id = ?3), 0),
                   coalesce((select generation from tenure_lock_floor where kind = ?2), 0)),
           ?5, ?6, ?7, ?10, ?11, ?13, ?1, ?1, ?1, ?1 + ?8, ?8, ?12, ?1 + ?9
     where not exists (select 1 from tenure_lock_history where lock_hash = ?5)
        on conflict (kind, id, slot) do update set
           generation  = generation + (lock_hash <> excluded.lock_hash),
           since       = iif(lock_hash = excluded.lock_hash, since, excluded.since),
           hard_until  = iif(lock_hash = excluded.lock_hash, hard_until, excluded.hard_until),
           expires_at  = iif(lock_hash = excluded.lock_hash,
                             max(expires_at, min(excluded.expires_at, hard_until)),
                             excluded.expires_at),
           lock_hash   = excluded.lock_hash,
           owner_id    = excluded.owner_id,
           owner_name  = excluded.owner_name,
           owner_role  = excluded.owner_role,
           shown_as    = excluded.shown_as,
           last_active = iif(lock_hash = excluded.lock_hash, ?1 + (since = ?1), ?1),
           active_at   = excluded.active_at,
           ttl         = excluded.ttl,
           idle_limit  = excluded.idle_limit,
           ended       = 0
     where ((ended = 1 or expires_at <= ?1 or (ttl = 0 and owner_id = excluded.owner_id)) and shared = 0
            and lock_hash <> excluded.lock_hash)
        or (ended = 0 and expires_at > ?1 and lock_hash = excluded.lock_hash and owner_id = excluded.owner_id)
    returning *";

/// Acquires the lock if it is free or its lease has expired, and records the end of the former lease.
///
/// A lock id whose lease has ended gets nothing: its request was delivered twice.
pub(super) async fn take(
    connection: &mut SqliteConnection,
    request: &LockRequest,
    now: i64,
) -> Result<Attempt, DatabaseError> {
    if !request.is_alone() {
        return slots::take(connection, request, now).await;
    }
    if let Some(reader) = slots::make_way(connection, request, now).await? {
        return Ok(Attempt::Held(reader));
    }
    record_expired(connection, request, now).await?;
    take_slot(connection, request, &[], now).await
}

/// Acquires the slot, if it is free or its lease has expired.
pub(super) async fn take_slot(
    connection: &mut SqliteConnection,
    request: &LockRequest,
    slot: &[u8],
    now: i64,
) -> Result<Attempt, DatabaseError> {
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
        .bind(&request.owner.role)
        .bind(request.policy.shown.stored())
        .bind(request.policy.idle.map(millis))
        .bind(request.shared)
        .fetch_optional(&mut *connection)
        .await;
    match granted {
        Ok(Some(row)) => Ok(Attempt::Granted(lease(&row, now)?.holder)),
        Ok(None) => refused(connection, request, now).await,
        // Lock ids are unique over all keys: this one holds another aggregate.
        Err(error) if is_duplicate(&error) => Ok(Attempt::Used(NoLock {
            key: Some(request.key.clone()),
            why: LeaseLossReason::OtherAggregate,
            held_now: None,
        })),
        Err(error) => Err(classify(error)),
    }
}

/// The reason that nothing was granted.
async fn refused(connection: &mut SqliteConnection, request: &LockRequest, now: i64) -> Result<Attempt, DatabaseError> {
    let proof = Proof { lock: request.lock, owner: Some(request.owner.id.clone()) };
    match leases::check(connection, &proof, now).await? {
        Ok(holder) => Ok(Attempt::Granted(holder)),
        Err(NoLock { why: LeaseLossReason::Unknown, .. }) => Ok(Attempt::Lost),
        Err(no_lock) => Ok(Attempt::Used(no_lock)),
    }
}

const RECORD_EXPIRED: &str = "
    insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                     since, ended_at, how, idle, limited)
    select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, expires_at, 'expired',
           coalesce(expires_at >= active_at + idle_limit, 0), expires_at >= hard_until
      from tenure_lock
     where kind = ?2 and id = ?3 and slot = x'' and ended = 0 and expires_at <= ?1 and lock_hash <> ?4
        on conflict (lock_hash) do nothing";

/// Records that the lease on this key expired, before its row is overwritten.
async fn record_expired(
    connection: &mut SqliteConnection,
    request: &LockRequest,
    now: i64,
) -> Result<(), DatabaseError> {
    let (kind, id) = (request.key.kind(), request.key.id());
    let record = sqlx::query(RECORD_EXPIRED).bind(now).bind(kind).bind(id).bind(&request.lock[..]);
    record.execute(connection).await.map(drop).map_err(classify)
}

const KEEP_ALIVE: &str = "
    update tenure_lock set last_active = ?1 + (since = ?1), active_at = max(active_at, ?1 - ?4),
           expires_at = max(expires_at, min(?1 + min(ttl, 100000000000000), hard_until,
                                            coalesce(max(active_at, ?1 - ?4) + idle_limit, hard_until)))
     where lock_hash = ?2 and (?3 is null or owner_id = ?3) and ended = 0 and expires_at > ?1
    returning *";

/// Sets the expiry to now + ttl, within the idle and the absolute limit; never backwards.
pub(super) async fn keep_alive(
    connection: &mut SqliteConnection,
    proof: &Proof,
    idle: Duration,
    now: i64,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let kept = change(connection, KEEP_ALIVE, proof, idle, now).await?;
    answer(connection, proof, kept, now).await
}

const EXTEND: &str = "
    update tenure_lock set last_active = ?1 + (since = ?1), active_at = max(active_at, ?1),
           expires_at = max(expires_at, min(expires_at + ?4, ?1 + min(ttl, 100000000000000), hard_until,
                                            coalesce(max(active_at, ?1) + idle_limit, hard_until)))
     where lock_hash = ?2 and (?3 is null or owner_id = ?3) and ended = 0 and expires_at > ?1
    returning *";

/// Adds to the expiry, within now + ttl, the idle and the absolute limit; never backwards.
pub(super) async fn extend(
    connection: &mut SqliteConnection,
    proof: &Proof,
    by: Duration,
    now: i64,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let extended = change(connection, EXTEND, proof, by, now).await?;
    answer(connection, proof, extended, now).await
}

const EXPIRE_WITHIN: &str = "
    update tenure_lock set expires_at = min(expires_at, ?1 + ?4)
     where lock_hash = ?2 and (?3 is null or owner_id = ?3) and ended = 0 and expires_at > ?1
    returning *";

/// Brings the expiry forward; a heartbeat within that time sets it back.
pub(super) async fn expire_within(
    connection: &mut SqliteConnection,
    proof: &Proof,
    within: Duration,
    now: i64,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let parting = change(connection, EXPIRE_WITHIN, proof, within, now).await?;
    answer(connection, proof, parting, now).await
}

const RELEASE: &str = "
    update tenure_lock set ended = 1
     where lock_hash = ?2 and (?3 is null or owner_id = ?3) and ended = 0 and expires_at > ?1
    returning *";

/// Releases a live lease and records it.
pub(super) async fn release(
    connection: &mut SqliteConnection,
    proof: &Proof,
    now: i64,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let released = change(connection, RELEASE, proof, Duration::ZERO, now).await?;
    if let Some(row) = &released {
        record_ended(connection, row, "released", None, None, now).await?;
    }
    answer(connection, proof, released, now).await
}

const GIVE_BACK: &str = "
    update tenure_lock set ended = 1, lock_hash = ?4, slot = iif(slot = x'', slot, ?4)
     where lock_hash = ?2 and generation = ?3 and last_active = since and ended = 0 and expires_at > ?1
    returning *";

/// Releases a lease that had no heartbeat or repeated request since its grant, because its caller is gone. Its lock id can be used again.
pub(super) async fn give_back(
    connection: &mut SqliteConnection,
    lock: &LockHash,
    generation: i64,
    now: i64,
) -> Result<bool, DatabaseError> {
    let nobodys = LockId::random().hash().to_vec();
    let given = sqlx::query(GIVE_BACK).bind(now).bind(&lock[..]).bind(generation).bind(nobodys);
    let given = given.fetch_optional(&mut *connection).await.map_err(classify)?;
    if let Some(row) = &given {
        record_ended(connection, row, "released", None, None, now).await?;
    }
    Ok(given.is_some())
}

/// Only one lease, because only one is written to the history: an advisory lease can have the same generation as the exclusive lease beside
/// it.
const BREAK: &str = "
    update tenure_lock set ended = 1
     where lock_hash = (
        select lock_hash from tenure_lock
         where kind = ?2 and id = ?3 and generation = ?4 and ended = 0 and expires_at > ?1 order by slot limit 1)
    returning *";

/// Ends the live lease of this generation, and records its author and reason.
pub(super) async fn break_lock(
    connection: &mut SqliteConnection,
    key: &LockKey,
    generation: i64,
    by: &Owner,
    reason: &str,
    now: i64,
) -> Result<Option<Holder>, DatabaseError> {
    let broken = sqlx::query(BREAK).bind(now).bind(key.kind()).bind(key.id()).bind(generation);
    let Some(row) = broken.fetch_optional(&mut *connection).await.map_err(classify)? else { return Ok(None) };
    record_ended(connection, &row, "broken", Some(by), Some(reason), now).await?;
    Ok(Some(lease(&row, now)?.holder))
}

const RECORD_ENDED: &str = "
    insert into tenure_lock_history
           (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, ended_at, how,
            by_id, by_name, by_role, reason)
    select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, ?1, ?3, ?4, ?5, ?7, ?6
      from tenure_lock where lock_hash = ?2";

/// Records the end of a live lease, and the other party.
pub(super) async fn record_ended(
    connection: &mut SqliteConnection,
    row: &SqliteRow,
    how: &str,
    by: Option<&Owner>,
    reason: Option<&str>,
    now: i64,
) -> Result<(), DatabaseError> {
    let record = sqlx::query(RECORD_ENDED)
        .bind(now)
        .bind(lease(row, now)?.lock)
        .bind(how)
        .bind(by.map(|by| by.id.as_str()))
        .bind(by.map(|by| by.name.as_str()))
        .bind(reason)
        .bind(by.and_then(|by| by.role.as_deref()));
    record.execute(connection).await.map(drop).map_err(classify)
}

/// Runs one of the statements on the lease of a lock id; it returns no row if there is none.
async fn change(
    connection: &mut SqliteConnection,
    statement: &'static str,
    proof: &Proof,
    by: Duration,
    now: i64,
) -> Result<Option<SqliteRow>, DatabaseError> {
    let query = sqlx::query(statement).bind(now).bind(&proof.lock[..]).bind(&proof.owner);
    query.bind(millis(by.min(CENTURY))).fetch_optional(connection).await.map_err(classify)
}

/// The lease as of now, or the reason that there is none.
async fn answer(
    connection: &mut SqliteConnection,
    proof: &Proof,
    row: Option<SqliteRow>,
    now: i64,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    match row {
        Some(row) => Ok(Ok(lease(&row, now)?.holder)),
        None => leases::check(connection, proof, now).await,
    }
}

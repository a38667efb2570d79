//! Acquiring, keeping and ending leases. Every function runs inside a transaction, and one conditional statement decides. `$1` is the time
//! of a test, or null, in every statement. `insert … on conflict` evaluates its conditions after the row is locked; an `update` and a
//! locking `select` evaluate them again only if the row was changed while they waited (see `leases`).

use std::time::Duration;

use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use super::errors::{classify, is_duplicate};
use super::leases::{self, lease};
use super::slots;
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::{Holder, LeaseLossReason, LockId, LockKey, NoLock, Owner};
use crate::storage::{Attempt, CENTURY, LockHash, LockRequest, Proof};

/// The row is taken over if its lease has ended or is a reservation for the requester, or kept if the same lock id repeats its request. The
/// returned row is the winner; the number of affected rows does not show it. Times are evaluated after the row is locked, unlike those of
/// EXCLUDED.
///
/// After a repeated request or a heartbeat, [`give_back`] leaves the lease alone: its last heartbeat is then later than its grant.
const TAKE: &str = "
    insert into tenure_lock as l (kind, id, slot, generation, lock_hash, owner_id, owner_name, owner_role, shown_as, shared,
                                  since, last_active, active_at, expires_at, ttl, idle_limit, hard_until)
    select $2, $3, $4,
           1 + greatest((select max(generation) from tenure_lock where kind = $2 and id = $3),
                        (select generation from tenure_lock_floor where kind = $2), 0),
           $5, $6, $7, $10, $11, $13, clock.now, clock.now, clock.now, clock.now + $8, $8, $12, clock.now + $9
      from (select tenure_now($1) as now offset 0) clock
     where not exists (select 1 from tenure_lock_history where lock_hash = $5)
        on conflict (kind, id, slot) do update set
           generation  = l.generation + (l.lock_hash <> excluded.lock_hash)::int,
           (since, last_active, active_at, hard_until, expires_at) =
               (select case when l.lock_hash = $5 then l.since else clock.now end,
                       case when l.lock_hash = $5 and l.since = clock.now then clock.now + 1 else clock.now end,
                       clock.now,
                       case when l.lock_hash = $5 then l.hard_until else clock.now + $9 end,
                       case when l.lock_hash = $5 then greatest(l.expires_at, least(clock.now + $8, l.hard_until))
                            else clock.now + $8 end
                  from (select tenure_now($1) as now offset 0) clock),
           lock_hash   = excluded.lock_hash,
           owner_id    = excluded.owner_id,
           owner_name  = excluded.owner_name,
           owner_role  = excluded.owner_role,
           shown_as    = excluded.shown_as,
           ttl         = excluded.ttl,
           idle_limit  = excluded.idle_limit,
           ended       = false
     where ((l.ended or l.expires_at <= tenure_now($1) or (l.ttl = 0 and l.owner_id = excluded.owner_id))
            and not l.shared and l.lock_hash <> excluded.lock_hash)
        or (not l.ended and l.expires_at > tenure_now($1)
            and l.lock_hash = excluded.lock_hash and l.owner_id = excluded.owner_id)
    returning *, tenure_now($1) as now";

/// The row is locked before the end of its lease is recorded, as in every takeover; otherwise two of them could deadlock.
const HOLD_FREE: &str = "
    select 1 from tenure_lock
     where kind = $2 and id = $3 and slot = '' and (ended or expires_at <= tenure_now($1)) for update";

/// Acquires the lock if it is free or its lease has expired, and records the end of the former lease.
///
/// A lock id whose lease has ended gets nothing: its request was delivered twice.
pub(super) async fn take(
    connection: &mut PgConnection,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<Attempt, DatabaseError> {
    if !request.is_alone() {
        return slots::take(connection, request, now).await;
    }
    if let Some(reader) = slots::make_way(connection, request, now).await? {
        return Ok(Attempt::Held(reader));
    }
    let hold = sqlx::query(HOLD_FREE).bind(now).bind(request.key.kind()).bind(request.key.id());
    hold.execute(&mut *connection).await.map_err(classify)?;
    record_expired(connection, request, now).await?;
    take_slot(connection, request, &[], now).await
}

/// Acquires the slot, if it is free or its lease has expired.
pub(super) async fn take_slot(
    connection: &mut PgConnection,
    request: &LockRequest,
    slot: &[u8],
    now: Option<i64>,
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
        Ok(Some(row)) => Ok(Attempt::Granted(lease(&row)?.holder)),
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
async fn refused(
    connection: &mut PgConnection,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<Attempt, DatabaseError> {
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
           coalesce(expires_at >= active_at + idle_limit, false), expires_at >= hard_until
      from tenure_lock
     where kind = $2 and id = $3 and slot = '' and not ended and expires_at <= tenure_now($1) and lock_hash <> $4
        on conflict (lock_hash) do nothing";

/// Records that the lease on this key expired, before its row is overwritten.
async fn record_expired(
    connection: &mut PgConnection,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<(), DatabaseError> {
    let (kind, id) = (request.key.kind(), request.key.id());
    let record = sqlx::query(RECORD_EXPIRED).bind(now).bind(kind).bind(id).bind(&request.lock[..]);
    record.execute(connection).await.map(drop).map_err(classify)
}

/// A time to live that was edited by hand must not overflow the sum: one error would fail all heartbeats of the statement.
const KEEP_ALIVE: &str = "
    update tenure_lock set last_active = coalesce(nullif(tenure_now($1), since), since + 1),
           active_at = greatest(active_at, tenure_now($1) - $4),
           expires_at = greatest(expires_at, least(tenure_now($1) + least(ttl, 100000000000000), hard_until,
                                                   greatest(active_at, tenure_now($1) - $4) + idle_limit))
     where lock_hash = $2 and ($3::text is null or owner_id = $3) and not ended and expires_at > tenure_now($1)
    returning *, tenure_now($1) as now";

/// Sets the expiry to now + ttl, within the idle and the absolute limit; never backwards.
pub(super) async fn keep_alive(
    connection: &mut PgConnection,
    proof: &Proof,
    idle: Duration,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let kept = change(connection, KEEP_ALIVE, proof, idle, now).await?;
    answer(connection, proof, kept, now).await
}

/// Heartbeats of several leases, in one order for all callers, so that two sets cannot deadlock.
pub(super) async fn keep_all_alive(
    connection: &mut PgConnection,
    proofs: &[(Proof, Duration)],
    now: Option<i64>,
) -> Result<Vec<Result<Holder, NoLock>>, DatabaseError> {
    let mut order: Vec<usize> = (0..proofs.len()).collect();
    order.sort_by_key(|&at| proofs[at].0.lock);
    let mut answers: Vec<Option<Result<Holder, NoLock>>> = vec![None; proofs.len()];
    for at in order {
        let (proof, idle) = &proofs[at];
        answers[at] = Some(keep_alive(connection, proof, *idle, now).await?);
    }
    Ok(answers.into_iter().flatten().collect())
}

const EXTEND: &str = "
    update tenure_lock set last_active = coalesce(nullif(tenure_now($1), since), since + 1),
           active_at = greatest(active_at, tenure_now($1)),
           expires_at = greatest(expires_at, least(least(expires_at, tenure_now($1) + least(ttl, 100000000000000)) + $4,
                                                  tenure_now($1) + least(ttl, 100000000000000), hard_until,
                                                  greatest(active_at, tenure_now($1)) + idle_limit))
     where lock_hash = $2 and ($3::text is null or owner_id = $3) and not ended and expires_at > tenure_now($1)
       and $4::bigint is not null
    returning *, tenure_now($1) as now";

/// Adds to the expiry, within now + ttl, the idle and the absolute limit; never backwards.
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

/// Brings the expiry forward; a heartbeat within that time sets it back.
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

/// Releases a live lease and records it.
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

const GIVE_BACK: &str = "
    update tenure_lock set ended = true, lock_hash = $4, slot = case when slot = '' then slot else $4 end
     where lock_hash = $2 and generation = $3 and last_active = since and not ended and expires_at > tenure_now($1)
    returning *, tenure_now($1) as now";

/// Releases a lease that had no heartbeat or repeated request since its grant, because its caller is gone. Its lock id can be used again.
pub(super) async fn give_back(
    connection: &mut PgConnection,
    lock: &LockHash,
    generation: i64,
    now: Option<i64>,
) -> Result<bool, DatabaseError> {
    let nobodys = LockId::random().hash().to_vec();
    let given = sqlx::query(GIVE_BACK).bind(now).bind(&lock[..]).bind(generation).bind(nobodys);
    let given = given.fetch_optional(&mut *connection).await.map_err(classify)?;
    if let Some(row) = &given {
        record_ended(connection, row, "released", None, None, now).await?;
    }
    Ok(given.is_some())
}

/// Locks the row as a takeover does, so it waits for a save under this lease. The lease is checked after that wait.
const HOLD: &str = "
    with held as materialized (
        select * from tenure_lock where kind = $2 and id = $3 and generation = $4 for update
    ), clock as materialized (select held.*, tenure_now($1) as now from held)
    select * from clock where not ended and expires_at > now";

const BREAK: &str = "update tenure_lock set ended = true where lock_hash = $1";

/// Ends the live lease of this generation, and records its author and reason.
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
           (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, ended_at, how,
            by_id, by_name, by_role, reason)
    select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, tenure_now($1), $3,
           $4, $5, $7, $6
      from tenure_lock where lock_hash = $2";

/// Records the end of a live lease, and the other party.
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
        .bind(reason)
        .bind(by.and_then(|by| by.role.as_deref()));
    record.execute(connection).await.map(drop).map_err(classify)
}

/// Runs one of the statements on the lease of a lock id; it returns no row if there is none.
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

/// The lease as of now, or the reason that there is none.
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

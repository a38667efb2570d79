//! Acquiring, keeping and ending leases. Every function runs inside a transaction, and one conditional statement decides. `$1` is the time
//! of a test, or null, in every statement. `insert … on conflict` evaluates its conditions after the row is locked; an `update` and a
//! locking `select` evaluate them again only if the row was changed while they waited (see `leases`).

use std::time::Duration;

use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use super::errors::classify;
use super::leases::{self, lease};
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::{Holder, NoLock, Owner};
use crate::storage::{CENTURY, Proof};

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

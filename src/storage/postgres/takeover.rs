//! Takeovers, and ending all leases of one owner. Rows are locked before a decision depends on them.

use sqlx::PgConnection;

use super::errors::{classify, is_duplicate};
use super::leases::{self, lease};
use super::lock::record_ended;
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::{Holder, LeaseLossReason, NoLock};
use crate::storage::{LockRequest, Proof, TakenOver};

/// Waits for a save under this lease. The lease is checked after that wait.
const HOLD: &str = "
    with held as materialized (
        select * from tenure_lock where kind = $2 and id = $3 and slot = '' and generation = $4 for update
    ), clock as materialized (select held.*, tenure_now($1) as now from held)
    select * from clock where not ended and expires_at > now";

const TAKE_OVER: &str = "
    update tenure_lock
       set generation = generation + 1, lock_hash = $3, owner_id = $4, owner_name = $5, owner_role = $8, shown_as = $9,
           since = tenure_now($1), last_active = tenure_now($1), active_at = tenure_now($1),
           expires_at = tenure_now($1) + $6, ttl = $6, idle_limit = $10, hard_until = tenure_now($1) + $7
     where lock_hash = $2 and not exists (select 1 from tenure_lock_history past where past.lock_hash = $3)
    returning *, tenure_now($1) as now";

/// Ends the live lease of this generation and grants the next. Only a grant may be committed.
pub(super) async fn take_over(
    connection: &mut PgConnection,
    request: &LockRequest,
    generation: i64,
    reason: &str,
    now: Option<i64>,
) -> Result<TakenOver, DatabaseError> {
    let LockRequest { key, lock, owner, policy, .. } = request;
    let held = sqlx::query(HOLD).bind(now).bind(key.kind()).bind(key.id()).bind(generation);
    let Some(row) = held.fetch_optional(&mut *connection).await.map_err(classify)? else {
        return Ok(TakenOver::Changed);
    };
    let (held, proof) = (lease(&row)?, Proof { lock: *lock, owner: Some(owner.id.clone()) });
    if held.lock == *lock {
        return Ok(leases::check(connection, &proof, now).await?.map_or_else(TakenOver::Used, TakenOver::Granted));
    }
    record_ended(connection, &row, "taken over", Some(owner), Some(reason), now).await?;
    let taken = sqlx::query(TAKE_OVER)
        .bind(now)
        .bind(&held.lock)
        .bind(&lock[..])
        .bind(&owner.id)
        .bind(&owner.name)
        .bind(millis(policy.ttl))
        .bind(millis(policy.limit))
        .bind(&owner.role)
        .bind(policy.shown.stored())
        .bind(policy.idle.map(millis));
    match taken.fetch_optional(&mut *connection).await {
        Ok(Some(row)) => Ok(TakenOver::Granted(lease(&row)?.holder)),
        Ok(None) => {
            let used = leases::check(connection, &proof, now).await?;
            Ok(used.map_or_else(TakenOver::Used, |_| TakenOver::Changed))
        }
        // Lock ids are unique over all keys: this one holds another aggregate.
        Err(error) if is_duplicate(&error) => {
            Ok(TakenOver::Used(NoLock { key: Some(key.clone()), why: LeaseLossReason::OtherAggregate, held_now: None }))
        }
        Err(error) => Err(classify(error)),
    }
}

/// In the order in which heartbeats lock several rows, so that the two cannot deadlock.
const RELEASE_ALL: &str = "
    with held as materialized (
        select kind, id, slot from tenure_lock
         where owner_id = $2 and not ended and expires_at > tenure_now($1) order by lock_hash for no key update
    ), released as (
        update tenure_lock l set ended = true from held
         where l.kind = held.kind and l.id = held.id and l.slot = held.slot and l.expires_at > tenure_now($1)
        returning l.*
    ), recorded as (
        insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                         since, ended_at, how)
        select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, tenure_now($1),
               'released' from released
    )
    select *, tenure_now($1) as now from released";

/// Releases every live lease of an owner, and records it.
pub(super) async fn release_all(
    connection: &mut PgConnection,
    owner: &str,
    now: Option<i64>,
) -> Result<Vec<Holder>, DatabaseError> {
    let rows = sqlx::query(RELEASE_ALL).bind(now).bind(owner).fetch_all(connection).await.map_err(classify)?;
    rows.iter().map(|row| lease(row).map(|lease| lease.holder)).collect()
}

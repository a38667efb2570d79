//! Takeovers, and ending all leases of one owner. The write lock is held, so every read stays valid.

use sqlx::SqliteConnection;

use super::errors::{classify, is_duplicate};
use super::leases::{self, lease};
use super::lock::record_ended;
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::{Holder, LeaseLossReason, NoLock};
use crate::storage::{LockRequest, Proof, TakenOver};

const HELD: &str = "
    select * from tenure_lock
     where kind = ?2 and id = ?3 and slot = x'' and generation = ?4 and ended = 0 and expires_at > ?1";

const TAKE_OVER: &str = "
    update tenure_lock
       set generation = generation + 1, lock_hash = ?3, owner_id = ?4, owner_name = ?5, owner_role = ?8, shown_as = ?9,
           since = ?1, last_active = ?1, active_at = ?1, expires_at = ?1 + ?6, ttl = ?6, idle_limit = ?10,
           hard_until = ?1 + ?7
     where lock_hash = ?2 and not exists (select 1 from tenure_lock_history where lock_hash = ?3)
    returning *";

/// Ends the live lease of this generation and grants the next. Only a grant may be committed.
pub(super) async fn take_over(
    connection: &mut SqliteConnection,
    request: &LockRequest,
    generation: i64,
    reason: &str,
    now: i64,
) -> Result<TakenOver, DatabaseError> {
    let LockRequest { key, lock, owner, policy, .. } = request;
    let held = sqlx::query(HELD).bind(now).bind(key.kind()).bind(key.id()).bind(generation);
    let Some(row) = held.fetch_optional(&mut *connection).await.map_err(classify)? else {
        return Ok(TakenOver::Changed);
    };
    let (held, proof) = (lease(&row, now)?, Proof { lock: *lock, owner: Some(owner.id.clone()) });
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
        Ok(Some(row)) => Ok(TakenOver::Granted(lease(&row, now)?.holder)),
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

const RECORD_RELEASED: &str = "
    insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                     since, ended_at, how)
    select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, ?1, 'released'
      from tenure_lock where owner_id = ?2 and ended = 0 and expires_at > ?1";

const RELEASE_ALL: &str = "
    update tenure_lock set ended = 1 where owner_id = ?2 and ended = 0 and expires_at > ?1 returning *";

/// Releases every live lease of an owner, and records it.
pub(super) async fn release_all(
    connection: &mut SqliteConnection,
    owner: &str,
    now: i64,
) -> Result<Vec<Holder>, DatabaseError> {
    let record = sqlx::query(RECORD_RELEASED).bind(now).bind(owner);
    record.execute(&mut *connection).await.map_err(classify)?;
    let rows = sqlx::query(RELEASE_ALL).bind(now).bind(owner).fetch_all(connection).await.map_err(classify)?;
    rows.iter().map(|row| lease(row, now).map(|lease| lease.holder)).collect()
}

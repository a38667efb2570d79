//! Reviving an expired lease. The write lock is held, so the decision stays valid until the commit.

use sqlx::SqliteConnection;

use super::errors::classify;
use super::leases::{self, lease};
use crate::clock::from_millis;
use crate::error::DatabaseError;
use crate::lease::{LeaseLossReason, LockKey, NoLock};
use crate::storage::{Proof, Resumption};

const RESUME: &str = "
    update tenure_lock set last_active = ?1 + (since = ?1), active_at = max(active_at, ?1),
           expires_at = max(expires_at, min(?1 + min(ttl, 100000000000000), hard_until,
                                            coalesce(max(active_at, ?1) + idle_limit, hard_until)))
     where lock_hash = ?2
    returning *";

/// Revives the lease if its row still exists: another owner who acquires the key changes the row, and ending the lease marks it.
pub(super) async fn resume(
    connection: &mut SqliteConnection,
    proof: &Proof,
    key: &LockKey,
    now: i64,
) -> Result<Resumption, DatabaseError> {
    let select = sqlx::query(leases::BY_LOCK_ID).bind(&proof.lock[..]);
    let row = select.fetch_optional(&mut *connection).await.map_err(classify)?;
    let found = row.as_ref().map(|row| lease(row, now)).transpose()?;
    let Some(stored) =
        found.filter(|found| !found.ended && found.holder.key == *key && proof.is_by(&found.holder.owner.id))
    else {
        return Ok(Resumption::refused(key, leases::check(connection, proof, now).await?));
    };
    // When another owner acquires an advisory lease on the key, the expiry of this one is recorded, but its row stays.
    if leases::ended(connection, &proof.lock).await?.is_some() {
        return Ok(Resumption::refused(key, leases::check(connection, proof, now).await?));
    }
    if stored.hard_until <= now {
        let why = LeaseLossReason::LimitReached { at: from_millis(stored.hard_until) };
        return Ok(Resumption::Ended(NoLock { key: Some(key.clone()), why, held_now: None }));
    }
    let resume = sqlx::query(RESUME).bind(now).bind(&proof.lock[..]);
    let row = resume.fetch_one(connection).await.map_err(classify)?;
    Ok(Resumption::Resumed(lease(&row, now)?.holder))
}

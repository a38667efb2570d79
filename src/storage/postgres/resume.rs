//! Reviving an expired lease. Its row is locked first, so the decision stays valid until the commit.

use sqlx::{PgConnection, Row};

use super::errors::classify;
use super::leases::{self, lease};
use crate::clock::from_millis;
use crate::error::DatabaseError;
use crate::lease::{LeaseLossReason, LockKey, NoLock};
use crate::storage::{Proof, Resumption};

const RESUME: &str = "
    update tenure_lock set last_active = coalesce(nullif(tenure_now($1), since), since + 1),
           active_at = greatest(active_at, tenure_now($1)),
           expires_at = greatest(expires_at, least(tenure_now($1) + least(ttl, 100000000000000), hard_until,
                                                   greatest(active_at, tenure_now($1)) + idle_limit))
     where lock_hash = $2
    returning *, tenure_now($1) as now";

/// Revives the lease if its row still exists: another owner who acquires the key changes the row, and ending the lease marks it.
pub(super) async fn resume(
    connection: &mut PgConnection,
    proof: &Proof,
    key: &LockKey,
    now: Option<i64>,
) -> Result<Resumption, DatabaseError> {
    let hold = sqlx::query(leases::LOCK_BY_LOCK_ID).bind(now).bind(&proof.lock[..]);
    let row = hold.fetch_optional(&mut *connection).await.map_err(classify)?;
    let clock: i64 = row.as_ref().map_or(Ok(0), |row| row.try_get("now")).map_err(classify)?;
    let found = row.as_ref().map(lease).transpose()?;
    let Some(stored) =
        found.filter(|found| !found.ended && found.holder.key == *key && proof.is_by(&found.holder.owner.id))
    else {
        return Ok(Resumption::refused(key, leases::check(connection, proof, now).await?));
    };
    // When another owner acquires an advisory lease on the key, the expiry of this one is recorded, but its row stays.
    if leases::ended(connection, &proof.lock).await?.is_some() {
        return Ok(Resumption::refused(key, leases::check(connection, proof, now).await?));
    }
    if stored.hard_until <= clock {
        let why = LeaseLossReason::LimitReached { at: from_millis(stored.hard_until) };
        return Ok(Resumption::Ended(NoLock { key: Some(key.clone()), why, held_now: None }));
    }
    let resume = sqlx::query(RESUME).bind(now).bind(&proof.lock[..]);
    let row = resume.fetch_one(connection).await.map_err(classify)?;
    Ok(Resumption::Resumed(lease(&row)?.holder))
}

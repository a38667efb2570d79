//! Reviving an expired lease. Its row is locked first, so the decision stays valid until the commit.

use std::time::Duration;

use super::deadline::RowLock;
use super::errors::classify;
use super::leases;
use super::session::{Session, Statement};
use crate::clock::from_millis;
use crate::error::DatabaseError;
use crate::lease::{LeaseLossReason, LockKey, NoLock};
use crate::storage::{Proof, Resumption};

const RESUME: &str = "
    update tenure_lock set last_active = ?, active_at = ?, expires_at = ? where kind = ? and id = ? and slot = ?";

/// Revives the lease if its row still exists: another owner who acquires the key changes the row, and ending the lease marks it. It locks
/// the row as a takeover does, so it waits for saves that require the key to be free.
pub(super) async fn resume(
    session: &mut Session,
    proof: &Proof,
    key: &LockKey,
    now: Option<i64>,
) -> Result<Resumption, DatabaseError> {
    let found = leases::by_lock_id(session, proof, RowLock::Update, now).await?;
    let Some(mut lease) = found.filter(|found| !found.ended && found.holder.key == *key && found.is_proven_by(proof))
    else {
        return Ok(Resumption::refused(key, leases::check(session, proof, now).await?));
    };
    // When another owner acquires an advisory lease on the key, the expiry of this one is recorded, but its row stays.
    if leases::ended(session, &proof.lock).await?.is_some() {
        return Ok(Resumption::refused(key, leases::check(session, proof, now).await?));
    }
    if lease.hard_until <= lease.now {
        let why = LeaseLossReason::LimitReached { at: from_millis(lease.hard_until) };
        return Ok(Resumption::Ended(NoLock { key: Some(key.clone()), why, held_now: None }));
    }
    // Resuming counts as an input.
    lease.keep(Duration::ZERO);
    let resume = Statement::new(RESUME)
        .bind(lease.last_active)
        .bind(lease.active_at)
        .bind(lease.expires_at)
        .bind(key.kind().as_bytes())
        .bind(key.id().as_bytes())
        .bind(&lease.slot[..]);
    session.write(resume).await.map_err(classify)?;
    Ok(Resumption::Resumed(lease.into_holder()))
}

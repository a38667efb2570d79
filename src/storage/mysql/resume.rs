//! Reviving a lease that ran out. Its row is locked first, so what is decided stays true until it is committed.

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

/// Revives the lease, if it is in its row still: whoever takes the key over changes the row, and whoever ends the lease
/// marks it. Takes the row as a takeover would: whoever saves relying upon its not being held is waited for.
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
    // Beside an advisory lease others get theirs, and record that it ran out, but leave its row.
    if leases::ended(session, &proof.lock).await?.is_some() {
        return Ok(Resumption::refused(key, leases::check(session, proof, now).await?));
    }
    if lease.hard_until <= lease.now {
        let why = LeaseLossReason::LimitReached { at: from_millis(lease.hard_until) };
        return Ok(Resumption::Ended(NoLock { key: Some(key.clone()), why, held_now: None }));
    }
    // Whoever comes back is there.
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

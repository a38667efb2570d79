//! Takeovers, and ending all leases of one owner. Rows are locked before a decision depends on them.

use sqlx::Row;

use super::deadline::RowLock;
use super::errors::{classify, is_duplicate};
use super::leases::{self, StoredLease};
use super::lock::record_ended;
use super::session::{Session, Statement};
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::{Holder, LeaseLossReason, LockKey, NoLock};
use crate::storage::{LockRequest, Proof, TakenOver};

const USED: &str = "select 1 from tenure_lock_history where lock_hash = ?";

const TAKE_OVER: &str = "
    update tenure_lock
       set generation = generation + 1, lock_hash = ?, owner_id = ?, owner_name = ?, owner_role = ?, shown_as = ?,
           since = ?, last_active = ?, active_at = ?, expires_at = ?, ttl = ?, idle_limit = ?, hard_until = ?
     where kind = ? and id = ? and slot = ''";

/// Ends the live lease of this generation and grants the next. Only a grant may be committed. It locks the row first, so it waits for a
/// save in flight under this lease.
pub(super) async fn take_over(
    session: &mut Session,
    request: &LockRequest,
    generation: i64,
    reason: &str,
    now: Option<i64>,
) -> Result<TakenOver, DatabaseError> {
    let LockRequest { key, lock, owner, policy, .. } = request;
    let found = leases::in_slot(session, key, &[], RowLock::Update, now).await?;
    let same = |lease: &StoredLease| lease.holder.generation == generation && lease.alive();
    let Some(held) = found.filter(same) else { return Ok(TakenOver::Changed) };
    let used = Statement::new(USED).bind(&lock[..]);
    if held.lock == *lock || session.fetch_optional(used).await.map_err(classify)?.is_some() {
        let proof = Proof { lock: *lock, owner: Some(owner.id.clone()) };
        return Ok(leases::check(session, &proof, now).await?.map_or_else(TakenOver::Used, TakenOver::Granted));
    }
    record_ended(session, &held, "taken over", Some(owner), Some(reason)).await?;
    let taken = Statement::new(TAKE_OVER)
        .bind(&lock[..])
        .bind(owner.id.as_str())
        .bind(owner.name.as_str())
        .bind(owner.role.as_deref())
        .bind(policy.shown.stored())
        .bind(held.now)
        .bind(held.now)
        .bind(held.now)
        .bind(held.now + millis(policy.ttl))
        .bind(millis(policy.ttl))
        .bind(policy.idle.map(millis))
        .bind(held.now + millis(policy.limit))
        .bind(key.kind().as_bytes())
        .bind(key.id().as_bytes());
    match session.write(taken).await {
        Ok(_) => {
            let granted = leases::exclusive(session, key, RowLock::None, now).await?;
            Ok(granted.map_or(TakenOver::Changed, |lease| TakenOver::Granted(lease.into_holder())))
        }
        // Lock ids are unique over all keys: this one holds another aggregate.
        Err(error) if is_duplicate(&error) => {
            Ok(TakenOver::Used(NoLock { key: Some(key.clone()), why: LeaseLossReason::OtherAggregate, held_now: None }))
        }
        Err(error) => Err(classify(error)),
    }
}

/// Finds the leases of an owner, in the order in which heartbeats lock several rows. Without a lock, because a locking search would lock
/// the index before the rows, and a takeover locks them in the other order.
const OF_OWNER: &str = "
    select convert(kind using utf8mb4) as kind, convert(id using utf8mb4) as id, slot from tenure_lock
     where owner_id = ? and not ended order by lock_hash";

const RELEASE: &str = "update tenure_lock set ended = 1 where kind = ? and id = ? and slot = ?";

/// Releases every live lease of an owner, and records it.
pub(super) async fn release_all(
    session: &mut Session,
    owner: &str,
    now: Option<i64>,
) -> Result<Vec<Holder>, DatabaseError> {
    let rows = session.fetch_all(Statement::new(OF_OWNER).bind(owner)).await.map_err(classify)?;
    let mut released = Vec::with_capacity(rows.len());
    for row in rows {
        let text = |column| row.try_get::<String, _>(column).map_err(classify);
        let (key, slot) = (LockKey::new(text("kind")?, text("id")?), row.try_get::<Vec<u8>, _>("slot"));
        let slot = slot.map_err(classify)?;
        let found = leases::in_slot(session, &key, &slot, RowLock::Update, now).await?;
        let Some(lease) = found.filter(|lease| lease.alive() && lease.holder.owner.id == owner) else { continue };
        record_ended(session, &lease, "released", None, None).await?;
        let release = Statement::new(RELEASE).bind(key.kind().as_bytes()).bind(key.id().as_bytes()).bind(&slot[..]);
        session.write(release).await.map_err(classify)?;
        released.push(lease.into_holder());
    }
    Ok(released)
}

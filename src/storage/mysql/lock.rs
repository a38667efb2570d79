//! Acquiring, keeping and ending leases. Every function runs inside a transaction. One statement acquires; it decides after it has locked
//! the row. The other operations lock the row first, so that they read the time after any wait, and the decision is still valid at the
//! write.

use std::time::Duration;

use sqlx::Row;

use super::deadline::RowLock;
use super::errors::{classify, is_duplicate};
use super::leases::{self, StoredLease, clock};
use super::session::{Session, Statement};
use super::slots;
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::{Holder, LeaseLossReason, LockId, LockKey, NoLock, Owner};
use crate::storage::{Attempt, CENTURY, LockHash, LockRequest, Proof};

/// The row is taken over if its lease has ended or is a reservation for the requester, or kept if the same lock id repeats its request. An
/// update of a duplicate has no WHERE, so the verdict is computed once, after the row is locked, and stored: 1 taken over, 2 kept, 0
/// refused. Assignments are evaluated from left to right, and the later ones use the verdict. After a repeated request or a heartbeat,
/// [`give_back`] leaves the lease alone: its last heartbeat is then later than its grant. (The duplicate may also be the row of another key
/// with the same lock id; that is refused.)
const TAKE: &str = concat!(
    "insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name, owner_role, shown_as, shared,
                              since, last_active, active_at, expires_at, ttl, idle_limit, hard_until)
     select asked.kind, asked.id, asked.slot,
            1 + greatest(coalesce((select max(other.generation) from tenure_lock as other
                                    where other.kind = asked.kind and other.id = asked.id), 0),
                         coalesce((select swept.generation from tenure_lock_floor as swept
                                    where swept.kind = asked.kind), 0)),
            asked.lock_hash, asked.owner_id, asked.owner_name, asked.owner_role, asked.shown_as, asked.shared,
            asked.moment, asked.moment, asked.moment, asked.moment + asked.ttl, asked.ttl, asked.idle_limit,
            asked.moment + asked.most
       from (select ",
    clock!("?"),
    " as moment, cast(? as signed) as given, cast(? as binary) as kind, cast(? as binary) as id,
                    cast(? as binary) as slot, cast(? as binary) as lock_hash, convert(? using utf8mb4) as owner_id,
                    convert(? using utf8mb4) as owner_name, cast(? as signed) as ttl, cast(? as signed) as most,
                    convert(? using utf8mb4) as owner_role, cast(? as signed) as shown_as,
                    cast(? as signed) as idle_limit, cast(? as signed) as shared) as asked
      where not exists (select 1 from tenure_lock_history as past where past.lock_hash = asked.lock_hash)
         on duplicate key update
            tenure_lock.verdict = case
                when tenure_lock.shared and tenure_lock.slot = ''
                then 0
                when tenure_lock.lock_hash <> asked.lock_hash
                then tenure_lock.ended or tenure_lock.expires_at <= ",
    clock!("asked.given"),
    "
                  or (tenure_lock.ttl = 0 and cast(tenure_lock.owner_id as binary) = cast(asked.owner_id as binary))
                when tenure_lock.kind = asked.kind and tenure_lock.id = asked.id and tenure_lock.slot = asked.slot
                 and cast(tenure_lock.owner_id as binary) = cast(asked.owner_id as binary)
                 and not tenure_lock.ended and tenure_lock.expires_at > ",
    clock!("asked.given"),
    "
                then 2 else 0 end,
            tenure_lock.generation  = tenure_lock.generation + (tenure_lock.verdict = 1),
            tenure_lock.last_active = case tenure_lock.verdict
                when 1 then ",
    clock!("asked.given"),
    "
                when 2 then coalesce(nullif(",
    clock!("asked.given"),
    ", tenure_lock.since), tenure_lock.since + 1)
                else tenure_lock.last_active end,
            tenure_lock.since       = if(tenure_lock.verdict = 1, tenure_lock.last_active, tenure_lock.since),
            tenure_lock.hard_until  = if(tenure_lock.verdict = 1,
                                         tenure_lock.last_active + asked.most, tenure_lock.hard_until),
            tenure_lock.expires_at  = case tenure_lock.verdict
                when 1 then tenure_lock.last_active + asked.ttl
                when 2 then greatest(tenure_lock.expires_at, least(",
    clock!("asked.given"),
    " + asked.ttl, tenure_lock.hard_until))
                else tenure_lock.expires_at end,
            tenure_lock.lock_hash   = if(tenure_lock.verdict > 0, asked.lock_hash, tenure_lock.lock_hash),
            tenure_lock.owner_id    = if(tenure_lock.verdict > 0, asked.owner_id, tenure_lock.owner_id),
            tenure_lock.owner_name  = if(tenure_lock.verdict > 0, asked.owner_name, tenure_lock.owner_name),
            tenure_lock.owner_role  = if(tenure_lock.verdict > 0, asked.owner_role, tenure_lock.owner_role),
            tenure_lock.shown_as    = if(tenure_lock.verdict > 0, asked.shown_as, tenure_lock.shown_as),
            tenure_lock.active_at   = case tenure_lock.verdict
                when 1 then tenure_lock.last_active
                when 2 then ",
    clock!("asked.given"),
    "
                else tenure_lock.active_at end,
            tenure_lock.idle_limit  = if(tenure_lock.verdict > 0, asked.idle_limit, tenure_lock.idle_limit),
            tenure_lock.ttl         = if(tenure_lock.verdict > 0, asked.ttl, tenure_lock.ttl),
            tenure_lock.ended       = tenure_lock.ended and tenure_lock.verdict = 0"
);

/// Acquires the lock if it is free or its lease has expired, and records the end of the former lease. `None`: refused. [`refused`] returns
/// the reason once the row is unlocked, because others are waiting for it.
///
/// A lock id whose lease has ended gets nothing: its request was delivered twice.
pub(super) async fn take(
    session: &mut Session,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<Option<Holder>, DatabaseError> {
    if !request.is_alone() {
        return slots::take(session, request, now).await;
    }
    // Before its end is recorded, as in every takeover; otherwise two of them could deadlock. (Besides, on MySQL only a locking read can
    // wait for less than a second.)
    let before = leases::in_slot(session, &request.key, &[], RowLock::Update, now).await?;
    if before.as_ref().is_some_and(|before| before.holder.shared) && !slots::make_way(session, request, now).await? {
        return Ok(None);
    }
    if let Some(before) = before.filter(|before| !before.alive() && !before.ended && before.lock != request.lock) {
        record_expired(session, &before).await?;
    }
    take_slot(session, request, &[], now).await
}

/// Acquires the slot, if it is free or its lease has expired.
pub(super) async fn take_slot(
    session: &mut Session,
    request: &LockRequest,
    slot: &[u8],
    now: Option<i64>,
) -> Result<Option<Holder>, DatabaseError> {
    let take = Statement::new(TAKE)
        .bind(now)
        .bind(now)
        .bind(request.key.kind().as_bytes())
        .bind(request.key.id().as_bytes())
        .bind(slot)
        .bind(&request.lock[..])
        .bind(request.owner.id.as_str())
        .bind(request.owner.name.as_str())
        .bind(millis(request.policy.ttl))
        .bind(millis(request.policy.limit))
        .bind(request.owner.role.as_deref())
        .bind(request.policy.shown.stored())
        .bind(request.policy.idle.map(millis))
        .bind(request.shared);
    match session.write(take).await {
        Ok(_) => {}
        // Lock ids are unique over all keys: this one holds another aggregate.
        Err(error) if is_duplicate(&error) => return Ok(None),
        Err(error) => return Err(classify(error)),
    }
    // The stored row is the winner. The number of affected rows does not show it: the driver counts unchanged rows.
    let winner = leases::in_slot(session, &request.key, slot, RowLock::None, now).await?;
    let granted = winner.filter(|lease| lease.alive() && lease.is_proven_by(&proof(request)));
    Ok(granted.map(StoredLease::into_holder))
}

/// The reason that nothing was granted.
pub(super) async fn refused(
    session: &mut Session,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<Attempt, DatabaseError> {
    // Lock ids are unique over all keys: this one holds another aggregate, or did.
    let place = (&request.key, if request.is_alone() { &[][..] } else { &request.lock[..] });
    if let Some(row) = leases::of_lock(session, &proof(request), now).await?
        && (&row.holder.key, &row.slot[..]) != place
        && leases::ended(session, &request.lock).await?.is_none()
    {
        return Ok(of_another(request));
    }
    match leases::check(session, &proof(request), now).await? {
        Ok(holder) if holder.key == request.key => Ok(Attempt::Granted(holder)),
        Ok(_) => Ok(of_another(request)),
        Err(NoLock { why: LeaseLossReason::Unknown, .. }) => Ok(Attempt::Lost),
        Err(no_lock) => Ok(Attempt::Used(no_lock)),
    }
}

fn of_another(request: &LockRequest) -> Attempt {
    Attempt::Used(NoLock { key: Some(request.key.clone()), why: LeaseLossReason::OtherAggregate, held_now: None })
}

fn proof(request: &LockRequest) -> Proof {
    Proof { lock: request.lock, owner: Some(request.owner.id.clone()) }
}

/// A lease that is already recorded stays as it is.
const RECORD_EXPIRED: &str = "
    insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                     since, ended_at, how, idle, limited)
    select lease.lock_hash, lease.kind, lease.id, lease.generation, lease.owner_id, lease.owner_name, lease.owner_role,
           lease.shown_as, lease.since, lease.expires_at, 'expired',
           coalesce(lease.expires_at >= lease.active_at + lease.idle_limit, 0), lease.expires_at >= lease.hard_until
      from tenure_lock as lease
     where lease.kind = ? and lease.id = ? and lease.slot = ?
        on duplicate key update tenure_lock_history.lock_hash = tenure_lock_history.lock_hash";

/// Records that a lease expired, before its row is overwritten. The row is locked.
pub(super) async fn record_expired(session: &mut Session, lease: &StoredLease) -> Result<(), DatabaseError> {
    let key = &lease.holder.key;
    let record = Statement::new(RECORD_EXPIRED).bind(key.kind().as_bytes()).bind(key.id().as_bytes());
    session.write(record.bind(&lease.slot[..])).await.map(drop).map_err(classify)
}

/// Sets the expiry to now + ttl, within the idle and the absolute limit; never backwards.
pub(super) async fn keep_alive(
    session: &mut Session,
    proof: &Proof,
    idle: Duration,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    change(session, proof, now, |lease| lease.keep(idle)).await
}

/// Heartbeats of several leases, in one order for all callers, so that two sets cannot deadlock.
pub(super) async fn keep_all_alive(
    session: &mut Session,
    proofs: &[(Proof, Duration)],
    now: Option<i64>,
) -> Result<Vec<Result<Holder, NoLock>>, DatabaseError> {
    let mut order: Vec<usize> = (0..proofs.len()).collect();
    order.sort_by_key(|&at| proofs[at].0.lock);
    let mut answers: Vec<Option<Result<Holder, NoLock>>> = vec![None; proofs.len()];
    for at in order {
        let (proof, idle) = &proofs[at];
        answers[at] = Some(keep_alive(session, proof, *idle, now).await?);
    }
    Ok(answers.into_iter().flatten().collect())
}

/// Adds to the expiry, within now + ttl and the absolute limit; never backwards.
pub(super) async fn extend(
    session: &mut Session,
    proof: &Proof,
    by: Duration,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    change(session, proof, now, |lease| lease.extend(by)).await
}

/// Brings the expiry forward; a heartbeat within that time sets it back.
pub(super) async fn expire_within(
    session: &mut Session,
    proof: &Proof,
    within: Duration,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    change(session, proof, now, |lease| lease.expire_within(within)).await
}

/// Releases a live lease and records it.
pub(super) async fn release(
    session: &mut Session,
    proof: &Proof,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    change(session, proof, now, |lease| lease.ended = true).await
}

/// A longer time to live was edited by hand: 3,000 years in milliseconds.
const LONGEST_TTL: i64 = 100_000_000_000_000;

impl StoredLease {
    /// A heartbeat, with the time since the last input.
    pub(super) fn keep(&mut self, idle: Duration) {
        self.active_at = self.active_at.max(self.now.saturating_sub(millis(idle.min(CENTURY))));
        self.keep_until(i64::MAX);
    }

    pub(super) fn extend(&mut self, by: Duration) {
        self.active_at = self.active_at.max(self.now);
        let longer = self.expires_at.saturating_add(millis(by.min(CENTURY)));
        self.keep_until(longer);
    }

    pub(super) fn expire_within(&mut self, within: Duration) {
        self.expires_at = self.expires_at.min(self.now.saturating_add(millis(within.min(CENTURY))));
    }

    /// Sets the expiry, within the time to live, the idle and the absolute limit; never backwards.
    pub(super) fn keep_until(&mut self, until: i64) {
        self.last_active = self.now.saturating_add(i64::from(self.since == self.now));
        let most =
            self.idle_limit.map_or(self.hard_until, |limit| self.hard_until.min(self.active_at.saturating_add(limit)));
        let most = most.min(self.now.saturating_add(self.ttl.min(LONGEST_TTL)));
        self.expires_at = self.expires_at.max(until.min(most));
    }
}

const CHANGE: &str = "
    update tenure_lock set last_active = ?, active_at = ?, expires_at = ?, ended = ?
     where kind = ? and id = ? and slot = ?";

/// Changes the lease that a lock id holds, if it is alive: its row is locked, so the decision stays valid until it
/// is written. Otherwise returns the reason that there is none.
async fn change(
    session: &mut Session,
    proof: &Proof,
    now: Option<i64>,
    change: impl FnOnce(&mut StoredLease),
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let found = leases::by_lock_id(session, proof, RowLock::Update, now).await?;
    let Some(mut lease) = found.filter(|lease| lease.alive() && lease.is_proven_by(proof)) else {
        return leases::check(session, proof, now).await;
    };
    change(&mut lease);
    let key = &lease.holder.key;
    let update = Statement::new(CHANGE)
        .bind(lease.last_active)
        .bind(lease.active_at)
        .bind(lease.expires_at)
        .bind(lease.ended)
        .bind(key.kind().as_bytes())
        .bind(key.id().as_bytes())
        .bind(&lease.slot[..]);
    session.write(update).await.map_err(classify)?;
    if lease.ended {
        record_ended(session, &lease, "released", None, None).await?;
    }
    Ok(Ok(lease.into_holder()))
}

const GIVE_BACK: &str = "
    update tenure_lock set ended = 1, lock_hash = ?, slot = ? where kind = ? and id = ? and slot = ?";

/// Releases a lease that had no heartbeat or repeated request since its grant, because its caller is gone. Its lock id can be used again.
pub(super) async fn give_back(
    session: &mut Session,
    lock: &LockHash,
    generation: i64,
    now: Option<i64>,
) -> Result<bool, DatabaseError> {
    let proof = Proof { lock: *lock, owner: None };
    let found = leases::by_lock_id(session, &proof, RowLock::Update, now).await?;
    let unreported = |lease: &StoredLease| lease.alive() && lease.last_active == lease.since;
    let Some(mut lease) = found.filter(|lease| lease.holder.generation == generation && unreported(lease)) else {
        return Ok(false);
    };
    let (key, nobodys) = (lease.holder.key.clone(), LockId::random().hash().to_vec());
    let slot = if lease.slot.is_empty() { Vec::new() } else { nobodys.clone() };
    let give = Statement::new(GIVE_BACK).bind(nobodys).bind(&slot[..]);
    let give = give.bind(key.kind().as_bytes()).bind(key.id().as_bytes()).bind(&lease.slot[..]);
    session.write(give).await.map_err(classify)?;
    lease.slot = slot;
    record_ended(session, &lease, "released", None, None).await?;
    Ok(true)
}

/// Finds the slot of a generation. Without a lock, because a locking search would wait for every row of the key. (The row of the exclusive
/// lock follows the generations of shared and advisory leases, but is not alive then.)
const SLOT: &str = "select slot from tenure_lock where kind = ? and id = ? and generation = ? and not ended";

const BREAK: &str = "update tenure_lock set ended = 1 where kind = ? and id = ? and slot = ?";

/// Ends the live lease of this generation, and records its author and reason. It locks the row first, so it waits for a save in flight
/// under this lease.
pub(super) async fn break_lock(
    session: &mut Session,
    key: &LockKey,
    generation: i64,
    by: &Owner,
    reason: &str,
    now: Option<i64>,
) -> Result<Option<Holder>, DatabaseError> {
    let (kind, id) = (key.kind().as_bytes(), key.id().as_bytes());
    let slot = Statement::new(SLOT).bind(kind).bind(id).bind(generation);
    let Some(row) = session.fetch_optional(slot).await.map_err(classify)? else { return Ok(None) };
    let slot: Vec<u8> = row.try_get(0).map_err(classify)?;
    let found = leases::in_slot(session, key, &slot, RowLock::Update, now).await?;
    let same = |lease: &StoredLease| lease.holder.generation == generation && lease.alive();
    let Some(lease) = found.filter(same) else { return Ok(None) };
    record_ended(session, &lease, "broken", Some(by), Some(reason)).await?;
    session.write(Statement::new(BREAK).bind(kind).bind(id).bind(&slot[..])).await.map_err(classify)?;
    Ok(Some(lease.into_holder()))
}

const RECORD_ENDED: &str = "
    insert into tenure_lock_history
           (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, ended_at, how,
            by_id, by_name, by_role, reason)
    select lease.lock_hash, lease.kind, lease.id, lease.generation, lease.owner_id, lease.owner_name, lease.owner_role,
           lease.shown_as, lease.since, ?, ?, ?, ?, ?, ?
      from tenure_lock as lease where lease.kind = ? and lease.id = ? and lease.slot = ?";

/// Records the end of a live lease, and the other party.
pub(super) async fn record_ended(
    session: &mut Session,
    lease: &StoredLease,
    how: &str,
    by: Option<&Owner>,
    reason: Option<&str>,
) -> Result<(), DatabaseError> {
    let key = &lease.holder.key;
    let record = Statement::new(RECORD_ENDED)
        .bind(lease.now)
        .bind(how)
        .bind(by.map(|by| by.id.as_str()))
        .bind(by.map(|by| by.name.as_str()))
        .bind(by.and_then(|by| by.role.as_deref()))
        .bind(reason)
        .bind(key.kind().as_bytes())
        .bind(key.id().as_bytes())
        .bind(&lease.slot[..]);
    session.write(record).await.map(drop).map_err(classify)
}

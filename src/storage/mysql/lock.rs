//! Acquiring, keeping and ending leases. Every function runs inside a transaction. One statement acquires; it decides after it has locked
//! the row. The other operations lock the row first, so that they read the time after any wait, and the decision is still valid at the
//! write.

use std::time::Duration;

use super::deadline::RowLock;
use super::errors::classify;
use super::leases::{self, StoredLease};
use super::session::{Session, Statement};
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::{Holder, NoLock, Owner};
use crate::storage::{CENTURY, Proof};

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

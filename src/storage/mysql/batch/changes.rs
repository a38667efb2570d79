//! The changes of a batch to the lock table, decided by the rows that it read.

use std::collections::BTreeSet;
use std::time::Duration;

use super::found::Found;
use super::{Answers, texts};
use crate::clock::{from_millis, millis};
use crate::lease::Holder;
use crate::lease::operations::CENTURY;
use crate::storage::mysql::deadline::Flavour;
use crate::storage::mysql::leases::StoredLease;
use crate::storage::{LockAnswer, LockHash, LockOp, LockRequest, Proof};

/// An ended lease.
pub(super) struct Ended {
    pub lease: StoredLease,
    pub at: i64,
    pub how: &'static str,
}

/// The rows to write.
#[derive(Default)]
pub(super) struct Changes<'o> {
    ended: Vec<Ended>,
    /// Replacements for locked rows.
    taken: Vec<StoredLease>,
    /// Leases that are kept alive, shortened or ended, by their lock ids.
    changed: BTreeSet<LockHash>,
    /// For keys without a row, with the index of the request. Another session may insert first.
    new: Vec<(usize, &'o LockRequest, StoredLease)>,
}

/// A longer time to live was edited by hand: 3,000 years in milliseconds.
const LONGEST_TTL: i64 = 100_000_000_000_000;

impl StoredLease {
    /// A heartbeat, with the time since the last input.
    fn keep(&mut self, idle: Duration) {
        self.active_at = self.active_at.max(self.now.saturating_sub(millis(idle.min(CENTURY))));
        self.keep_until(i64::MAX);
    }

    fn extend(&mut self, by: Duration) {
        self.active_at = self.active_at.max(self.now);
        let longer = self.expires_at.saturating_add(millis(by.min(CENTURY)));
        self.keep_until(longer);
    }

    fn expire_within(&mut self, within: Duration) {
        self.expires_at = self.expires_at.min(self.now.saturating_add(millis(within.min(CENTURY))));
    }

    /// Sets the expiry, within the time to live, the idle and the absolute limit; never backwards.
    fn keep_until(&mut self, until: i64) {
        self.last_active = self.now.saturating_add(i64::from(self.since == self.now));
        let most =
            self.idle_limit.map_or(self.hard_until, |limit| self.hard_until.min(self.active_at.saturating_add(limit)));
        let most = most.min(self.now.saturating_add(self.ttl.min(LONGEST_TTL)));
        self.expires_at = self.expires_at.max(until.min(most));
    }
}

impl<'o> Changes<'o> {
    /// Acquires a lease that is free. The answer is valid once the changes are committed.
    pub(super) fn take(&mut self, found: &Found, at: usize, request: &'o LockRequest) -> Option<LockAnswer> {
        let (key, lock) = (&request.key, &request.lock[..]);
        let seen = found.seen.of_key(key);
        if let Some(held) = seen.filter(|seen| seen.alive() && seen.lock != lock) {
            return to(request, held);
        }
        if found.used.contains(lock) {
            return None;
        }
        let Some(before) = found.locked.of_key(key) else {
            if let (None, Some(generation)) = (seen, found.generation(key).checked_add(1)) {
                self.new.push((at, request, granted(request, generation, found.now)));
            }
            return None;
        };
        // Shared and advisory leases are requested alone.
        if before.alive() || before.lock == lock || before.holder.shared {
            return None;
        }
        // The highest generation has no successor: sent alone, the request gets the database's error.
        let generation = before.holder.generation.checked_add(1)?;
        if !before.ended {
            self.ended.push(Ended { lease: before.clone(), at: before.expires_at, how: "expired" });
        }
        let lease = granted(request, generation, before.now);
        self.taken.push(lease.clone());
        Some(LockAnswer::Yours(lease.into_holder()))
    }

    /// Changes a live lease. The answer is valid once the changes are committed.
    pub(super) fn change(&mut self, found: &mut Found, proof: &Proof, op: &LockOp) -> Option<LockAnswer> {
        let lease = found.locked.of_lock_mut(&proof.lock)?;
        if !lease.alive() || !lease.is_proven_by(proof) {
            return None;
        }
        match op {
            LockOp::KeepAlive(_, idle) => lease.keep(*idle),
            LockOp::Extend(_, by) => lease.extend(*by),
            LockOp::ExpireWithin(_, within) => lease.expire_within(*within),
            LockOp::Release(_) => {
                lease.ended = true;
                self.ended.push(Ended { lease: lease.clone(), at: lease.now, how: "released" });
            }
            LockOp::Take(_) | LockOp::Check(_) => return None,
        }
        self.changed.insert(proof.lock);
        Some(LockAnswer::Yours(lease.clone().into_holder()))
    }

    pub(super) fn are_none(&self) -> bool {
        self.taken.is_empty() && self.changed.is_empty() && self.new.is_empty()
    }

    /// The statements that write and commit, and then read the new rows.
    pub(super) fn text(&self, found: &Found, flavour: Flavour, now: Option<i64>) -> String {
        let changed = self.changed.iter().filter_map(|lock| found.locked.of_lock(lock));
        let locked: Vec<_> = self.taken.iter().chain(changed).collect();
        let new: Vec<_> = self.new.iter().map(|(_, _, lease)| lease).collect();
        texts::write(&self.ended, &locked, &new, flavour, now)
    }

    /// The answers for the new rows.
    pub(super) fn won(&self, found: &Found, answers: &mut Answers) {
        for (at, request, new) in &self.new {
            // If the same lock id was granted elsewhere at this moment, the request is repeated alone, which is recorded.
            let seen = found.seen.of_key(&request.key);
            let seen = seen.filter(|seen| seen.lock != new.lock || seen.holder.since == new.holder.since);
            answers[*at] = seen.and_then(|lease| to(request, lease));
        }
    }
}

/// The answer of a key's row to a requester.
pub(super) fn to(request: &LockRequest, lease: &StoredLease) -> Option<LockAnswer> {
    let (alive, holder) = (lease.alive(), || lease.clone().into_holder());
    match lease.lock == request.lock {
        true if alive && lease.holder.owner.id == request.owner.id => Some(LockAnswer::Yours(holder())),
        // A reservation needs an explanation, or is for this requester: the request is sent alone.
        false if alive && !lease.reserved() => Some(LockAnswer::Held { holder: holder(), lock: lease.lock.clone() }),
        _ => None,
    }
}

fn granted(request: &LockRequest, generation: i64, now: i64) -> StoredLease {
    let (ttl, most) = (millis(request.policy.ttl), millis(request.policy.limit));
    StoredLease {
        holder: Holder {
            owner: request.owner.clone(),
            generation,
            since: from_millis(now),
            shown: request.policy.shown,
            ..Holder::to_be(request.key.clone())
        },
        lock: request.lock.to_vec(),
        slot: Vec::new(),
        ended: false,
        since: now,
        last_active: now,
        active_at: now,
        expires_at: now + ttl,
        ttl,
        idle_limit: request.policy.idle.map(millis),
        hard_until: now + most,
        now,
    }
}

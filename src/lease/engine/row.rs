//! A row of the lock table, and its changes.

use std::time::Duration;

use super::LastGeneration;
use crate::clock::{from_millis, millis, until};
use crate::lease::operations::{CENTURY, LockRequest};
use crate::lease::{Holder, LockKey, Owner, RanOut, ShowOwner};

/// The longest effective time to live and idle limit, in milliseconds: 3,000 years. A longer one was edited by hand, and the databases must
/// be able to add it to the time.
const LONGEST: i64 = 100_000_000_000_000;

/// The primary key of a row. The slot is empty for the exclusive lease on the key; a lease beside others has its lock hash there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(test, derive(Hash))]
pub(crate) struct Place {
    pub key: LockKey,
    pub slot: Vec<u8>,
}

impl Place {
    /// The place of the exclusive lease on a key.
    pub(crate) fn exclusive(key: &LockKey) -> Self {
        Place { key: key.clone(), slot: Vec::new() }
    }

    /// The place of the lease that is requested.
    pub(crate) fn of(request: &LockRequest) -> Self {
        let slot = if request.policy.is_exclusive() { Vec::new() } else { request.lock.to_vec() };
        Place { key: request.key.clone(), slot }
    }
}

/// A row of the lock table. Times are milliseconds since 1970. Every value is possible: the row may have been edited by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Hash))]
pub(crate) struct LeaseRow {
    pub place: Place,
    pub generation: i64,
    pub lock: Vec<u8>,
    pub owner: Owner,
    pub shown: ShowOwner,
    pub since: i64,
    pub last_active: i64,
    /// The last input.
    pub active_at: i64,
    pub expires_at: i64,
    pub ttl: i64,
    pub idle_limit: Option<i64>,
    /// The absolute limit.
    pub hard_until: i64,
    /// Ended before it expired, or its end was recorded.
    pub ended: bool,
    /// How many requests were answered with this lease while no heartbeat came. Each of them may be taken back by a caller that is gone.
    /// Zero after a heartbeat: somebody knows the lease.
    pub unclaimed: i64,
}

impl LeaseRow {
    /// The first lease on a place, with this generation.
    pub(super) fn granted(request: &LockRequest, generation: i64, now: i64) -> Self {
        let LockRequest { lock, owner, policy, .. } = request;
        LeaseRow {
            place: Place::of(request),
            generation,
            lock: lock.to_vec(),
            owner: owner.clone(),
            shown: policy.shown,
            since: now,
            last_active: now,
            active_at: now,
            expires_at: now.saturating_add(millis(policy.ttl)),
            ttl: millis(policy.ttl),
            idle_limit: policy.idle.map(millis),
            hard_until: now.saturating_add(millis(policy.limit)),
            ended: false,
            unclaimed: 1,
        }
    }

    /// The row of a key that has only advisory leases: without an owner, under a lock id that no client has.
    pub(crate) fn anchor(key: &LockKey, generation: i64, lock: Vec<u8>, now: i64) -> Self {
        LeaseRow {
            place: Place::exclusive(key),
            generation,
            lock,
            owner: Owner::new("", ""),
            shown: ShowOwner::ByName,
            since: 0,
            last_active: 0,
            active_at: 0,
            expires_at: now,
            ttl: 0,
            idle_limit: None,
            hard_until: 0,
            ended: true,
            unclaimed: 0,
        }
    }

    pub(crate) fn alive(&self, now: i64) -> bool {
        !self.ended && self.expires_at > now
    }

    /// Expired, and not recorded yet.
    pub(super) fn ran_out_unrecorded(&self, now: i64) -> bool {
        !self.ended && self.expires_at <= now
    }

    /// The cause of the present expiry.
    pub(crate) fn ran_out(&self) -> RanOut {
        RanOut::of(self.is_at_idle_limit(), self.is_at_hard_limit())
    }

    pub(super) fn is_at_idle_limit(&self) -> bool {
        self.idle_limit.is_some_and(|limit| self.expires_at >= self.active_at.saturating_add(limit))
    }

    pub(super) fn is_at_hard_limit(&self) -> bool {
        self.expires_at >= self.hard_until
    }

    /// The generation after the highest of the key, in the same place, with another owner and lock id.
    pub(super) fn change_hands(&mut self, request: &LockRequest, highest: i64, now: i64) -> Result<(), LastGeneration> {
        let generation = highest.checked_add(1).ok_or(LastGeneration)?;
        *self = LeaseRow::granted(request, generation, now);
        Ok(())
    }

    /// The same lock id requests again: the same lease, kept alive. Its absolute limit stays.
    pub(super) fn ask_again(&mut self, request: &LockRequest, now: i64) {
        let LeaseRow { owner, shown, ttl, idle_limit, expires_at, .. } = LeaseRow::granted(request, 0, now);
        *self = LeaseRow { owner, shown, ttl, idle_limit, last_active: now, active_at: now, ..self.clone() };
        if self.unclaimed > 0 {
            self.unclaimed = self.unclaimed.saturating_add(1);
        }
        self.expires_at = self.expires_at.max(expires_at.min(self.hard_until));
    }

    /// A heartbeat, with the time since the last input: the expiry is set to now + ttl, within the limits, never backwards.
    pub(super) fn keep(&mut self, idle: Duration, now: i64) {
        self.active_at = self.active_at.max(now.saturating_sub(bounded(idle)));
        self.keep_until(i64::MAX, now);
    }

    /// Adds to the expiry, within now + ttl and the limits, never backwards. The person requested it, so it counts as an input.
    pub(super) fn extend(&mut self, by: Duration, now: i64) {
        self.active_at = self.active_at.max(now);
        self.keep_until(self.expires_at.saturating_add(bounded(by)), now);
    }

    /// Brings the expiry forward: a page does so when the user leaves it. The next heartbeat reverses it.
    pub(super) fn expire_within(&mut self, within: Duration, now: i64) {
        self.expires_at = self.expires_at.min(now.saturating_add(bounded(within)));
    }

    /// Sets the expiry: at most the time to live from now, within the idle and the absolute limit; never backwards.
    fn keep_until(&mut self, until: i64, now: i64) {
        (self.last_active, self.unclaimed) = (now, 0);
        let idle_until = self.idle_limit.map_or(i64::MAX, |limit| self.active_at.saturating_add(limit.min(LONGEST)));
        let most = now.saturating_add(self.ttl.min(LONGEST)).min(self.hard_until).min(idle_until);
        self.expires_at = self.expires_at.max(until.min(most));
    }

    /// The holder, with the times as of now.
    pub(crate) fn holder(&self, now: i64) -> Holder {
        Holder {
            key: self.place.key.clone(),
            owner: self.owner.clone(),
            generation: self.generation,
            since: from_millis(self.since),
            last_active: from_millis(self.last_active),
            last_input: from_millis(self.active_at),
            remaining: until(self.expires_at, now),
            ttl: until(self.ttl, 0),
            idle: until(now, self.active_at),
            silent: until(now, self.last_active),
            shown: self.shown,
        }
    }
}

/// Milliseconds, bounded so that additions cannot overflow.
fn bounded(duration: Duration) -> i64 {
    millis(duration.min(CENTURY))
}

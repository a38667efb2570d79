//! The operations of the lock table, and their answers. No I/O here.

use std::time::Duration;

use crate::lease::LeaseLossReason;
use crate::lease::policy::LockPolicy;
use crate::lease::{Holder, LockKey, NoLock, Owner};

/// Beyond every limit, and additions to it do not overflow.
pub(crate) const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The stored form of a lock id: its creation time, and the rest of its SHA-256.
pub(crate) type LockHash = [u8; 32];

/// A presented lock id and its owner. Without an owner the id alone decides.
#[derive(Debug, Clone)]
pub(crate) struct Proof {
    pub lock: LockHash,
    pub owner: Option<String>,
}

impl Proof {
    /// Whether this owner presents it; true if no owner is given.
    pub(crate) fn is_by(&self, owner_id: &str) -> bool {
        self.owner.as_ref().is_none_or(|owner| owner == owner_id)
    }
}

/// The state of a lock key for a transaction that changes the aggregate without holding the lock.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "it is looked at once, and never kept")]
pub(crate) enum KeyState {
    /// Held by this holder.
    Held(Holder),
    /// Free, and it stays free until the transaction ends.
    Free,
    /// The key has no row yet that could be locked, so another session may acquire it: `Backend::make_row` creates one.
    NoRow,
}

/// A request for a lock.
#[derive(Debug, Clone)]
pub(crate) struct LockRequest {
    pub key: LockKey,
    pub lock: LockHash,
    pub owner: Owner,
    pub policy: LockPolicy,
}

/// The answer to a [`LockRequest`].
#[derive(Debug)]
pub(crate) enum Attempt {
    /// Granted; also to the same lock id again.
    Granted(Holder),
    /// Another lock id held it before the request.
    Held(Holder),
    /// It was free at the time of the request, and another session acquired it first.
    Lost,
    /// The lease of this lock id has ended.
    Used(NoLock),
}

/// The answer to a takeover.
#[derive(Debug)]
pub(crate) enum TakenOver {
    /// Granted.
    Granted(Holder),
    /// That generation does not hold the lock (any more).
    Changed,
    /// The lock id was used before, or holds another lease.
    Used(NoLock),
}

/// The answer to a request to resume an expired lease.
#[derive(Debug)]
pub(crate) enum Resumption {
    /// Alive again with the same generation, if the transaction is committed.
    Resumed(Holder),
    /// Another owner acquired the key meanwhile and holds it.
    Held(Holder),
    /// It has ended permanently.
    Ended(NoLock),
}

impl Resumption {
    /// The reason that a lock id was not resumed, from the result of a check.
    pub(crate) fn refused(key: &LockKey, checked: Result<Holder, NoLock>) -> Self {
        match checked {
            Err(NoLock {
                why: LeaseLossReason::Expired { .. } | LeaseLossReason::IdleLimitReached { .. },
                key: Some(of),
                held_now: Some(holder),
            }) if of == *key => Resumption::Held(holder),
            Err(no_lock) if matches!(no_lock.why, LeaseLossReason::Unknown | LeaseLossReason::NotYours) => {
                Resumption::Ended(no_lock)
            }
            Err(no_lock) if no_lock.key.as_ref() == Some(key) => Resumption::Ended(no_lock),
            Err(NoLock { key, .. }) => Self::of_another(key),
            Ok(holder) => Self::of_another(Some(holder.key)),
        }
    }

    fn of_another(key: Option<LockKey>) -> Self {
        Resumption::Ended(NoLock { key, why: LeaseLossReason::OtherAggregate, held_now: None })
    }
}

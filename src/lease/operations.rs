//! The operations of the lock table, and their answers. No I/O here.

use std::time::Duration;

use crate::clock::{from_millis, millis};
use crate::lease::LeaseLossReason;
use crate::lease::policy::LockPolicy;
use crate::lease::policy::usual_heartbeat;
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
    #[cfg_attr(
        not(any(feature = "postgres", feature = "mysql")),
        allow(dead_code, reason = "SQLite has one writer, who needs no row to lock")
    )]
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

impl LockRequest {
    /// The holder after the grant, with times in milliseconds since 1970. It is computed from the request, without reading the row back.
    pub(crate) fn granted(&self, generation: i64, now: i64) -> Holder {
        let (now, ttl) = (from_millis(now), self.policy.ttl);
        Holder {
            owner: self.owner.clone(),
            generation,
            since: now,
            last_active: now,
            last_input: now,
            remaining: ttl,
            ttl,
            heartbeat: usual_heartbeat(ttl),
            shown: self.policy.shown,
            ..Holder::to_be(self.key.clone())
        }
    }
}

/// The answer to a [`LockRequest`].
#[derive(Debug)]
pub(crate) enum Attempt {
    /// Granted; also to the same lock id again.
    Granted(Holder),
    /// Another owner held it before the request.
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

/// One operation on the lock table, which may share a round trip with others.
#[derive(Debug, Clone)]
pub(crate) enum LockOp {
    Take(LockRequest),
    Check(Proof),
    /// With the time since the last input.
    KeepAlive(Proof, Duration),
    Extend(Proof, Duration),
    ExpireWithin(Proof, Duration),
    Release(Proof),
}

impl LockOp {
    /// The lock id that it requests or presents.
    pub(crate) fn lock(&self) -> &LockHash {
        match self {
            LockOp::Take(request) => &request.lock,
            LockOp::Check(proof)
            | LockOp::KeepAlive(proof, _)
            | LockOp::Extend(proof, _)
            | LockOp::ExpireWithin(proof, _)
            | LockOp::Release(proof) => &proof.lock,
        }
    }

    /// The parameters of the batch statements: the lease to change, the verb (1 keep alive, 2 extend, 3 expire within, 4 release), and the
    /// milliseconds.
    pub(crate) fn change(&self) -> Option<(&Proof, i32, i64)> {
        let bounded = |by: &Duration| millis((*by).min(CENTURY));
        match self {
            LockOp::Take(_) | LockOp::Check(_) => None,
            LockOp::KeepAlive(proof, idle) => Some((proof, 1, bounded(idle))),
            LockOp::Extend(proof, by) => Some((proof, 2, bounded(by))),
            LockOp::ExpireWithin(proof, within) => Some((proof, 3, bounded(within))),
            LockOp::Release(proof) => Some((proof, 4, 0)),
        }
    }
}

/// The answer to a [`LockOp`] that one statement can give.
#[derive(Debug, Clone)]
pub(crate) enum LockAnswer {
    /// The lease of the requester after the operation.
    Yours(Holder),
    /// Another lock id holds the requested lease.
    Held { holder: Holder, lock: Vec<u8> },
}

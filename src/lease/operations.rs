//! What is asked of the lock table, and what it answers. No I/O here.

use std::time::Duration;

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
use crate::clock::{from_millis, millis};
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
use crate::lease::LeaseLossReason;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
use crate::lease::policy::usual_heartbeat;
use crate::lease::policy::{LockPolicy, ShowOwner};
use crate::lease::transfer::TransferRequest;
use crate::lease::{Holder, LockKey, NoLock, Owner};

/// Beyond every limit, and leaves room to add.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(crate) const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// All that the database ever sees of a lock id: when it was made, and the rest of its SHA-256.
pub(crate) type LockHash = [u8; 32];

/// Who shows which lock id. Without an owner the id alone decides.
#[derive(Debug, Clone)]
pub(crate) struct Proof {
    pub lock: LockHash,
    pub owner: Option<String>,
}

impl Proof {
    /// Whether it is shown by this owner, as far as it says by whom.
    pub(crate) fn is_by(&self, owner_id: &str) -> bool {
        self.owner.as_ref().is_none_or(|owner| owner == owner_id)
    }
}

/// What a transaction finds that changes what a key is of, and relies upon nobody's holding it.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "it is looked at once, and never kept")]
pub(crate) enum KeyState {
    /// Held: by whom.
    Held(Holder),
    /// Held by nobody, and nobody gets it before the transaction ends.
    Free,
    /// It has no row yet that could be locked, so somebody may get it: `Backend::make_row` makes one.
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
    /// Beside others who share it.
    pub shared: bool,
}

impl LockRequest {
    /// Whether nobody else is to hold it.
    pub(crate) fn is_alone(&self) -> bool {
        self.policy.exclusive && !self.shared
    }

    /// Who holds the lock from now on, in milliseconds since 1970, if it is granted: what is asked for is not read back.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
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
            shared: self.shared,
            shown: self.policy.shown,
            ..Holder::to_be(self.key.clone())
        }
    }
}

/// The answer to it.
#[derive(Debug)]
pub(crate) enum Attempt {
    /// Yours; also when the same lock id asks again.
    Granted(Holder),
    /// Somebody held it before the question was asked.
    Held(Holder),
    /// It was handed over to this one, who is not the one who asks, and has not taken it yet.
    Reserved(Holder),
    /// It was free when the question was asked, and somebody else was faster.
    Lost,
    /// The lock id had its lease already, and that has ended.
    Used(NoLock),
}

/// The answer to several requests of which all are granted, or none.
#[derive(Debug)]
pub(crate) enum AttemptAll {
    /// All are yours, in the order of the requests.
    Granted(Vec<Holder>),
    /// None is. What was in the way, each with its place among the requests.
    Refused(Vec<(usize, Attempt)>),
}

/// A request to the holder of a generation.
#[derive(Debug)]
pub(crate) struct Asking<'a> {
    pub key: &'a LockKey,
    pub generation: i64,
    pub by: &'a Owner,
    pub note: &'a str,
    /// What names them to a holder who is not told who they are.
    pub handle: String,
    /// How many others may ask beside them, but for one.
    pub most: u32,
}

/// The answer to it.
#[derive(Debug)]
pub(crate) enum Asked {
    Open(TransferRequest),
    /// So many others ask already.
    Full,
    /// That generation is not held (any more).
    Changed,
}

impl Asked {
    /// From the request as it is now, if it is there.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    pub(crate) fn found(request: Option<TransferRequest>, generation: i64) -> Self {
        request.filter(|request| request.generation == generation).map_or(Asked::Changed, Asked::Open)
    }
}

/// A request, and what its holder is told of who asks.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    pub request: TransferRequest,
    pub handle: String,
    pub shown: ShowOwner,
    /// Whom the lease belongs to that it is about.
    pub holder: String,
}

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
impl OpenRequest {
    fn is_hidden(&self) -> bool {
        self.shown != ShowOwner::ByName && self.request.by.id != self.holder
    }

    /// Whether it is about this lease. One that is beside the exclusive lease is not asked for.
    pub(crate) fn is_for(&self, holder: &Holder) -> bool {
        self.request.generation == holder.generation
    }

    /// Whether the holder means this one.
    pub(crate) fn is_of(&self, asker: &str) -> bool {
        asker == if self.is_hidden() { &self.handle } else { &self.request.by.id }
    }

    /// As the holder is told of it.
    pub(crate) fn for_holder(self) -> TransferRequest {
        match self.is_hidden() {
            true => {
                TransferRequest { by: Owner { id: self.handle, ..self.request.by.shown(self.shown) }, ..self.request }
            }
            false => self.request,
        }
    }
}

/// The answer to a takeover.
#[derive(Debug)]
pub(crate) enum TakenOver {
    /// Yours.
    Granted(Holder),
    /// That generation is not held (any more).
    Changed,
    /// The lock id had its lease already, or holds another one.
    Used(NoLock),
}

/// The answer to a lock id whose lease ran out and that wants it back.
#[derive(Debug)]
pub(crate) enum Resumption {
    /// It is alive again, same generation, if the transaction is committed.
    Resumed(Holder),
    /// Somebody took the key meanwhile and holds it.
    Held(Holder),
    /// It ended for good.
    Ended(NoLock),
}

impl Resumption {
    /// Why a lock id was not resumed, from what a check says about it.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
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

    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    fn of_another(key: Option<LockKey>) -> Self {
        Resumption::Ended(NoLock { key, why: LeaseLossReason::OtherAggregate, held_now: None })
    }
}

/// One question to the lock table, which may share a round trip with others.
#[derive(Debug, Clone)]
pub(crate) enum LockOp {
    Take(LockRequest),
    Check(Proof),
    /// And how long ago the person last did something.
    KeepAlive(Proof, Duration),
    Extend(Proof, Duration),
    ExpireWithin(Proof, Duration),
    Release(Proof),
}

impl LockOp {
    /// The lock id that it asks for, or shows.
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

    /// As the statements have it: the lease that is to become another, the verb (1 kept alive, 2 extended, 3 let expire, 4
    /// released), and by how many milliseconds.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
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

/// The answer to it, where it can be given at once.
#[derive(Debug, Clone)]
pub(crate) enum LockAnswer {
    /// The lease of whoever asked, as it is now.
    Yours(Holder),
    /// Asked for, and held by this lock.
    Held { holder: Holder, lock: Vec<u8> },
}

//! Why a lock id holds nothing.

use std::fmt;
use std::time::SystemTime;

use super::{Holder, LockKey, Owner, Printable};

/// The lock id that was shown holds nothing (any more): [`LeaseLossReason`] tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoLock {
    /// What it was a lock of, if that is known.
    pub key: Option<LockKey>,
    /// Why it holds nothing.
    pub why: LeaseLossReason,
    /// Who holds the lock now, if anybody does.
    pub held_now: Option<Holder>,
}

impl LeaseLossReason {
    /// What the history says: how a lease ended, and who had to do with it.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    pub(crate) fn recorded(
        how: &str,
        ran_out: RanOut,
        at: SystemTime,
        by: Option<Owner>,
        reason: Option<String>,
    ) -> Self {
        match (how, by, reason) {
            ("released", ..) => LeaseLossReason::Released { at },
            ("broken", Some(by), Some(reason)) => LeaseLossReason::Broken { by, at, reason },
            ("taken over", Some(by), Some(reason)) => LeaseLossReason::TakenOver { by, at, reason },
            ("handed over", Some(to), _) => LeaseLossReason::HandedOver { to, at },
            _ => LeaseLossReason::ran_out(at, ran_out),
        }
    }

    /// How a lease ended that nobody ended.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    pub(crate) fn ran_out(at: SystemTime, ran_out: RanOut) -> Self {
        match ran_out {
            RanOut::Silent => LeaseLossReason::Expired { at },
            RanOut::Idle => LeaseLossReason::IdleLimitReached { at },
            RanOut::Limited => LeaseLossReason::LimitReached { at },
        }
    }
}

/// What moved the expiry of a lease that ran out.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RanOut {
    /// Its last sign of life.
    Silent,
    /// Its last input.
    Idle,
    /// Its absolute limit.
    Limited,
}

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
impl RanOut {
    /// Beyond the absolute limit nothing could have kept it alive, input or none.
    pub(crate) fn of(idle: bool, limited: bool) -> Self {
        match (limited, idle) {
            (true, _) => RanOut::Limited,
            (false, true) => RanOut::Idle,
            (false, false) => RanOut::Silent,
        }
    }
}

/// Why a lock id holds nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseLossReason {
    /// Nobody ever got a lock with this id, or it ended so long ago that it was swept.
    Unknown,
    /// No sign of life came in time.
    Expired {
        /// When it ran out.
        at: SystemTime,
    },
    /// Nobody did anything in the form for as long as the policy allows, though it was open. It can be resumed.
    IdleLimitReached {
        /// When it ran out.
        at: SystemTime,
    },
    /// It was held for as long as it may be at all, and ran out: it cannot be resumed.
    LimitReached {
        /// Until when it could have been kept alive.
        at: SystemTime,
    },
    /// It was given back.
    Released {
        /// When.
        at: SystemTime,
    },
    /// Somebody with the right to do so ended it.
    Broken {
        /// Who.
        by: Owner,
        /// When.
        at: SystemTime,
        /// The reason given.
        reason: String,
    },
    /// Somebody with the right to do so took it over: it is theirs now.
    TakenOver {
        /// Who.
        by: Owner,
        /// When.
        at: SystemTime,
        /// The reason given.
        reason: String,
    },
    /// Its holder handed it over to somebody who had asked for it.
    HandedOver {
        /// To whom.
        to: Owner,
        /// When.
        at: SystemTime,
    },
    /// It is a lock of somebody else: a lock id is necessary, but not sufficient. Nothing else is told about it: not of what, not who
    /// holds it, not until when.
    NotYours,
    /// It is a lock of another aggregate than the one that is being saved.
    OtherAggregate,
    /// It is held together with others, to read: it does not allow to save.
    SharedOnly,
}

impl fmt::Display for NoLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) if self.why == LeaseLossReason::SharedOnly => write!(f, "the lock on {key} is not held alone: ")?,
            Some(key) => write!(f, "the lock on {key} is not held: ")?,
            None => f.write_str("no lock is held: ")?,
        }
        match &self.why {
            LeaseLossReason::Unknown => f.write_str("nobody has a lock with this id")?,
            LeaseLossReason::Expired { .. } => f.write_str("it expired because no sign of life came in time")?,
            LeaseLossReason::IdleLimitReached { .. } => {
                f.write_str("it ran out because nobody did anything in the form for too long")?
            }
            LeaseLossReason::LimitReached { .. } => f.write_str("it was held for as long as it may be")?,
            LeaseLossReason::Released { .. } => f.write_str("it was released")?,
            LeaseLossReason::Broken { by, reason, .. } => write!(f, "{by} ended it ({})", Printable(reason))?,
            LeaseLossReason::TakenOver { by, reason, .. } => write!(f, "{by} took it over ({})", Printable(reason))?,
            LeaseLossReason::HandedOver { to, .. } => write!(f, "it was handed over to {to}")?,
            LeaseLossReason::NotYours => f.write_str("the lock id belongs to somebody else")?,
            LeaseLossReason::OtherAggregate => f.write_str("the lock id belongs to another aggregate")?,
            LeaseLossReason::SharedOnly => {
                return f.write_str("it is shared, to read only; release it and lock it alone before you save");
            }
        }
        match &self.held_now {
            Some(holder) => write!(f, "; {} holds it now, wait or ask", holder.owner),
            None => f.write_str("; lock it again, and compare versions before you save"),
        }
    }
}

impl std::error::Error for NoLock {}

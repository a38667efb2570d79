//! Why a lock id holds no lease.

use std::fmt;
use std::time::SystemTime;

use serde::Serialize;

use super::{Holder, LockKey, Owner, Printable};

/// The presented lock id holds no lease (any more): [`LeaseLossReason`] says why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoLock {
    /// The key of its lock, if known.
    pub key: Option<LockKey>,
    /// Why it holds no lease.
    pub why: LeaseLossReason,
    /// The present holder of the lock, if any.
    pub held_now: Option<Holder>,
}

impl LeaseLossReason {
    /// From the history: how a lease ended, and by whom.
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
            _ => LeaseLossReason::ran_out(at, ran_out),
        }
    }

    /// The person who ended it, by a break or a takeover: with [`Owner::id`] the holder themselves can be told from another person.
    pub fn ended_by(&self) -> Option<&Owner> {
        match self {
            LeaseLossReason::Broken { by, .. } | LeaseLossReason::TakenOver { by, .. } => Some(by),
            _ => None,
        }
    }

    /// How an expired lease ended.
    pub(crate) fn ran_out(at: SystemTime, ran_out: RanOut) -> Self {
        match ran_out {
            RanOut::Silent => LeaseLossReason::Expired { at },
            RanOut::Idle => LeaseLossReason::IdleLimitReached { at },
            RanOut::Limited => LeaseLossReason::LimitReached { at },
        }
    }
}

/// The cause of an expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RanOut {
    /// No heartbeat.
    Silent,
    /// No input.
    Idle,
    /// The absolute limit.
    Limited,
}

impl RanOut {
    /// At the absolute limit neither heartbeats nor input keep a lease alive.
    pub(crate) fn of(idle: bool, limited: bool) -> Self {
        match (limited, idle) {
            (true, _) => RanOut::Limited,
            (false, true) => RanOut::Idle,
            (false, false) => RanOut::Silent,
        }
    }
}

/// Why a lock id holds no lease. serde writes the variant as `reason_code`: `{"reason_code":"expired","at_ms":…}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "reason_code", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LeaseLossReason {
    /// No lease ever had this lock id, or it ended so long ago that it was swept.
    Unknown,
    /// No heartbeat came in time.
    Expired {
        /// When it expired.
        #[serde(rename = "at_ms", serialize_with = "crate::clock::ms::instant")]
        at: SystemTime,
    },
    /// The person gave no input for as long as the policy allows, though the form was open. It can be resumed.
    IdleLimitReached {
        /// When it expired.
        #[serde(rename = "at_ms", serialize_with = "crate::clock::ms::instant")]
        at: SystemTime,
    },
    /// It reached its absolute limit and expired: it cannot be resumed.
    LimitReached {
        /// The absolute limit.
        #[serde(rename = "at_ms", serialize_with = "crate::clock::ms::instant")]
        at: SystemTime,
    },
    /// The holder released it.
    Released {
        /// When.
        #[serde(rename = "at_ms", serialize_with = "crate::clock::ms::instant")]
        at: SystemTime,
    },
    /// An authorized person ended it.
    Broken {
        /// The person who ended it.
        by: Owner,
        /// When.
        #[serde(rename = "at_ms", serialize_with = "crate::clock::ms::instant")]
        at: SystemTime,
        /// The reason given.
        reason: String,
    },
    /// An authorized person took it over and holds it now.
    TakenOver {
        /// The new holder.
        by: Owner,
        /// When.
        #[serde(rename = "at_ms", serialize_with = "crate::clock::ms::instant")]
        at: SystemTime,
        /// The reason given.
        reason: String,
    },
    /// It is a lock of another owner: a lock id is necessary, but not sufficient. Nothing else is revealed about that lock: not
    /// its key, not its holder, not its expiry.
    NotYours,
    /// It is a lock of another aggregate than the one being saved.
    OtherAggregate,
}

impl LeaseLossReason {
    /// Whether a form without this lease may be saved by its version, unless another owner holds the lock: true if the lease expired,
    /// reached a limit, was released or never existed. False if another person ended it deliberately, and for a lock id of another owner or
    /// another aggregate. [`Update::from_form`](crate::unit_of_work::Update::from_form) and the web kit follow it.
    pub fn permits_a_save_by_version(&self) -> bool {
        match self {
            LeaseLossReason::Unknown
            | LeaseLossReason::Released { .. }
            | LeaseLossReason::Expired { .. }
            | LeaseLossReason::IdleLimitReached { .. }
            | LeaseLossReason::LimitReached { .. } => true,
            LeaseLossReason::Broken { .. }
            | LeaseLossReason::TakenOver { .. }
            | LeaseLossReason::NotYours
            | LeaseLossReason::OtherAggregate => false,
        }
    }
}

impl fmt::Display for NoLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "the lock on {key} is not held: ")?,
            None => f.write_str("no lock is held: ")?,
        }
        match &self.why {
            LeaseLossReason::Unknown => f.write_str("no lease has this lock id")?,
            LeaseLossReason::Expired { .. } => f.write_str("it expired because no heartbeat arrived in time")?,
            LeaseLossReason::IdleLimitReached { .. } => {
                f.write_str("it expired because the form had no input for too long")?
            }
            LeaseLossReason::LimitReached { .. } => f.write_str("it reached its absolute limit")?,
            LeaseLossReason::Released { .. } => f.write_str("it was released")?,
            LeaseLossReason::Broken { by, reason, .. } => write!(f, "{by} ended it ({})", Printable(reason))?,
            LeaseLossReason::TakenOver { by, reason, .. } => write!(f, "{by} took it over ({})", Printable(reason))?,
            LeaseLossReason::NotYours => f.write_str("the lock id belongs to another owner")?,
            LeaseLossReason::OtherAggregate => f.write_str("the lock id belongs to another aggregate")?,
        }
        match &self.held_now {
            Some(holder) => write!(f, "; {} holds it now; wait until it is free", holder.owner),
            None => f.write_str("; lock it again, and compare versions before you save"),
        }
    }
}

impl std::error::Error for NoLock {}

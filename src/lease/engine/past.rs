//! An entry of the history: how a lease ended.

use super::LeaseRow;
use crate::clock::from_millis;
use crate::lease::{LeaseLossReason, LockKey, Owner, RanOut, ShowOwner};

/// The end of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(Hash))]
pub(crate) enum How {
    Released,
    Expired,
    Broken,
    TakenOver,
}

impl How {
    /// As it is stored.
    pub(crate) fn text(self) -> &'static str {
        match self {
            How::Released => "released",
            How::Expired => "expired",
            How::Broken => "broken",
            How::TakenOver => "taken over",
        }
    }

    /// Parses the stored text. An unknown text has no other party, so it counts as an expiry.
    pub(crate) fn of(text: &str) -> Self {
        let all = [How::Released, How::Broken, How::TakenOver];
        all.into_iter().find(|how| how.text() == text).unwrap_or(How::Expired)
    }
}

/// An entry of the history. There is at most one for each lock id: the first one is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(Hash))]
pub(crate) struct Past {
    pub lock: Vec<u8>,
    pub key: LockKey,
    pub generation: i64,
    pub owner: Owner,
    pub shown: ShowOwner,
    pub since: i64,
    pub ended_at: i64,
    pub how: How,
    /// The other party: the owner who broke it, or took it over.
    pub by: Option<Owner>,
    pub reason: Option<String>,
    /// It expired at its idle limit.
    pub idle: bool,
    /// It expired at its absolute limit.
    pub limited: bool,
}

impl Past {
    /// A lease that was ended.
    pub(super) fn ended(row: &LeaseRow, how: How, by: Option<&Owner>, reason: Option<&str>, now: i64) -> Self {
        Past {
            lock: row.lock.clone(),
            key: row.place.key.clone(),
            generation: row.generation,
            owner: row.owner.clone(),
            shown: row.shown,
            since: row.since,
            ended_at: now,
            how,
            by: by.cloned(),
            reason: reason.map(str::to_owned),
            idle: false,
            limited: false,
        }
    }

    /// An expired lease.
    pub(super) fn expired(row: &LeaseRow) -> Self {
        let (idle, limited) = (row.is_at_idle_limit(), row.is_at_hard_limit());
        Past { idle, limited, ..Past::ended(row, How::Expired, None, None, row.expires_at) }
    }

    /// The reason as the former owner reads it: the policy of the lease decides whether other people are redacted.
    pub(super) fn reason(&self) -> LeaseLossReason {
        let by = self.by.clone().map(|by| if by.id == self.owner.id { by } else { by.shown(self.shown) });
        let ran_out = RanOut::of(self.idle, self.limited);
        LeaseLossReason::recorded(self.how.text(), ran_out, from_millis(self.ended_at), by, self.reason.clone())
    }
}

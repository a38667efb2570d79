//! Entries of the lists of locks: held leases and ended leases. No I/O here.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::lease::cursor::{Cursor, Position};
use crate::lease::{Holder, LeaseLossReason, LockKey, Owner};

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Page<T> {
    /// The entries, in the order of the list.
    pub items: Vec<T>,
    /// Where the next page begins; `None`: this is the last page.
    pub next: Option<Cursor>,
}

impl<T> Page<T> {
    /// The page of at most `limit` entries. The caller queried one entry more, to detect a next page.
    pub(crate) fn cut(mut items: Vec<T>, limit: u32, position: impl FnOnce(&T) -> Position) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| Cursor(position(last)));
        Page { items, next }
    }
}

/// The state of a listed lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LeaseState {
    /// Live.
    Held,
    /// It expired, and the key was not acquired since: the next request gets it, and its holder may be able to resume it.
    RanOut,
}

/// An entry of the list of held leases. It contains everything of its [`Holder`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its present or last holder.
    pub holder: Holder,
    /// Its state.
    pub state: LeaseState,
}

/// An ended lease: an entry of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PastLease {
    /// The lock's key.
    pub key: LockKey,
    /// The former holder.
    pub owner: Owner,
    /// Its generation.
    pub generation: i64,
    /// When it was acquired, by the database's clock.
    #[serde(rename = "since_ms", serialize_with = "crate::clock::ms::instant")]
    pub since: SystemTime,
    /// When it ended.
    #[serde(rename = "ended_at_ms", serialize_with = "crate::clock::ms::instant")]
    pub ended_at: SystemTime,
    /// How it ended, and by whom.
    pub why: LeaseLossReason,
    /// The next holder, if there was one and it is still known. Never for advisory locks, which several owners hold at once.
    pub next: Option<Successor>,
}

/// The owner who acquired a lock next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Successor {
    /// The owner.
    pub owner: Owner,
    /// The generation of their lease.
    pub generation: i64,
    /// When they acquired it, by the database's clock.
    #[serde(rename = "since_ms", serialize_with = "crate::clock::ms::instant")]
    pub since: SystemTime,
}

/// A query of the list of held leases.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListQuery {
    pub kind: Option<String>,
    pub id_prefix: Option<String>,
    pub owner: Option<String>,
    /// `None`: every lease that blocks others.
    pub state: Option<LeaseState>,
    pub held_for: Duration,
    pub after: Option<Position>,
    pub limit: u32,
}

/// A query of the history of a key.
#[derive(Debug, Clone)]
pub(crate) struct HistoryQuery {
    pub key: LockKey,
    pub after: Option<Position>,
    pub limit: u32,
}

/// A row of the history, with its position.
#[derive(Debug)]
pub(crate) struct PastRow {
    pub past: PastLease,
    pub lock: Vec<u8>,
}

//! What lists of locks are made of: what is held now, and how leases ended. No I/O here.

use std::time::{Duration, SystemTime};

use crate::lease::cursor::{Cursor, Place};
use crate::lease::presence::Presence;
use crate::lease::{Holder, LeaseLossReason, LockKey, Owner};

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The entries, in the order of the list.
    pub items: Vec<T>,
    /// Where the next page begins; `None`: this was the last one.
    pub next: Option<Cursor>,
}

impl<T> Page<T> {
    /// The page of at most `limit` entries, of which one more was asked for, to see whether there are more.
    pub(crate) fn cut(mut items: Vec<T>, limit: u32, place: impl FnOnce(&T) -> Place) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| Cursor(place(last)));
        Page { items, next }
    }
}

/// What a lease in the list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeaseState {
    /// Alive.
    Held,
    /// Handed over: the key is kept for its owner, who has not taken it yet.
    Reserved,
    /// It ran out, and nobody took the key since: the next one gets it, and its holder may be able to resume it.
    RanOut,
}

/// An entry of the list of what is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Who holds it, or held it last.
    pub holder: Holder,
    /// What it is.
    pub state: LeaseState,
}

/// How a lease ended: an entry of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastLease {
    /// What was locked.
    pub key: LockKey,
    /// Who held it.
    pub owner: Owner,
    /// Which change of hands it was.
    pub generation: i64,
    /// Since when, by the database's clock.
    pub since: SystemTime,
    /// Until when.
    pub ended_at: SystemTime,
    /// How it ended, and who had to do with it.
    pub why: LeaseLossReason,
    /// Who got the lock next, if anybody did and it is still known. Never for advisory locks, which others hold beside.
    pub next: Option<Successor>,
}

/// Who got a lock after somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Successor {
    /// Who.
    pub owner: Owner,
    /// Their change of hands.
    pub generation: i64,
    /// Since when, by the database's clock.
    pub since: SystemTime,
}

/// What is asked of the list of what is held.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListQuery {
    pub kind: Option<String>,
    pub owner: Option<String>,
    /// `None`: whatever is in the way of others.
    pub state: Option<LeaseState>,
    pub presence: Option<Presence>,
    /// The types whose heartbeats do not come as usual: how often.
    pub heartbeats: Vec<(String, Duration)>,
    pub held_for: Duration,
    pub after: Option<Place>,
    pub limit: u32,
}

/// What is asked of the history.
#[derive(Debug, Clone, Default)]
pub(crate) struct HistoryQuery {
    /// Then by its generations instead of when they ended.
    pub key: Option<LockKey>,
    pub kind: Option<String>,
    pub owner: Option<String>,
    pub after: Option<Place>,
    pub limit: u32,
}

/// A row of the history, with its place.
#[derive(Debug)]
pub(crate) struct PastRow {
    pub past: PastLease,
    pub lock: Vec<u8>,
}

//! What happened to each lease in the tables, with its times. The answers to clients are judged by it.

use std::collections::{BTreeMap, BTreeSet};

use crate::lease::LockKey;
use crate::lease::engine::{Changes, LeaseRow, Rows};

/// One lease from its grant to its end. Times are milliseconds since 1970.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) key: LockKey,
    pub(super) generation: i64,
    pub(super) lock: Vec<u8>,
    pub(super) owner: String,
    /// Whether it excludes others.
    pub(super) excludes: bool,
    pub(super) from: i64,
    /// When its expiry was set, and to what.
    expiries: Vec<(i64, i64)>,
    /// When a transaction revived it that was committed later: until then, others do not see that it is alive.
    revived: Vec<(i64, i64)>,
    /// When somebody ended it, or its expiry was recorded.
    pub(super) ended: Option<i64>,
    /// Ended because its client never received it: the history has it under a lock id that no client has.
    pub(super) given_back: bool,
}

impl Span {
    fn new(row: &LeaseRow, now: i64) -> Self {
        Span {
            key: row.place.key.clone(),
            generation: row.generation,
            lock: row.lock.clone(),
            owner: row.owner.id.clone(),
            excludes: row.place.slot.is_empty(),
            from: now,
            expiries: vec![(now, row.expires_at)],
            revived: Vec::new(),
            ended: None,
            given_back: false,
        }
    }

    fn expires_at(&self, at: i64) -> i64 {
        let set = self.expiries.iter().rev().find(|(set, _)| *set <= at);
        set.map_or(i64::MIN, |(_, expires)| *expires)
    }

    /// Whether it is alive at this time. A change in the same millisecond may be before or after it: then both answers are right.
    pub(super) fn maybe_alive(&self, at: i64) -> bool {
        let same_millisecond = self.expiries.iter().any(|(set, expires)| *set == at && *expires > at);
        let before = self.expiries.iter().rev().find(|(set, _)| *set < at).is_some_and(|(_, expires)| *expires > at);
        self.from <= at && self.ended.is_none_or(|ended| at <= ended) && (same_millisecond || before)
    }

    /// Whether it may have been alive at a moment of this time.
    pub(super) fn maybe_alive_in(&self, from: i64, to: i64) -> bool {
        let changes = self.expiries.iter().map(|(set, _)| *set).filter(|set| (from..=to).contains(set));
        let revived = self.revived.iter().any(|(at, expires)| *at <= to && *expires > from);
        revived || changes.chain([from, to, self.from.clamp(from, to)]).any(|at| self.maybe_alive(at))
    }

    /// Whether it was alive all this time.
    pub(super) fn surely_alive_in(&self, from: i64, to: i64) -> bool {
        let ends = self.expiries.iter().zip(self.expiries.iter().skip(1));
        let gap = ends.into_iter().any(|((_, expires), (next, _))| (from..=to).contains(next) && expires <= next);
        let begins = self.from < from && self.expires_at(from - 1) > from;
        begins && !gap && self.ended.is_none_or(|ended| ended > to) && self.expires_at(to) > to
    }

    /// When it ended or will expire, by what is known.
    pub(super) fn end(&self) -> i64 {
        let expires = self.expiries.last().map_or(i64::MIN, |(_, expires)| *expires);
        self.ended.map_or(expires, |ended| ended.min(expires))
    }
}

/// All leases, in the order of their grants.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) spans: Vec<Span>,
    /// The open span of each key and generation.
    open: BTreeMap<(LockKey, i64), usize>,
    /// Lock ids whose state is unknown to the client for a good reason: an answer was lost, or the process died.
    pub(super) excused: BTreeSet<Vec<u8>>,
    /// The leases that a client has received: key and generation.
    pub(super) received: BTreeSet<(LockKey, i64)>,
    /// The calls that acquire a lease, by lock id: when each began, and when it was answered or dropped. A killed process never ends its
    /// calls.
    calls: BTreeMap<Vec<u8>, Vec<(i64, i64)>>,
    /// The lock ids that each process requested.
    pub(super) requested: BTreeMap<usize, BTreeSet<Vec<u8>>>,
}

impl Log {
    /// A client begins a call that acquires a lease with this lock id.
    pub(super) fn begin_call(&mut self, lock: &[u8], at: i64) {
        self.calls.entry(lock.to_vec()).or_default().push((at, i64::MAX));
    }

    /// It was answered, or dropped.
    pub(super) fn end_call(&mut self, lock: &[u8], at: i64) {
        if let Some((_, end)) = self.calls.get_mut(lock).and_then(|calls| calls.last_mut()) {
            *end = at;
        }
    }

    /// Whether a lease was granted to a caller who was gone for so many milliseconds.
    pub(super) fn is_late(&self, span: &Span, allowance: i64) -> bool {
        let calls = self.calls.get(&span.lock);
        calls.is_some_and(|calls| {
            let mut calls = calls.iter();
            !calls.any(|(from, to)| *from <= span.from && span.from <= to.saturating_add(allowance))
        })
    }

    pub(super) fn of(&self, key: &LockKey, generation: i64) -> Option<&Span> {
        self.spans.iter().find(|span| span.key == *key && span.generation == generation)
    }

    pub(super) fn of_lock<'l>(&'l self, lock: &'l [u8]) -> impl Iterator<Item = &'l Span> {
        self.spans.iter().filter(move |span| span.lock == lock)
    }

    /// Since when nobody has excluded others from the key.
    pub(super) fn free_since(&self, key: &LockKey) -> i64 {
        self.spans.iter().filter(|span| span.key == *key && span.excludes).map(Span::end).max().unwrap_or(i64::MIN)
    }

    /// A transaction decided these changes at this time, and commits them now.
    pub(super) fn decided(&mut self, changes: &Changes, at: i64) {
        for row in changes.leases.values().flatten() {
            if let Some(span) = self.open.get(&(row.place.key.clone(), row.generation)) {
                self.spans[*span].revived.push((at, row.expires_at));
            }
        }
    }

    pub(super) fn record(&mut self, before: &Rows, changes: &Changes, now: i64) {
        for (place, after) in &changes.leases {
            let held = before.leases.get(place).filter(|row| !row.ended);
            let holds = after.as_ref().filter(|row| !row.ended);
            let same = held
                .zip(holds)
                .is_some_and(|(held, holds)| (held.generation, &held.lock) == (holds.generation, &holds.lock));
            if let (Some(held), false) = (held, same)
                && let Some(at) = self.open.remove(&(held.place.key.clone(), held.generation))
            {
                self.spans[at].ended = Some(now);
                self.spans[at].given_back = !changes.past.iter().any(|past| past.lock == held.lock);
            }
            let Some(holds) = holds else { continue };
            let key = (holds.place.key.clone(), holds.generation);
            match self.open.get(&key) {
                Some(at) => self.spans[*at].expiries.push((now, holds.expires_at)),
                None => {
                    self.open.insert(key, self.spans.len());
                    self.spans.push(Span::new(holds, now));
                }
            }
        }
    }
}

//! Judges the answers to clients by what really happened in the tables.

use std::fmt::Debug;

use super::world::World;
use crate::lease::{Holder, Lease, LeaseLossReason, LockKey, NoLock};

/// How long a free key may wait for a waiter: a pause between two polls, and the latency of a few requests.
const WAKE_UP: i64 = 3_500;
/// The same in a storm, in which requests are late.
const WAKE_UP_IN_STORM: i64 = 30_000;

/// A call from its beginning to its answer, in milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) from: i64,
    pub(super) to: i64,
}

impl World {
    /// The client was told that it holds this lease.
    pub(super) fn judge_lease(&self, call: Call, owner: &str, lease: &Lease) {
        let (holder, lock) = (lease.holder(), lease.id().hash());
        let mut tables = self.tables();
        // A check only looks: after a dropped request it may find a lease that is being given back.
        if call.name != "check" {
            tables.log.received.insert((holder.key.clone(), holder.generation));
        }
        let span = tables.log.of(&holder.key, holder.generation).cloned();
        drop(tables);
        let Some(span) = span else {
            return self.violated(format_args!("{}: {} was never granted", call.name, text(holder)));
        };
        if span.lock != lock || span.owner != owner || holder.owner.id != owner {
            self.violated(format_args!("{}: {owner} got the answer about {span:?}", call.name));
        }
        if !span.maybe_alive_in(call.from, call.to) {
            self.violated(format_args!("{}: {} was not alive during the call: {span:?}", call.name, text(holder)));
        }
    }

    /// The client was told that somebody else holds the key.
    pub(super) fn judge_refusal(&self, call: Call, key: &LockKey, holder: &Holder) {
        let span = self.tables().log.of(key, holder.generation).cloned();
        let right = span.as_ref().is_some_and(|span| {
            holder.key == *key && span.owner == holder.owner.id && span.maybe_alive_in(call.from, call.to)
        });
        if !right {
            self.violated(format_args!("{}: refused by {}, but {span:?}", call.name, text(holder)));
        }
    }

    /// The client was told that its lock id holds no lease.
    pub(super) fn judge_no_lock(&self, call: Call, lock: &[u8], no_lock: &NoLock) {
        let spans: Vec<_> = self.tables().log.of_lock(lock).cloned().collect();
        if let Some(span) = spans.iter().find(|span| span.surely_alive_in(call.from, call.to)) {
            return self.violated(format_args!("{}: {no_lock}, but {span:?}", call.name));
        }
        let forgotten = spans.iter().find(|span| !span.given_back && span.from < call.from);
        if let (LeaseLossReason::Unknown, Some(span)) = (&no_lock.why, forgotten) {
            self.violated(format_args!("{}: an unknown lock id, but {span:?}", call.name));
        }
    }

    /// The client was told that the wait was too long.
    pub(super) fn judge_timeout(&self, call: Call, key: &LockKey) {
        let most = if self.was_calm() { WAKE_UP } else { WAKE_UP_IN_STORM };
        let since = self.tables().log.free_since(key).max(call.from);
        if call.to.saturating_sub(since) > most {
            self.violated(format_args!(
                "{}: {key:?} was free for {} ms, and its waiter was not granted it",
                call.name,
                call.to - since
            ));
        }
    }

    /// The client was told that nothing was changed.
    pub(super) fn judge_unchanged(&self, call: Call, lock: &[u8], error: &dyn Debug) {
        let tables = self.tables();
        // One that the client has received already may be of the same millisecond.
        let is_known = |span: &super::log::Span| tables.log.received.contains(&(span.key.clone(), span.generation));
        let granted = |span: &&super::log::Span| {
            let is_of_the_call = call.from <= span.from && span.from <= call.to && !is_known(span);
            is_of_the_call && !span.given_back && span.end() > call.to
        };
        let span = tables.log.of_lock(lock).find(granted).cloned();
        drop(tables);
        if let Some(span) = span {
            self.violated(format_args!("{}: {error:?}, but {span:?}", call.name));
        }
    }

    /// The client was told that the database failed.
    pub(super) fn judge_failure(&self, call: Call, error: &dyn Debug) {
        if self.was_calm() {
            self.violated(format_args!("{}: failed without any fault: {error:?}", call.name));
        }
    }

    /// After everything has ended: no lease, and no one holds more than the limit.
    pub(super) fn judge_end(&self, keys: &[LockKey], most: usize) {
        let (tables, now) = (self.tables(), self.now());
        let mut wrong = Vec::new();
        for key in keys {
            let left = tables.alive(key, now).filter(|row| !tables.log.excused.contains(&row.lock));
            wrong.extend(
                left.map(|row| format!("left behind: {key:?} generation {} of {:?}", row.generation, row.owner)),
            );
        }
        for (at, span) in tables.log.spans.iter().enumerate() {
            if span.given_back && tables.log.received.contains(&(span.key.clone(), span.generation)) {
                wrong.push(format!("released, although a client had received it: {span:?}"));
            }
            if tables.log.is_late(span, if self.was_calm() { WAKE_UP } else { WAKE_UP_IN_STORM }) {
                wrong.push(format!("granted to a caller that was gone: {span:?}"));
            }
            let earlier = &tables.log.spans[..at];
            let overlap = |other: &&super::log::Span| {
                other.key == span.key
                    && other.excludes
                    && span.excludes
                    && other.maybe_alive(span.from)
                    && other.end() > span.from
            };
            if let Some(other) = earlier.iter().find(overlap) {
                wrong.push(format!("two holders: {span:?} and {other:?}"));
            }
            let of_owner = earlier.iter().filter(|other| other.owner == span.owner);
            let held = of_owner.filter(|other| other.surely_alive_in(span.from, span.from)).count();
            if self.was_calm() && held >= most && !tables.resumed.contains(&span.owner) {
                wrong.push(format!("more than {most} leases of one owner: {span:?}"));
            }
        }
        drop(tables);
        wrong.iter().for_each(|wrong| self.violated(wrong));
    }
}

/// A holder in a few words.
pub(super) fn text(holder: &Holder) -> String {
    format!("{:?} generation {} of {}", holder.key, holder.generation, holder.owner.id)
}

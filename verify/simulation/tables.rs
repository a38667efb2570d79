//! The tables of the lock manager in memory. The library's engine decides every operation on leases.

use std::collections::{BTreeMap, BTreeSet};

use super::log::Log;
use crate::clock::{from_millis, millis};
use crate::lease::engine::{Answer, Changes, LeaseRow, Operation, Past, Rows, decide};
use crate::lease::operations::{Attempt, LockAnswer, LockHash, LockOp};
use crate::lease::seen::{PastLease, Seen, SeenLease};
use crate::lease::{Holder, LeaseLossReason, LockKey, RanOut};
use crate::storage::watching::{Look, PLACE_TTL, Ticket};

/// A place in a queue.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) key: LockKey,
    lock: LockHash,
    owner: String,
    process: i64,
    waiter: i64,
    since: i64,
    expires_at: i64,
}

/// All tables, and the log of what happened in them.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) rows: Rows,
    /// The queues, by ticket.
    pub(super) line: BTreeMap<i64, Place>,
    last_ticket: i64,
    /// The places that were left, with their tickets.
    left: Vec<(i64, Place)>,
    /// The owners who resumed leases, which no limit counts.
    pub(super) resumed: BTreeSet<String>,
    pub(super) log: Log,
}

impl Tables {
    /// Runs an operation, and stores its changes.
    pub(super) fn run(&mut self, operation: &Operation<'_>, now: i64) -> Answer {
        let (answer, changes) = decide(operation, &self.rows, now).expect("generations do not run out here");
        self.store(changes, now);
        answer
    }

    pub(super) fn store(&mut self, changes: Changes, now: i64) {
        self.log.record(&self.rows, &changes, now);
        changes.apply(&mut self.rows);
    }

    /// Answers a request as a fast statement does: `None` if the answer needs an explanation.
    pub(super) fn answer(&mut self, op: &LockOp, now: i64) -> Option<LockAnswer> {
        let beats;
        let operation = match op {
            LockOp::Take(request) => Operation::Take(request),
            LockOp::Check(proof) => Operation::Check(proof),
            LockOp::KeepAlive(proof, idle) => {
                beats = [(proof.clone(), *idle)];
                Operation::Keep(&beats)
            }
            LockOp::Extend(proof, by) => Operation::Extend(proof, *by),
            LockOp::ExpireWithin(proof, within) => Operation::ExpireWithin(proof, *within),
            LockOp::Release(proof) => Operation::Release(proof),
        };
        match self.run(&operation, now) {
            Answer::Kept(mut kept) => kept.pop()?.ok().map(LockAnswer::Yours),
            Answer::Taken(Attempt::Granted(holder)) | Answer::Lease(Ok(holder)) => Some(LockAnswer::Yours(holder)),
            Answer::Taken(Attempt::Held(holder)) => {
                let lock = self.row(&holder)?.lock.clone();
                Some(LockAnswer::Held { holder, lock })
            }
            _ => None,
        }
    }

    fn row(&self, holder: &Holder) -> Option<&LeaseRow> {
        let rows = &mut self.rows.leases.values();
        rows.find(|row| row.place.key == holder.key && row.generation == holder.generation && !row.ended)
    }

    /// The leases on a key that are alive.
    pub(super) fn alive<'t>(&'t self, key: &'t LockKey, now: i64) -> impl Iterator<Item = &'t LeaseRow> {
        self.rows.leases.values().filter(move |row| row.place.key == *key && !row.ended && row.expires_at > now)
    }

    pub(super) fn held(&self, owner: &str, now: i64) -> u64 {
        let rows = self.rows.leases.values();
        let held = rows.filter(|row| row.owner.id == owner && !row.ended && row.expires_at > now);
        held.count().try_into().expect("a small number")
    }

    /// How the history says that a lease ended.
    pub(super) fn history(&self, key: &LockKey, generation: i64) -> Option<LeaseLossReason> {
        let past = self.rows.past.values().find(|past| past.key == *key && past.generation == generation);
        past.map(|past| ended(past).why)
    }

    /// Everything about these keys, as one statement reads it.
    pub(super) fn look(&self, looks: &[Look], now: i64) -> Vec<(LockKey, Seen)> {
        let mut seen = Vec::new();
        for Look { key, after } in looks {
            let mut see = |fact| seen.push((key.clone(), fact));
            let leases = self.rows.leases.values().filter(|row| row.place.key == *key);
            leases.for_each(|row| see(Seen::Lease(lease(row, now))));
            let past = self.rows.past.values().filter(|past| past.key == *key && past.generation > *after);
            past.for_each(|past| see(Seen::Past(ended(past))));
            let line: Vec<i64> = self.line(key, now).collect();
            if let Some(first) = line.first() {
                see(Seen::Line { first: *first, waiting: line.len().try_into().expect("a small number") });
            }
        }
        seen
    }

    /// The tickets of a key's queue, in order.
    pub(super) fn line<'t>(&'t self, key: &'t LockKey, now: i64) -> impl Iterator<Item = i64> + 't {
        self.line
            .iter()
            .filter(move |(_, place)| place.key == *key && place.expires_at > now)
            .map(|(ticket, _)| *ticket)
    }

    pub(super) fn enter_line(&mut self, ticket: &Ticket, now: i64) -> Option<i64> {
        let Ticket { key, lock, owner, process, waiter, most, .. } = ticket;
        let others = self.line.values().filter(|place| place.owner == owner.id && place.expires_at > now);
        if others.filter(|place| place.lock != *lock).count() >= usize::try_from(*most).expect("it fits") {
            return None;
        }
        let known = self.line.iter().find(|(_, place)| place.lock == *lock);
        let (number, since) = known.map_or((self.last_ticket + 1, now), |(number, place)| (*number, place.since));
        self.last_ticket = self.last_ticket.max(number);
        let expires_at = now + millis(PLACE_TTL);
        let (process, waiter) = (*process, *waiter);
        let owner = owner.id.clone();
        let place = Place { key: key.clone(), lock: *lock, owner, process, waiter, since, expires_at };
        self.line.insert(number, place);
        Some(number)
    }

    pub(super) fn leave_line(&mut self, lock: &LockHash, waiter: i64, now: i64) {
        let leaves = |place: &Place| place.lock == *lock && place.waiter == waiter;
        let left = self.line.iter().filter(|(_, place)| leaves(place));
        self.left.extend(
            left.map(|(ticket, place)| (*ticket, Place { expires_at: now.min(place.expires_at), ..place.clone() })),
        );
        self.line.retain(|_, place| !leaves(place));
    }

    /// Since when a lock id was the first of the queue. A place counts for so many milliseconds after its caller was answered or is gone.
    pub(super) fn first_since(&self, key: &LockKey, lock: &[u8], allowance: i64) -> Option<i64> {
        let places =
            || self.left.iter().map(|(ticket, place)| (*ticket, place)).chain(self.line.iter().map(|(t, p)| (*t, p)));
        let (ticket, own) = places().rfind(|(_, place)| place.key == *key && place.lock == *lock)?;
        let end = |place: &Place| {
            let gone = self.log.last_call_end(&place.lock).map_or(i64::MAX, |end| end.saturating_add(allowance));
            place.expires_at.min(gone)
        };
        let before = places().filter(|(number, place)| *number < ticket && place.key == *key);
        Some(before.map(|(_, place)| end(place)).max().unwrap_or(i64::MIN).max(own.since))
    }

    pub(super) fn keep_places(&mut self, process: i64, now: i64) -> u64 {
        let kept = self.line.values_mut().filter(|place| place.process == process);
        let kept = kept.map(|place| place.expires_at = now + millis(PLACE_TTL)).count();
        kept.try_into().expect("a small number")
    }
}

fn lease(row: &LeaseRow, now: i64) -> SeenLease {
    let idle = row.idle_limit.is_some_and(|limit| row.expires_at >= row.active_at.saturating_add(limit));
    let ran_out = RanOut::of(idle, row.expires_at >= row.hard_until);
    SeenLease {
        holder: row.holder(now),
        lock: row.lock.clone(),
        exclusive: row.place.slot.is_empty(),
        ended: row.ended,
        ran_out: LeaseLossReason::ran_out(from_millis(row.expires_at), ran_out),
    }
}

fn ended(past: &Past) -> PastLease {
    let ran_out = RanOut::of(past.idle, past.limited);
    let why = LeaseLossReason::recorded(
        past.how.text(),
        ran_out,
        from_millis(past.ended_at),
        past.by.clone(),
        past.reason.clone(),
    );
    let holder = Holder {
        owner: past.owner.clone(),
        generation: past.generation,
        since: from_millis(past.since),
        shown: past.shown,
        ..Holder::to_be(past.key.clone())
    };
    PastLease { holder, why }
}

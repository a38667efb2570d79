//! The changes of a batch to the lock table: the engine decides each request by the rows that the batch read.

use std::collections::BTreeSet;

use super::found::{Found, Seen};
use super::{Answers, texts};
use crate::db::mysql::deadline::Flavour;
use crate::lease::Holder;
use crate::lease::engine::{Answer, Changes as Decided, LeaseRow, Operation, Past, Rows, change_row, decide};
use crate::lease::operations::{Attempt, LockAnswer, LockOp, LockRequest};
use crate::store::leases::refusal;

/// The rows to write.
#[derive(Default)]
pub(super) struct Changes<'o> {
    ended: Vec<Past>,
    /// The indexes of locked rows that were changed.
    locked: BTreeSet<usize>,
    /// For keys without a row, with the index of the request. Another session may insert first.
    new: Vec<(usize, &'o LockRequest, LeaseRow)>,
}

impl<'o> Changes<'o> {
    /// Acquires a lease that is free. The answer is valid once the changes are committed.
    pub(super) fn take(&mut self, found: &mut Found, at: usize, request: &'o LockRequest) -> Option<LockAnswer> {
        let (key, lock) = (&request.key, &request.lock[..]);
        let seen = found.seen.of_key(key);
        if let Some(held) = seen.filter(|seen| seen.alive() && seen.row.lock != lock) {
            return to(request, held);
        }
        if found.used.contains(lock) {
            return None;
        }
        let take = Operation::Take(request);
        let Some(before) = found.locked.of_key(key) else {
            if seen.is_none() {
                let (_, changes) = granted(&take, &found.without_row(key), found.now)?;
                self.new.extend(changes.leases.into_values().flatten().map(|row| (at, request, row)));
            }
            return None;
        };
        // Advisory leases are requested alone.
        if before.alive() || before.row.lock == lock {
            return None;
        }
        let former = before.row.lock.clone();
        let (holder, changes) = granted(&take, &only(&before.row), before.now)?;
        self.write(found, &former, changes);
        Some(LockAnswer::Yours(holder))
    }

    /// Changes a live lease. The answer is valid once the changes are committed.
    pub(super) fn change(&mut self, found: &mut Found, op: &LockOp) -> Option<LockAnswer> {
        let (at, Seen { row, now }) = found.locked.of_lock_mut(op.lock())?;
        let LockOp::Release(proof) = op else {
            let holder = change_row(row, op, *now)?;
            self.locked.insert(at);
            return Some(LockAnswer::Yours(holder));
        };
        let (holder, changes) = granted(&Operation::Release(proof), &only(row), *now)?;
        self.write(found, &proof.lock, changes);
        Some(LockAnswer::Yours(holder))
    }

    /// Writes the changes of the locked row of a lock id.
    fn write(&mut self, found: &mut Found, lock: &[u8], changes: Decided) {
        self.ended.extend(changes.past);
        for row in changes.leases.into_values().flatten() {
            self.locked.extend(found.locked.replace(lock, row));
        }
    }

    pub(super) fn are_none(&self) -> bool {
        self.locked.is_empty() && self.new.is_empty()
    }

    /// The statements that write and commit, and then read the new rows.
    pub(super) fn text(&self, found: &Found, flavour: Flavour, now: Option<i64>) -> String {
        let mut locked: Vec<_> = self.locked.iter().map(|at| found.locked.row(*at)).collect();
        // In the order of their keys, so that two batches cannot deadlock.
        locked.sort_by(|one, other| one.place.cmp(&other.place));
        let new: Vec<_> = self.new.iter().map(|(_, _, row)| row).collect();
        texts::write(&self.ended, &locked, &new, flavour, now)
    }

    /// The answers for the new rows.
    pub(super) fn won(&self, found: &Found, answers: &mut Answers) {
        for (at, request, new) in &self.new {
            // If the same lock id was granted elsewhere at this moment, the request is repeated alone, which is recorded.
            let seen = found.seen.of_key(&request.key);
            let seen = seen.filter(|seen| seen.row.lock != new.lock || seen.row.since == new.since);
            answers[*at] = seen.and_then(|seen| to(request, seen));
        }
    }
}

fn only(row: &LeaseRow) -> Rows {
    Rows { leases: [(row.place.clone(), row.clone())].into(), ..Rows::default() }
}

/// The lease that an operation grants or changes. `None`: it is refused, and its answer needs an explanation. (A key at the highest generation
/// has no next one: sent alone, the request gets that error.)
fn granted(operation: &Operation<'_>, rows: &Rows, now: i64) -> Option<(Holder, Decided)> {
    let (answer, changes) = decide(operation, rows, now).ok()?;
    let holder = match answer {
        Answer::Taken(Attempt::Granted(holder)) => holder,
        Answer::Lease(lease) => lease.ok()?,
        _ => return None,
    };
    Some((holder, changes))
}

/// The answer of a key's row to a requester.
pub(super) fn to(request: &LockRequest, seen: &Seen) -> Option<LockAnswer> {
    let Seen { row, now } = seen;
    if row.lock == request.lock && seen.alive() && row.owner.id == request.owner.id {
        return Some(LockAnswer::Yours(seen.holder()));
    }
    refusal(request, row, *now)
}

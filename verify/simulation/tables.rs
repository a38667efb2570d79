//! The tables of the lock manager in memory. The library's engine decides every operation on leases.

use std::collections::BTreeSet;

use super::log::Log;
use crate::lease::engine::{Answer, Changes, LeaseRow, Operation, Rows, decide};
use crate::lease::operations::{Attempt, LockAnswer, LockOp};
use crate::lease::{Holder, LockKey};

/// All tables, and the log of what happened in them.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) rows: Rows,
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
}

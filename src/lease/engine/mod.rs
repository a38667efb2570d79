//! The rules of a lease, once for all databases: [`decide`] gets the rows that the operation needs and the time, and returns the answer and
//! the changes to write. No I/O, no clock, no randomness.
//!
//! The rows have to be those on which the decision depends: `store/leases` loads them for each operation. They are locked until the
//! changes are committed; rows that an operation only reads may be read without a lock.
//!
//! The databases also have a one-statement form of the most frequent operations. This module is its specification: a property test
//! (`verify/differential`) runs random operations through every form, and compares with a decision on all rows.

mod beside;
mod changes;
mod check;
mod end;
mod keep;
#[cfg(test)]
#[path = "../../../verify/model/mod.rs"]
mod model;
mod past;
mod resume;
mod row;
mod rows;
mod sweep;
mod take;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub(crate) use changes::Changes;
#[cfg(any(feature = "mysql", test))]
pub(crate) use keep::change_row;
pub(crate) use past::{How, Past};
pub(crate) use row::{LeaseRow, Place};
pub(crate) use rows::Rows;
pub(crate) use sweep::sweep;

use super::operations::{Attempt, KeyState, LockHash, LockRequest, Proof, Resumption, TakenOver};
use super::{Holder, LockKey, NoLock, Owner};
use changes::Draft;

/// An operation on leases.
#[derive(Debug)]
pub(crate) enum Operation<'o> {
    /// Acquire a lease, exclusive or advisory, as its policy says.
    Take(&'o LockRequest),
    /// Check that a lease is alive.
    Check(&'o Proof),
    /// Heartbeats of several leases, each with the time since the last input.
    Keep(&'o [(Proof, Duration)]),
    /// Move the expiry by this duration.
    Extend(&'o Proof, Duration),
    /// Bring the expiry forward to this duration from now.
    ExpireWithin(&'o Proof, Duration),
    /// End a lease.
    Release(&'o Proof),
    /// End a lease that its owner never received; its lock id can be used again.
    UndoGrant { lock: &'o LockHash, generation: i64 },
    /// End the lease of this generation, independent of its owner.
    Break { key: &'o LockKey, generation: i64, by: &'o Owner, reason: &'o str },
    /// End the exclusive lease of this generation and grant the next one.
    TakeOver { request: &'o LockRequest, generation: i64, reason: &'o str },
    /// End all leases of an owner.
    ReleaseAll { owner: &'o str },
    /// Revive an expired lease.
    Resume { proof: &'o Proof, key: &'o LockKey },
    /// Whether a key is held.
    KeyState(&'o LockKey),
    /// All holders of a key.
    Holders(&'o LockKey),
}

/// The answer to an [`Operation`].
#[derive(Debug)]
pub(crate) enum Answer {
    /// Of [`Operation::Take`].
    Taken(Attempt),
    /// Of check, extend, expire within and release.
    Lease(Result<Holder, NoLock>),
    /// Of [`Operation::Keep`], in its order.
    Kept(Vec<Result<Holder, NoLock>>),
    /// Whether the holder released the lease.
    GrantUndone(bool),
    /// `None`: that generation is not alive.
    Broken(Option<Holder>),
    /// Of [`Operation::TakeOver`].
    TakenOver(TakenOver),
    /// The leases that the owner held.
    Released(Vec<Holder>),
    /// Of [`Operation::Resume`].
    Resumed(Resumption),
    /// Of [`Operation::KeyState`].
    KeyState(KeyState),
    /// The longest-held first.
    Holders(Vec<Holder>),
}

/// The key has had the highest possible generation, so it cannot get another holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the key has had the highest possible generation, so it cannot get another holder; rename the aggregate, or lower the generation by hand"
)]
pub(crate) struct LastGeneration;

/// Decides an operation on its rows at this time (milliseconds since 1970): returns the answer, and the changes to write with it. A refused
/// operation changes nothing.
pub(crate) fn decide(operation: &Operation<'_>, rows: &Rows, now: i64) -> Result<(Answer, Changes), LastGeneration> {
    let mut draft = Draft::new(rows);
    let answer = match *operation {
        Operation::Take(request) => Answer::Taken(take::take(&mut draft, request, now)?),
        Operation::Check(proof) => Answer::Lease(check::check(rows, proof, now)),
        Operation::Keep(beats) => {
            Answer::Kept(beats.iter().map(|(proof, idle)| keep::keep(&mut draft, proof, *idle, now)).collect())
        }
        Operation::Extend(proof, by) => Answer::Lease(keep::extend(&mut draft, proof, by, now)),
        Operation::ExpireWithin(proof, within) => Answer::Lease(keep::expire_within(&mut draft, proof, within, now)),
        Operation::Release(proof) => Answer::Lease(end::release(&mut draft, proof, now)),
        Operation::UndoGrant { lock, generation } => {
            Answer::GrantUndone(end::undo_grant(&mut draft, lock, generation, now))
        }
        Operation::Break { key, generation, by, reason } => {
            Answer::Broken(end::break_lock(&mut draft, key, generation, by, reason, now))
        }
        Operation::TakeOver { request, generation, reason } => {
            Answer::TakenOver(end::take_over(&mut draft, request, generation, reason, now)?)
        }
        Operation::ReleaseAll { owner } => Answer::Released(end::release_all(&mut draft, owner, now)),
        Operation::Resume { proof, key } => Answer::Resumed(resume::resume(&mut draft, proof, key, now)),
        Operation::KeyState(key) => Answer::KeyState(check::key_state(rows, key, now)),
        Operation::Holders(key) => Answer::Holders(check::holders(rows, key, now)),
    };
    let changes = if answer.is_refusal() { Changes::default() } else { draft.changes };
    Ok((answer, changes))
}

/// The refusal of a request that conflicts with a live lease, from the rows of the requested key. It is checked before any row is locked,
/// because a refusal must not wait for a save under the lease.
pub(crate) fn conflict(operation: &Operation<'_>, rows: &Rows, now: i64) -> Option<Answer> {
    match *operation {
        Operation::Take(request) => take::held_by_other(rows, request, now).map(Answer::Taken),
        _ => None,
    }
}

impl Operation<'_> {
    /// Whether it only reads.
    pub(crate) fn only_reads(&self) -> bool {
        use Operation::{Check, Holders, KeyState};
        matches!(self, Check(_) | KeyState(_) | Holders(_))
    }
}

impl Answer {
    /// Whether the operation is refused, so that none of its changes may be written.
    fn is_refusal(&self) -> bool {
        match self {
            Answer::Taken(attempt) => !matches!(attempt, Attempt::Granted(_)),
            Answer::TakenOver(taken) => !matches!(taken, TakenOver::Granted(_)),
            _ => false,
        }
    }
}

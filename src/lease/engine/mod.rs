//! The rules of a lease, once for all databases: [`decide`] gets the rows that the operation needs and the time, and returns the answer and
//! the changes to write. No I/O, no clock, no randomness.
//!
//! The rows have to be those on which the decision depends: `store/leases` loads them for each operation. Rows that it changes are locked
//! until the changes are committed; rows that it only reads may be read without a lock. A property test (`verify/differential`) runs random
//! operations on a database, and compares with a decision on all rows.

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
pub(crate) use check::live;
pub(crate) use past::{How, Past};
pub(crate) use row::{LeaseRow, Place};
pub(crate) use rows::Rows;
pub(crate) use sweep::sweep;

use super::operations::{Attempt, KeyState, LockHash, LockRequest, Proof, Resumption, TakenOver};
use super::{Holder, LockKey, NoLock, Owner};
use changes::Draft;

/// An operation on leases.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    /// Acquire a lease, exclusive or advisory, as its policy says.
    Take(LockRequest),
    /// Check that a lease is alive.
    Check(Proof),
    /// A heartbeat, with the time since the last input.
    Keep(Proof, Duration),
    /// Move the expiry by this duration.
    Extend(Proof, Duration),
    /// Bring the expiry forward to this duration from now.
    ExpireWithin(Proof, Duration),
    /// End a lease.
    Release(Proof),
    /// As `Release`, by a transaction that has held the lease since it was alive.
    ReleaseHeld(Proof),
    /// End a lease that its owner never received; its lock id can be used again.
    UndoGrant { lock: LockHash, generation: i64 },
    /// End the lease of this generation, independent of its owner.
    Break { key: LockKey, generation: i64, by: Owner, reason: String },
    /// End the exclusive lease of this generation and grant the next one.
    TakeOver { request: LockRequest, generation: i64, reason: String },
    /// End all leases of an owner.
    ReleaseAll { owner: String },
    /// Revive an expired lease.
    Resume { proof: Proof, key: LockKey },
    /// Whether a key is held.
    KeyState(LockKey),
    /// All holders of a key.
    Holders(LockKey),
}

/// The answer to an [`Operation`].
#[derive(Debug)]
pub(crate) enum Answer {
    /// Of [`Operation::Take`].
    Taken(Attempt),
    /// Of check, keep, extend, expire within and release.
    Lease(Result<Holder, NoLock>),
    /// Whether the grant was undone.
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
pub(crate) fn decide(operation: &Operation, rows: &Rows, now: i64) -> Result<(Answer, Changes), LastGeneration> {
    let mut draft = Draft::new(rows);
    let answer = match operation {
        Operation::Take(request) => Answer::Taken(take::take(&mut draft, request, now)?),
        Operation::Check(proof) => Answer::Lease(check::check(rows, proof, now)),
        Operation::Keep(proof, idle) => Answer::Lease(keep::change(&mut draft, proof, now, |row| row.keep(*idle, now))),
        Operation::Extend(proof, by) => Answer::Lease(keep::change(&mut draft, proof, now, |row| row.extend(*by, now))),
        Operation::ExpireWithin(proof, within) => {
            Answer::Lease(keep::change(&mut draft, proof, now, |row| row.expire_within(*within, now)))
        }
        Operation::Release(proof) => Answer::Lease(end::release(&mut draft, proof, now)),
        Operation::ReleaseHeld(proof) => Answer::Lease(end::release_held(&mut draft, proof, now)),
        Operation::UndoGrant { lock, generation } => {
            Answer::GrantUndone(end::undo_grant(&mut draft, lock, *generation, now))
        }
        Operation::Break { key, generation, by, reason } => {
            Answer::Broken(end::break_lock(&mut draft, key, *generation, by, reason, now))
        }
        Operation::TakeOver { request, generation, reason } => {
            Answer::TakenOver(end::take_over(&mut draft, request, *generation, reason, now)?)
        }
        Operation::ReleaseAll { owner } => Answer::Released(end::release_all(&mut draft, owner, now)),
        Operation::Resume { proof, key } => Answer::Resumed(resume::resume(&mut draft, proof, key, now)),
        Operation::KeyState(key) => Answer::KeyState(check::key_state(rows, key, now)),
        Operation::Holders(key) => Answer::Holders(check::holders(rows, key, now)),
    };
    let changes = if answer.is_refusal() { Changes::default() } else { draft.changes };
    Ok((answer, changes))
}

impl Operation {
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

/// The answer to an operation, which has one kind of answer.
macro_rules! answers {
    ($($name:ident: $variant:ident($answer:ty),)*) => {
        impl Answer {$(
            pub(crate) fn $name(self) -> $answer {
                match self {
                    Answer::$variant(answer) => answer,
                    other => unreachable!("an operation has one kind of answer, and this is {other:?}"),
                }
            }
        )*}
    };
}
answers! {
    taken: Taken(Attempt),
    lease: Lease(Result<Holder, NoLock>),
    grant_undone: GrantUndone(bool),
    broken: Broken(Option<Holder>),
    taken_over: TakenOver(TakenOver),
    released: Released(Vec<Holder>),
    resumed: Resumed(Resumption),
    key_state: KeyState(KeyState),
    holders: Holders(Vec<Holder>),
}

//! Checks whether a lease is alive, and who holds a key.

use super::{LeaseRow, Rows};
use crate::clock::from_millis;
use crate::lease::operations::{KeyState, Proof};
use crate::lease::{Holder, LeaseLossReason, LockKey, NoLock};

/// The live lease of a lock id, if it belongs to its owner.
pub(crate) fn live<'r>(rows: &'r Rows, proof: &Proof, now: i64) -> Option<&'r LeaseRow> {
    rows.of_lock(&proof.lock).filter(|row| row.alive(now) && proof.is_by(&row.owner.id))
}

/// Checks whether a lock id holds a lease; the error contains the reason.
pub(super) fn check(rows: &Rows, proof: &Proof, now: i64) -> Result<Holder, NoLock> {
    if let Some(row) = live(rows, proof, now) {
        return Ok(row.holder(now));
    }
    let (key, owner_id, why) = match (rows.of_lock(&proof.lock), rows.past.get(&proof.lock[..])) {
        // Alive, it belongs to another owner, who gets the same answer below.
        (Some(row), _) if !row.ended => {
            let why = LeaseLossReason::ran_out(from_millis(row.expires_at), row.ran_out());
            (&row.place.key, &row.owner.id, why)
        }
        (_, Some(past)) => (&past.key, &past.owner.id, past.reason()),
        (_, None) => return Err(NoLock { key: None, why: LeaseLossReason::Unknown, held_now: None }),
    };
    // A stranger does not learn how another owner's lease ended.
    let why = if proof.is_by(owner_id) { why } else { LeaseLossReason::NotYours };
    let held_now = rows.exclusive(key).filter(|row| row.alive(now)).map(|row| row.holder(now));
    Err(NoLock { key: Some(key.clone()), why, held_now })
}

/// Whether a key is held. Advisory leases do not count.
pub(super) fn key_state(rows: &Rows, key: &LockKey, now: i64) -> KeyState {
    match rows.exclusive(key) {
        None => KeyState::NoRow,
        Some(row) if row.alive(now) => KeyState::Held(row.holder(now)),
        Some(_) => KeyState::Free,
    }
}

/// All leases on a key, the longest-held first.
pub(super) fn holders(rows: &Rows, key: &LockKey, now: i64) -> Vec<Holder> {
    let mut alive: Vec<_> = rows.of_key(key).filter(|row| row.alive(now)).collect();
    alive.sort_by_key(|row| (row.since, row.generation));
    alive.into_iter().map(|row| row.holder(now)).collect()
}

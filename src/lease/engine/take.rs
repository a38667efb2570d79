//! Acquiring a lease.

use super::changes::Draft;
use super::{LastGeneration, LeaseRow, Past, Place, Rows, beside, check};
use crate::lease::operations::{Attempt, LockRequest, Proof};
use crate::lease::{LeaseLossReason, LockKey, NoLock};

/// Acquires a lease: the exclusive one on its key, or one beside others.
pub(super) fn take(draft: &mut Draft<'_>, request: &LockRequest, now: i64) -> Result<Attempt, LastGeneration> {
    if let Some(refusal) = held_by_other(draft.rows, request, now) {
        return Ok(refusal);
    }
    if !request.policy.is_exclusive() {
        return beside::take(draft, request, now);
    }
    let before = draft.rows.exclusive(&request.key);
    let before = before.filter(|row| row.ran_out_unrecorded(now) && row.lock != request.lock);
    if let Some(expired) = before.map(Past::expired) {
        draft.record(expired);
    }
    take_place(draft, request, now)
}

/// The exclusive lease that conflicts with the request, if any. Advisory leases conflict with nothing.
pub(super) fn held_by_other(rows: &Rows, request: &LockRequest, now: i64) -> Option<Attempt> {
    let held = rows.exclusive(&request.key).filter(|row| row.alive(now) && row.lock != request.lock)?;
    request.policy.is_exclusive().then(|| Attempt::Held(held.holder(now)))
}

/// Replaces the row of the request if its lease ended. A lock id whose lease has ended gets nothing: its request was delivered twice.
pub(super) fn take_place(draft: &mut Draft<'_>, request: &LockRequest, now: i64) -> Result<Attempt, LastGeneration> {
    let (place, lock) = (Place::of(request), &request.lock[..]);
    if draft.rows.past.contains_key(lock) {
        return Ok(refused(draft.rows, request, now));
    }
    let elsewhere = draft.rows.of_lock(lock).is_some_and(|row| row.place != place);
    let row = match draft.rows.leases.get(&place).cloned() {
        Some(mut row) if row.lock == lock && row.alive(now) && row.owner.id == request.owner.id => {
            row.ask_again(request, now);
            row
        }
        Some(row) if row.lock == lock || row.alive(now) => {
            return Ok(refused(draft.rows, request, now));
        }
        _ if elsewhere => return Ok(Attempt::Used(of_another(&request.key))),
        Some(mut row) => {
            row.change_hands(request, draft.rows.generation(&request.key), now)?;
            row
        }
        None => {
            let generation = draft.rows.generation(&request.key).checked_add(1).ok_or(LastGeneration)?;
            LeaseRow::granted(request, generation, now)
        }
    };
    let granted = row.holder(now);
    draft.put(row);
    Ok(Attempt::Granted(granted))
}

/// A lock id holds one lease at most.
pub(super) fn of_another(key: &LockKey) -> NoLock {
    NoLock { key: Some(key.clone()), why: LeaseLossReason::OtherAggregate, held_now: None }
}

/// The reason of a refusal although no lease conflicts.
fn refused(rows: &Rows, request: &LockRequest, now: i64) -> Attempt {
    let proof = Proof { lock: request.lock, owner: Some(request.owner.id.clone()) };
    match check::check(rows, &proof, now) {
        Ok(holder) if holder.key == request.key => Attempt::Granted(holder),
        Ok(_) => Attempt::Used(of_another(&request.key)),
        Err(NoLock { why: LeaseLossReason::Unknown, .. }) => Attempt::Lost,
        Err(no_lock) => Attempt::Used(no_lock),
    }
}

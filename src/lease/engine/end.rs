//! Ending leases: by their holder, and by other people.

use super::beside::nobodys;
use super::changes::Draft;
use super::take::of_another;
use super::{How, LastGeneration, LeaseRow, Past, check};
use crate::lease::operations::{LockHash, LockRequest, Proof, TakenOver};
use crate::lease::{Holder, LockKey, NoLock, Owner};

/// Ends a live lease, and records it.
pub(super) fn release(draft: &mut Draft<'_>, proof: &Proof, now: i64) -> Result<Holder, NoLock> {
    let row = check::live(draft.rows, proof, now).cloned();
    end_or_refuse(draft, row, proof, now)
}

/// As [`release`], by a transaction that has held the lease since it was alive: it may have expired since. It is ended all the same, so that it
/// is not alive again if the clock steps back.
pub(super) fn release_held(draft: &mut Draft<'_>, proof: &Proof, now: i64) -> Result<Holder, NoLock> {
    let held = draft.rows.of_lock(&proof.lock).filter(|row| !row.ended && proof.is_by(&row.owner.id));
    let row = held.cloned();
    end_or_refuse(draft, row, proof, now)
}

fn end_or_refuse(draft: &mut Draft<'_>, row: Option<LeaseRow>, proof: &Proof, now: i64) -> Result<Holder, NoLock> {
    match row {
        Some(row) => Ok(end(draft, row, now)),
        None => check::check(draft.rows, proof, now),
    }
}

fn end(draft: &mut Draft<'_>, row: LeaseRow, now: i64) -> Holder {
    draft.record(Past::ended(&row, How::Released, None, None, now));
    let row = LeaseRow { ended: true, ..row };
    let holder = row.holder(now);
    draft.put(row);
    holder
}

/// Takes back one grant of a live lease: the caller of the request is gone, and there was no heartbeat. With the last of them nobody knows
/// the lease, and it ends; its lock id can be used again. Returns whether it ended.
pub(super) fn undo_grant(draft: &mut Draft<'_>, lock: &LockHash, generation: i64, now: i64) -> bool {
    let unclaimed = |row: &&LeaseRow| row.generation == generation && row.alive(now) && row.unclaimed > 0;
    let Some(mut row) = draft.rows.of_lock(lock).filter(unclaimed).cloned() else { return false };
    row.unclaimed -= 1;
    if row.unclaimed > 0 {
        draft.put(row);
        return false;
    }
    draft.delete(&row.place);
    let nobodys = nobodys("undone grant", lock, &row.place.key, generation).to_vec();
    row.ended = true;
    row.lock.clone_from(&nobodys);
    if !row.place.slot.is_empty() {
        row.place.slot = nobodys;
    }
    draft.record(Past::ended(&row, How::Released, None, None, now));
    draft.put(row);
    true
}

/// Ends the live lease of a generation, and records its author and reason.
pub(super) fn break_lock(
    draft: &mut Draft<'_>,
    key: &LockKey,
    generation: i64,
    by: &Owner,
    reason: &str,
    now: i64,
) -> Option<Holder> {
    let mut row = draft.rows.of_key(key).find(|row| row.generation == generation && row.alive(now))?.clone();
    draft.record(Past::ended(&row, How::Broken, Some(by), Some(reason), now));
    row.ended = true;
    let broken = row.holder(now);
    draft.put(row);
    Some(broken)
}

/// Ends the live exclusive lease of a generation, and grants the next one. A repeated request returns the same lease.
pub(super) fn take_over(
    draft: &mut Draft<'_>,
    request: &LockRequest,
    generation: i64,
    reason: &str,
    now: i64,
) -> Result<TakenOver, LastGeneration> {
    let LockRequest { key, lock, owner, .. } = request;
    let held = draft.rows.exclusive(key).filter(|row| row.generation == generation && row.alive(now));
    let Some(mut row) = held.cloned() else { return Ok(TakenOver::Changed) };
    let proof = Proof { lock: *lock, owner: Some(owner.id.clone()) };
    if row.lock == lock {
        return Ok(check::check(draft.rows, &proof, now).map_or_else(TakenOver::Used, TakenOver::Granted));
    }
    if draft.rows.past.contains_key(&lock[..]) {
        let used = check::check(draft.rows, &proof, now);
        return Ok(used.map_or_else(TakenOver::Used, |_| TakenOver::Changed));
    }
    if draft.rows.of_lock(lock).is_some() {
        return Ok(TakenOver::Used(of_another(key)));
    }
    draft.record(Past::ended(&row, How::TakenOver, Some(owner), Some(reason), now));
    row.change_hands(request, draft.rows.generation(key), now)?;
    let granted = row.holder(now);
    draft.put(row);
    Ok(TakenOver::Granted(granted))
}

/// Ends all live leases of an owner, and records it.
pub(super) fn release_all(draft: &mut Draft<'_>, owner: &str, now: i64) -> Vec<Holder> {
    let rows = draft.rows.leases.values();
    let mut released = Vec::new();
    for row in rows.filter(|row| row.owner.id == owner && row.alive(now)) {
        released.push(end(draft, row.clone(), now));
    }
    released
}

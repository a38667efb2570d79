//! Reviving an expired lease.

use std::time::Duration;

use super::changes::Draft;
use super::check;
use crate::clock::from_millis;
use crate::lease::operations::{Proof, Resumption};
use crate::lease::{LeaseLossReason, LockKey, NoLock};

/// Revives a lease if its row is not marked as ended, which every record of an end does, and its absolute limit is not reached.
pub(super) fn resume(draft: &mut Draft<'_>, proof: &Proof, key: &LockKey, now: i64) -> Resumption {
    let found = draft.rows.of_lock(&proof.lock);
    let found = found.filter(|row| !row.ended && row.place.key == *key && proof.is_by(&row.owner.id));
    let Some(mut row) = found.cloned() else {
        return Resumption::refused(key, check::check(draft.rows, proof, now));
    };
    if row.hard_until <= now {
        let why = LeaseLossReason::LimitReached { at: from_millis(row.hard_until) };
        return Resumption::Ended(NoLock { key: Some(key.clone()), why, held_now: None });
    }
    // Nobody held it for a while: what people read as "since" is since now.
    if !row.alive(now) {
        row.since = now;
    }
    // Resuming counts as an input.
    row.keep(Duration::ZERO, now);
    let resumed = row.holder(now);
    draft.put(row);
    Resumption::Resumed(resumed)
}

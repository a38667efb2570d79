//! Keeping a live lease, and letting it expire soon.

use std::time::Duration;

use super::changes::Draft;
use super::{LeaseRow, check};
use crate::lease::operations::Proof;
use crate::lease::{Holder, NoLock};

/// A heartbeat: sets the expiry to now + ttl, within the idle and the absolute limit; never backwards.
pub(super) fn keep(draft: &mut Draft<'_>, proof: &Proof, idle: Duration, now: i64) -> Result<Holder, NoLock> {
    change(draft, proof, now, |row| row.keep(idle, now))
}

/// Adds to the expiry, within now + ttl, the idle and the absolute limit; never backwards.
pub(super) fn extend(draft: &mut Draft<'_>, proof: &Proof, by: Duration, now: i64) -> Result<Holder, NoLock> {
    change(draft, proof, now, |row| row.extend(by, now))
}

/// Brings the expiry forward: a page does so when the user leaves it. The next heartbeat reverses it.
pub(super) fn expire_within(
    draft: &mut Draft<'_>,
    proof: &Proof,
    within: Duration,
    now: i64,
) -> Result<Holder, NoLock> {
    change(draft, proof, now, |row| row.expire_within(within, now))
}

/// Changes a live lease, or returns the reason that there is none.
pub(super) fn change(
    draft: &mut Draft<'_>,
    proof: &Proof,
    now: i64,
    change: impl FnOnce(&mut LeaseRow),
) -> Result<Holder, NoLock> {
    let Some(row) = check::live(draft.rows, proof, now) else { return check::check(draft.rows, proof, now) };
    let mut row = row.clone();
    change(&mut row);
    let holder = row.holder(now);
    draft.put(row);
    Ok(holder)
}

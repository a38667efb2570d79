//! Changing a live lease: a heartbeat, an extension, an end that is brought forward. What each does to a row stands in
//! [`row`](super::row).

use super::changes::Draft;
use super::{LeaseRow, check};
use crate::lease::operations::Proof;
use crate::lease::{Holder, NoLock};

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

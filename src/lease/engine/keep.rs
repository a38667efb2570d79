//! Keeping a live lease, and letting it expire soon.

use std::time::Duration;

use super::changes::Draft;
use super::{LeaseRow, check};
#[cfg(any(feature = "mysql", test))]
use crate::lease::operations::LockOp;
use crate::lease::operations::Proof;
use crate::lease::{Holder, NoLock};

/// A heartbeat: sets the expiry to now + ttl, within the idle and the absolute limit; never backwards.
pub(super) fn keep(draft: &mut Draft, proof: &Proof, idle: Duration, now: i64) -> Result<Holder, NoLock> {
    change(draft, proof, now, |row| row.keep(idle, now))
}

/// Adds to the expiry, within now + ttl, the idle and the absolute limit; never backwards.
pub(super) fn extend(draft: &mut Draft, proof: &Proof, by: Duration, now: i64) -> Result<Holder, NoLock> {
    change(draft, proof, now, |row| row.extend(by, now))
}

/// Brings the expiry forward: a page does so when the user leaves it. The next heartbeat reverses it.
pub(super) fn expire_within(draft: &mut Draft, proof: &Proof, within: Duration, now: i64) -> Result<Holder, NoLock> {
    change(draft, proof, now, |row| row.expire_within(within, now))
}

/// Keeps or shortens a live lease in its row. For batches that have a row for each lock id: [`decide`](super::decide) copies rows, which costs
/// more than the decision. `None`: the lease is not live, or the operation is another one; nothing is changed.
#[cfg(any(feature = "mysql", test))]
pub(crate) fn change_row(row: &mut LeaseRow, op: &LockOp, now: i64) -> Option<Holder> {
    match op {
        LockOp::KeepAlive(proof, idle) if check::is_live(row, proof, now) => row.keep(*idle, now),
        LockOp::Extend(proof, by) if check::is_live(row, proof, now) => row.extend(*by, now),
        LockOp::ExpireWithin(proof, within) if check::is_live(row, proof, now) => row.expire_within(*within, now),
        _ => return None,
    }
    Some(row.holder(now))
}

/// Changes a live lease, or returns the reason that there is none.
pub(super) fn change(
    draft: &mut Draft,
    proof: &Proof,
    now: i64,
    change: impl FnOnce(&mut LeaseRow),
) -> Result<Holder, NoLock> {
    let Some(row) = check::live(&draft.rows, proof, now) else { return check::check(&draft.rows, proof, now) };
    let mut row = row.clone();
    change(&mut row);
    let holder = row.holder(now);
    draft.put(row);
    Ok(holder)
}

//! Deleting the rows of leases that ended long ago.

use std::collections::BTreeSet;

use super::changes::Draft;
use super::{Changes, LeaseRow, Past, Rows};
use crate::lease::LockKey;

/// Deletes the rows whose leases had expired, or would have, by this time. The expiry of a lease whose key was not acquired since is recorded. The
/// floor keeps generations from falling. The row of the exclusive lease stays as long as there are later leases on the key: it is what
/// excludes an exclusive request.
pub(crate) fn sweep(rows: &Rows, by: i64) -> Changes {
    let mut draft = Draft::new(rows);
    let later: BTreeSet<&LockKey> =
        rows.leases.values().filter(|row| row.expires_at > by).map(|row| &row.place.key).collect();
    let needed = |row: &LeaseRow| row.place.slot.is_empty() && later.contains(&row.place.key);
    for row in rows.leases.values().filter(|row| row.expires_at <= by && !rows.busy.contains(&row.place)) {
        if needed(row) {
            continue;
        }
        if !row.ended {
            draft.record(Past::expired(row));
        }
        draft.raise_floor(row.place.key.kind(), row.generation);
        draft.delete(&row.place);
    }
    draft.changes
}

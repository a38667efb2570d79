//! Deleting the rows of leases that ended long ago.

use super::changes::Draft;
use super::{Changes, Past, Rows};

/// Deletes the rows whose leases had expired, or would have, by this time. The expiry of a lease whose key was not acquired since is recorded. The
/// floor keeps generations from falling.
pub(crate) fn sweep(rows: &Rows, by: i64) -> Changes {
    let mut draft = Draft::new(rows);
    for row in rows.leases.values().filter(|row| row.expires_at <= by) {
        if !row.ended {
            draft.record(Past::expired(row));
        }
        draft.raise_floor(row.place.key.kind(), row.generation);
        draft.delete(&row.place);
    }
    draft.changes
}

//! Deleting rows of the lock table whose leases ended long ago, in slices of all rows.

use super::{Hold, LeaseRows, Which, Writes};
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::engine::{self, Place, Rows};
use crate::storage::{Slice, SweptRows};

/// Deletes the old rows of one slice, in a transaction that the caller commits. Rows that another session has locked are left for the next sweep.
pub(in crate::storage) async fn sweep(
    table: &mut dyn LeaseRows,
    slice: &Slice<'_>,
    after: &Place,
) -> Result<SweptRows, DatabaseError> {
    let upto = table.end_of_slice(slice, after).await?;
    let old = table.leases(Which::Old { slice, after, upto: upto.as_ref() }, Hold::Replace).await?;
    let (Some(now), false) = (old.clock, old.rows.is_empty()) else { return Ok(SweptRows { swept: 0, upto }) };
    let mut rows = Rows::default();
    rows.leases.extend(old.rows.into_iter().map(|row| (row.place.clone(), row)));
    let changes = engine::sweep(&rows, now.saturating_sub(millis(slice.older_than)));
    let swept = changes.leases.len().try_into().unwrap_or(u64::MAX);
    let writes = Writes::of(changes, &rows);
    if !writes.is_empty() && !table.write(&writes).await? {
        return Err(DatabaseError::SerializationFailure);
    }
    Ok(SweptRows { swept, upto })
}

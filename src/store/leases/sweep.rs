//! Deleting rows of the lock table whose leases ended long ago, in slices of all rows.

use crate::clock::millis;
use crate::db::Connection;
use crate::error::DatabaseError;
use crate::lease::engine::{self, Place, Rows};
use crate::store::leases::{Writes, rows};
use crate::store::{Slice, SweptRows};

/// Deletes the old rows of one slice, in a transaction that the caller commits. Rows that another session has locked are left for the next sweep.
pub(crate) async fn sweep(db: &mut Connection, slice: &Slice<'_>, after: &Place) -> Result<SweptRows, DatabaseError> {
    let upto = rows::end_of_slice(db, slice, after).await?;
    let old = rows::old(db, slice, after, upto.as_ref()).await?;
    let (Some(now), false) = (old.clock, old.rows.is_empty()) else { return Ok(SweptRows { swept: 0, upto }) };
    let mut old_rows = Rows::default();
    old_rows.leases.extend(old.rows.into_iter().map(|row| (row.place.clone(), row)));
    let changes = engine::sweep(&old_rows, now.saturating_sub(millis(slice.older_than)));
    let swept = changes.leases.len().try_into().unwrap_or(u64::MAX);
    let locked = old_rows.leases.into_keys().collect();
    rows::write(db, &Writes::of(changes, &locked)).await?;
    Ok(SweptRows { swept, upto })
}

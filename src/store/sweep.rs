//! The slices of a sweep, and deleting old entries of the history.

use std::time::Duration;

use crate::clock::millis;
use crate::db::{Bind, Connection, Text};
use crate::error::DatabaseError;
use crate::lease::engine::Place;

/// One slice of a sweep: a bounded statement, so that other sessions wait only briefly.
#[derive(Debug)]
pub(crate) struct Slice<'s> {
    /// Entries that ended longer ago than this.
    pub older_than: Duration,
    /// Of one type, or of all.
    pub kind: Option<&'s str>,
    /// The maximum number of rows that are read, or deleted.
    pub most: u32,
}

/// The result of a sweep of one slice of the lock table.
#[derive(Debug)]
pub(crate) struct SweptRows {
    pub swept: u64,
    /// The last row of the slice; `None`: it was the last slice.
    pub upto: Option<Place>,
}

/// Rows that another session has locked are left for the next sweep, where the database can skip them.
static HISTORY: Text = Text::new(
    "delete from tenure_lock_history where lock_hash in (
        select lock_hash from tenure_lock_history
         where ended_at <= {now $1} - $2 and ({text $3} is null or kind = $3)
         order by ended_at limit $4{skip_locked})",
);

/// The same without a subquery.
static HISTORY_BY_LIMIT: Text = Text::new(
    "delete from tenure_lock_history
      where ended_at <= {now $1} - $2 and ($3 is null or kind = $3) order by ended_at limit $4",
);

/// Deletes ended leases from the history, at most one slice; returns their number.
pub(crate) async fn history(db: &mut Connection, slice: &Slice<'_>) -> Result<u64, DatabaseError> {
    let text = if db.sheet().slow_subqueries { &HISTORY_BY_LIMIT } else { &HISTORY };
    let (age, most) = (millis(slice.older_than), i64::from(slice.most));
    db.write(text.with([db.now(), age.into(), Bind::key(slice.kind), most.into()])).await
}

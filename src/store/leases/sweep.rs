//! Deleting rows of the lock table whose leases ended long ago, in slices of all rows.

use crate::clock::millis;
use crate::db::{Bind, Connection, RowLock, Sheet, Text};
use crate::error::DatabaseError;
use crate::lease::engine::{self, Place, Rows};
use crate::store::leases::read::place;
use crate::store::leases::rows::{self, Read, fetch, select};
use crate::store::leases::write::{self, Writes};
use crate::store::{Slice, SweptRows};

/// The expiry has no index, so a sweep reads all rows, in the order of the primary key. The end of the slice is a condition of its own;
/// otherwise the primary key could not use it. Between the two ends there are at most `limit` rows: that informs the planner.
static OLD: Text = Text::made(|sheet| old_rows(sheet, "and {upto l.kind l.id l.slot $8 $9 $10}"));
static OLD_OF_LAST_SLICE: Text = Text::made(|sheet| old_rows(sheet, ""));

fn old_rows(sheet: &Sheet, upto: &str) -> String {
    let old = format!(
        "tenure_lock as l
          where l.expires_at <= {{now $1}} - $2 and ({{text $3}} is null or l.kind = $3)
            and {{after l.kind l.id l.slot $4 $5 $6}} {upto} order by l.kind, l.id, l.slot limit $7"
    );
    select(sheet, &old)
}

static END_OF_SLICE: Text = Text::new(
    "select {key l.kind} as kind, {key l.id} as id, l.slot from tenure_lock as l
      where {after l.kind l.id l.slot $1 $2 $3} and ({text $4} is null or l.kind = $4)
      order by l.kind, l.id, l.slot limit 1 offset $5",
);

/// Deletes the old rows of one slice, in a transaction that the caller commits. Rows that another session has locked are left for the next sweep.
pub(crate) async fn sweep(db: &mut Connection, slice: &Slice<'_>, after: &Place) -> Result<SweptRows, DatabaseError> {
    let upto = end_of_slice(db, slice, after).await?;
    let old = old(db, slice, after, upto.as_ref()).await?;
    let (Some(now), false) = (old.clock, old.rows.is_empty()) else { return Ok(SweptRows { swept: 0, upto }) };
    let mut old_rows = Rows::default();
    old_rows.leases.extend(old.rows.into_iter().map(|row| (row.place.clone(), row)));
    let changes = engine::sweep(&old_rows, now.saturating_sub(millis(slice.older_than)));
    let swept = changes.leases.len().try_into().unwrap_or(u64::MAX);
    let locked = old_rows.leases.into_keys().collect();
    rows::write(db, &Writes::of(changes, &locked)).await?;
    Ok(SweptRows { swept, upto })
}

/// Locks the rows of a slice, in the order of their places, whose expiry is this long ago, and which no other session has locked.
async fn old(
    db: &mut Connection,
    slice: &Slice<'_>,
    after: &Place,
    upto: Option<&Place>,
) -> Result<Read, DatabaseError> {
    let (age, now, most) = (millis(slice.older_than).into(), db.now(), i64::from(slice.most).into());
    let ([kind, id, slot], of) = (write::place(after), Bind::key(slice.kind));
    let statement = match upto.map(write::place) {
        Some([to, to_id, to_slot]) => OLD.with([now, age, of, kind, id, slot, most, to, to_id, to_slot]),
        None => OLD_OF_LAST_SLICE.with([now, age, of, kind, id, slot, most]),
    };
    fetch(db, statement, RowLock::SkipLocked).await
}

/// The last place of the slice that begins after this one; `None`: it is the last slice.
async fn end_of_slice(db: &mut Connection, slice: &Slice<'_>, after: &Place) -> Result<Option<Place>, DatabaseError> {
    let ([kind, id, slot], skip) = (write::place(after), i64::from(slice.most) - 1);
    let rows = db.read(END_OF_SLICE.with([kind, id, slot, Bind::key(slice.kind), skip.into()]), RowLock::None).await?;
    rows.first().map(|row| row.get(place)).transpose()
}

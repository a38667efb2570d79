//! Counts of held leases.

use crate::clock::until;
use crate::db::columns::there;
use crate::db::{Connection, Row, RowLock, Text};
use crate::error::DatabaseError;
use crate::lease::HeldByType;

static HELD: Text = Text::new(
    "select count(*) as held from tenure_lock where {same owner_id $2} and not ended and expires_at > {now $1}",
);

/// The number of leases that an owner holds.
pub(crate) async fn held(db: &mut Connection, owner: &str) -> Result<u64, DatabaseError> {
    let rows = db.read(HELD.with([db.now(), owner.into()]), RowLock::None).await?;
    let count = rows.first().map(|row| row.integer_at(0)).transpose()?.flatten();
    Ok(count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0))
}

static HELD_BY_TYPE: Text = Text::new(
    "select {key tenure_lock.kind} as called, count(*) as held, min(since) as since, {now $1} as clock
       from tenure_lock where not ended and expires_at > {now $1} group by tenure_lock.kind order by tenure_lock.kind",
);

/// The number of held leases, by type.
pub(crate) async fn held_by_type(db: &mut Connection) -> Result<Vec<HeldByType>, DatabaseError> {
    let rows = db.read(HELD_BY_TYPE.with([db.now()]), RowLock::None).await?;
    let read = |row: &Row| {
        let number = |column| there(row.number(column), column);
        Ok(HeldByType {
            kind: there(row.text("called"), "called")?,
            count: number("held")?.try_into().unwrap_or(0),
            oldest: until(number("clock")?, number("since")?),
        })
    };
    rows.iter().map(|row| row.get(read)).collect()
}

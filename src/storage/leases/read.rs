//! Reads the rows of the tables of leases.

use sqlx::{Error, Row};

use crate::lease::engine::{How, LeaseRow, Past, Place, RequestRow};
use crate::lease::{LockKey, Owner, ShowOwner};

/// The values of a row, by their columns; `None` is null.
pub(in crate::storage) trait Columns {
    fn text(&self, column: &str) -> Result<Option<String>, Error>;
    fn number(&self, column: &str) -> Result<Option<i64>, Error>;
    fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, Error>;
    fn flag(&self, column: &str) -> Result<Option<bool>, Error>;
}

macro_rules! columns {
    ($row:ty) => {
        impl Columns for $row {
            fn text(&self, column: &str) -> Result<Option<String>, Error> {
                self.try_get(column)
            }

            fn number(&self, column: &str) -> Result<Option<i64>, Error> {
                self.try_get(column)
            }

            fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, Error> {
                self.try_get(column)
            }

            fn flag(&self, column: &str) -> Result<Option<bool>, Error> {
                self.try_get(column)
            }
        }
    };
}

#[cfg(feature = "mysql")]
columns!(sqlx::mysql::MySqlRow);
#[cfg(feature = "postgres")]
columns!(sqlx::postgres::PgRow);
#[cfg(feature = "sqlite")]
columns!(sqlx::sqlite::SqliteRow);

/// A value of a column that is never null.
fn there<T>(value: Result<Option<T>, Error>, column: &str) -> Result<T, Error> {
    value?.ok_or_else(|| Error::Decode(format!("the column `{column}` is null").into()))
}

/// A row of the lock table.
pub(in crate::storage) fn lease(row: &impl Columns) -> Result<LeaseRow, Error> {
    let text = |column| there(row.text(column), column);
    let number = |column| there(row.number(column), column);
    let bytes = |column| there(row.bytes(column), column);
    let flag = |column| there(row.flag(column), column);
    Ok(LeaseRow {
        place: Place { key: LockKey::new(text("kind")?, text("id")?), slot: bytes("slot")? },
        generation: number("generation")?,
        lock: bytes("lock_hash")?,
        owner: Owner { role: row.text("owner_role")?, ..Owner::new(text("owner_id")?, text("owner_name")?) },
        shown: ShowOwner::from_stored(number("shown_as")?),
        shared: flag("shared")?,
        since: number("since")?,
        last_active: number("last_active")?,
        active_at: number("active_at")?,
        expires_at: number("expires_at")?,
        ttl: number("ttl")?,
        idle_limit: row.number("idle_limit")?,
        hard_until: number("hard_until")?,
        ended: flag("ended")?,
    })
}

/// An entry of the history; its columns begin with `past_`.
pub(in crate::storage) fn past(row: &impl Columns) -> Result<Past, Error> {
    let text = |column| there(row.text(column), column);
    let number = |column| there(row.number(column), column);
    let flag = |column| there(row.flag(column), column);
    let by = row.text("past_by_id")?.zip(row.text("past_by_name")?);
    let by = by.map(|(id, name)| Owner::new(id, name));
    let (owner_role, by_role) = (row.text("past_owner_role")?, row.text("past_by_role")?);
    Ok(Past {
        lock: there(row.bytes("past_lock_hash"), "past_lock_hash")?,
        key: LockKey::new(text("past_kind")?, text("past_id")?),
        generation: number("past_generation")?,
        owner: Owner { role: owner_role, ..Owner::new(text("past_owner_id")?, text("past_owner_name")?) },
        shown: ShowOwner::from_stored(number("past_shown_as")?),
        since: number("past_since")?,
        ended_at: number("past_ended_at")?,
        how: How::of(&text("past_how")?),
        by: by.map(|by| Owner { role: by_role, ..by }),
        reason: row.text("past_reason")?,
        idle: flag("past_idle")?,
        limited: flag("past_limited")?,
    })
}

/// A transfer request.
pub(in crate::storage) fn request(row: &impl Columns) -> Result<RequestRow, Error> {
    let text = |column| there(row.text(column), column);
    let number = |column| there(row.number(column), column);
    Ok(RequestRow {
        key: LockKey::new(text("kind")?, text("id")?),
        asker: Owner { role: row.text("asker_role")?, ..Owner::new(text("asker_id")?, text("asker_name")?) },
        handle: text("handle")?,
        generation: number("generation")?,
        note: text("note")?,
        since: number("since")?,
        expires_at: number("expires_at")?,
        later_until: row.number("later_until")?,
        declined: row.text("declined")?,
    })
}

/// What is stored of a lock id.
#[derive(Debug)]
pub(in crate::storage) struct Trace {
    /// The type of the key that was asked for.
    pub kind: String,
    pub lease: Option<LeaseRow>,
    pub past: Option<Past>,
    /// The highest generation of the swept rows of that type.
    pub floor: Option<i64>,
}

impl Trace {
    /// From one row with the columns of [`lease`] and [`past`], `asked_kind` and `floor`.
    pub(in crate::storage) fn of(row: &impl Columns) -> Result<Self, Error> {
        let has_lease = row.bytes("lock_hash")?.is_some();
        let has_past = row.bytes("past_lock_hash")?.is_some();
        Ok(Trace {
            kind: there(row.text("asked_kind"), "asked_kind")?,
            lease: has_lease.then(|| lease(row)).transpose()?,
            past: has_past.then(|| past(row)).transpose()?,
            floor: row.number("floor")?,
        })
    }
}

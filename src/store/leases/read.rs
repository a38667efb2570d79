//! Reads the rows of the tables of leases.

use sqlx::Error;

use crate::db::columns::{Columns, person, there};
use crate::lease::engine::{How, LeaseRow, Past, Place};
use crate::lease::{LockKey, ShowOwner};

/// The primary key of a row of the lock table.
pub(crate) fn place(row: &impl Columns) -> Result<Place, Error> {
    let text = |column| there(row.text(column), column);
    Ok(Place { key: LockKey::new(text("kind")?, text("id")?), slot: there(row.bytes("slot"), "slot")? })
}

/// A row of the lock table.
pub(crate) fn lease(row: &impl Columns) -> Result<LeaseRow, Error> {
    let number = |column| there(row.number(column), column);
    let flag = |column| there(row.flag(column), column);
    Ok(LeaseRow {
        place: place(row)?,
        generation: number("generation")?,
        lock: there(row.bytes("lock_hash"), "lock_hash")?,
        owner: there(person(row, "owner"), "owner_id")?,
        shown: ShowOwner::from_stored(number("shown_as")?),
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

/// An entry of the history; its columns begin with this prefix.
pub(crate) fn past(row: &impl Columns, prefix: &str) -> Result<Past, Error> {
    let name = |column| format!("{prefix}{column}");
    let text = |column| there(row.text(&name(column)), column);
    let number = |column| there(row.number(&name(column)), column);
    let flag = |column| there(row.flag(&name(column)), column);
    Ok(Past {
        lock: there(row.bytes(&name("lock_hash")), "lock_hash")?,
        key: LockKey::new(text("kind")?, text("id")?),
        generation: number("generation")?,
        owner: there(person(row, &name("owner")), "owner_id")?,
        shown: ShowOwner::from_stored(number("shown_as")?),
        since: number("since")?,
        ended_at: number("ended_at")?,
        how: How::of(&text("how")?),
        by: person(row, &name("by"))?,
        reason: row.text(&name("reason"))?,
        idle: flag("idle")?,
        limited: flag("limited")?,
    })
}

/// What is stored of a lock id.
#[derive(Debug)]
pub(crate) struct Trace {
    pub lease: Option<LeaseRow>,
    pub past: Option<Past>,
    /// The highest generation of the swept rows of a type.
    pub floor: Option<i64>,
}

impl Trace {
    /// From one row with the columns of [`lease`] and [`past`], and `floor`.
    pub(crate) fn of(row: &impl Columns) -> Result<Self, Error> {
        let has_lease = row.bytes("lock_hash")?.is_some();
        let has_past = row.bytes("past_lock_hash")?.is_some();
        Ok(Trace {
            lease: has_lease.then(|| lease(row)).transpose()?,
            past: has_past.then(|| past(row, "past_")).transpose()?,
            floor: row.number("floor")?,
        })
    }
}

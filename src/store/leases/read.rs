//! Reads the rows of the tables of leases.

use std::borrow::Cow;

use sqlx::Error;

use crate::db::Row;
use crate::db::columns::{person, there};
use crate::lease::engine::{How, LeaseRow, Past, Place};
use crate::lease::{LockKey, ShowOwner};

/// The primary key of a row of the lock table.
pub(crate) fn place(row: &Row) -> Result<Place, Error> {
    let text = |column| there(row.text(column), column);
    Ok(Place { key: LockKey::new(text("kind")?, text("id")?), slot: there(row.bytes("slot"), "slot")? })
}

/// A row of the lock table; its columns begin with this prefix.
pub(crate) fn lease(row: &Row, prefix: &'static str) -> Result<LeaseRow, Error> {
    let name = |column| named(prefix, column);
    let text = |column| there(row.text(&name(column)), column);
    let bytes = |column| there(row.bytes(&name(column)), column);
    let number = |column| there(row.number(&name(column)), column);
    let flag = |column| there(row.flag(&name(column)), column);
    Ok(LeaseRow {
        place: Place { key: LockKey::new(text("kind")?, text("id")?), slot: bytes("slot")? },
        generation: number("generation")?,
        lock: bytes("lock_hash")?,
        owner: there(person(row, &name("owner")), "owner_id")?,
        shown: ShowOwner::from_stored(number("shown_as")?),
        since: number("since")?,
        last_active: number("last_active")?,
        active_at: number("active_at")?,
        expires_at: number("expires_at")?,
        ttl: number("ttl")?,
        idle_limit: row.number(&name("idle_limit"))?,
        hard_until: number("hard_until")?,
        ended: flag("ended")?,
        unclaimed: number("unclaimed")?,
    })
}

/// An entry of the history; its columns begin with this prefix.
pub(crate) fn past(row: &Row, prefix: &'static str) -> Result<Past, Error> {
    let name = |column| named(prefix, column);
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

/// The name of a column with this prefix.
fn named(prefix: &'static str, column: &'static str) -> Cow<'static, str> {
    match prefix {
        "" => Cow::Borrowed(column),
        _ => Cow::Owned(format!("{prefix}{column}")),
    }
}

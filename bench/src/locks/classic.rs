//! The classic algorithm of textbooks: one row per lock, deleted when the lock ends. Each verb is a transaction of its own, and time is the
//! caller's.

pub(super) mod mysql;
pub(super) mod postgres;
pub(super) mod sqlite;

use crate::Outcome;

/// Whether the existing row has expired, before one is inserted.
fn expired(found: Option<i64>, now: i64) -> Outcome<bool> {
    match found {
        Some(expiry) if expiry > now => Err("the lock is held".into()),
        found => Ok(found.is_some()),
    }
}

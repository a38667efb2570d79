//! Rows of the lock table in the JSON text that a batch returns.

use serde::Deserialize;

use crate::lease::engine::{LeaseRow, Place};
use crate::lease::policy::ShowOwner;
use crate::lease::{LockKey, Owner};

/// A row of the lock table, in the order of its columns.
#[derive(Deserialize)]
pub(super) struct Columns {
    kind: String,
    id: String,
    generation: i64,
    lock_hash: String,
    owner_id: String,
    owner_name: String,
    owner_role: Option<String>,
    shown_as: i64,
    since: i64,
    last_active: i64,
    active_at: i64,
    expires_at: i64,
    ttl: i64,
    idle_limit: Option<i64>,
    hard_until: i64,
    ended: i64,
}

impl Columns {
    /// The row; the hash of the lock id is a text in JSON.
    pub(super) fn into_row(self) -> LeaseRow {
        let digits = self.lock_hash.as_bytes().chunks(2);
        let byte = |digits: &[u8]| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok();
        // An invalid hash matches no lock id.
        let lock = digits.map(byte).collect::<Option<_>>().unwrap_or_default();
        LeaseRow {
            place: Place::exclusive(&LockKey::new(self.kind, self.id)),
            generation: self.generation,
            lock,
            owner: Owner { role: self.owner_role, ..Owner::new(self.owner_id, self.owner_name) },
            shown: ShowOwner::from_stored(self.shown_as),
            since: self.since,
            last_active: self.last_active,
            active_at: self.active_at,
            expires_at: self.expires_at,
            ttl: self.ttl,
            idle_limit: self.idle_limit,
            hard_until: self.hard_until,
            ended: self.ended != 0,
        }
    }
}

//! The rows that an operation writes, as JSON: so one statement with a constant text writes any number of them.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::lease::engine::{Changes, LeaseRow, Past, Place};

/// The rows to write. A locked row is updated or deleted; any other row is inserted, which another session may have done first.
#[derive(Debug, Default)]
pub(super) struct Writes {
    deleted: Vec<Place>,
    updated: Vec<LeaseRow>,
    inserted: Vec<LeaseRow>,
    /// An entry for a lock id that already has one is not written.
    past: Vec<Past>,
    floors: Vec<(String, i64)>,
}

impl Writes {
    /// Changes, when these rows are locked.
    pub(super) fn of(changes: Changes, locked: &BTreeSet<Place>) -> Self {
        let floors = changes.floors.into_iter().collect();
        let mut writes = Writes { past: changes.past, floors, ..Writes::default() };
        for (place, row) in changes.leases {
            match (locked.contains(&place), row) {
                (true, None) => writes.deleted.push(place),
                (true, Some(row)) => writes.updated.push(row),
                (false, Some(row)) => writes.inserted.push(row),
                (false, None) => {}
            }
        }
        writes
    }

    /// Floors to raise, by type.
    pub(super) fn floors(&self) -> Option<(String, i64)> {
        json::<_, FloorJson<'_>>(&self.floors)
    }

    /// Rows of the lock table to delete, as JSON, and their number; `None` if there are none.
    pub(super) fn deleted(&self) -> Option<(String, i64)> {
        json::<_, PlaceJson<'_>>(&self.deleted)
    }

    /// Rows of the lock table to update.
    pub(super) fn updated(&self) -> Option<(String, i64)> {
        json::<_, LeaseJson<'_>>(&self.updated)
    }

    /// Rows of the lock table to insert, in the order of their keys.
    pub(super) fn inserted(&self) -> Option<(String, i64)> {
        json::<_, LeaseJson<'_>>(&self.inserted)
    }

    /// Entries to append to the history.
    pub(super) fn past(&self) -> Option<(String, i64)> {
        json::<_, PastJson<'_>>(&self.past)
    }
}

/// Rows with the names of their columns: binary values in hexadecimal, flags as 0 and 1, and no nulls.
#[derive(Serialize)]
struct LeaseJson<'r> {
    kind: &'r str,
    id: &'r str,
    slot: String,
    generation: i64,
    lock_hash: String,
    owner_id: &'r str,
    owner_name: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner_role: Option<&'r str>,
    shown_as: i64,
    since: i64,
    last_active: i64,
    active_at: i64,
    expires_at: i64,
    ttl: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_limit: Option<i64>,
    hard_until: i64,
    ended: u8,
}

impl<'r> From<&'r LeaseRow> for LeaseJson<'r> {
    fn from(row: &'r LeaseRow) -> Self {
        LeaseJson {
            kind: row.place.key.kind(),
            id: row.place.key.id(),
            slot: hex(&row.place.slot),
            generation: row.generation,
            lock_hash: hex(&row.lock),
            owner_id: &row.owner.id,
            owner_name: &row.owner.name,
            owner_role: row.owner.role.as_deref(),
            shown_as: row.shown.stored(),
            since: row.since,
            last_active: row.last_active,
            active_at: row.active_at,
            expires_at: row.expires_at,
            ttl: row.ttl,
            idle_limit: row.idle_limit,
            hard_until: row.hard_until,
            ended: row.ended.into(),
        }
    }
}

/// As [`LeaseJson`], an entry of the history.
#[derive(Serialize)]
struct PastJson<'r> {
    lock_hash: String,
    kind: &'r str,
    id: &'r str,
    generation: i64,
    owner_id: &'r str,
    owner_name: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner_role: Option<&'r str>,
    shown_as: i64,
    since: i64,
    ended_at: i64,
    how: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_id: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_name: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_role: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'r str>,
    idle: u8,
    limited: u8,
}

impl<'r> From<&'r Past> for PastJson<'r> {
    fn from(past: &'r Past) -> Self {
        let by = past.by.as_ref();
        PastJson {
            lock_hash: hex(&past.lock),
            kind: past.key.kind(),
            id: past.key.id(),
            generation: past.generation,
            owner_id: &past.owner.id,
            owner_name: &past.owner.name,
            owner_role: past.owner.role.as_deref(),
            shown_as: past.shown.stored(),
            since: past.since,
            ended_at: past.ended_at,
            how: past.how.text(),
            by_id: by.map(|by| &*by.id),
            by_name: by.map(|by| &*by.name),
            by_role: by.and_then(|by| by.role.as_deref()),
            reason: past.reason.as_deref(),
            idle: past.idle.into(),
            limited: past.limited.into(),
        }
    }
}

/// As [`LeaseJson`], the key of a row.
#[derive(Serialize)]
pub(super) struct PlaceJson<'r> {
    kind: &'r str,
    id: &'r str,
    slot: String,
}

impl<'r> From<&&'r Place> for PlaceJson<'r> {
    fn from(place: &&'r Place) -> Self {
        PlaceJson::from(*place)
    }
}

impl<'r> From<&'r Place> for PlaceJson<'r> {
    fn from(place: &'r Place) -> Self {
        PlaceJson { kind: place.key.kind(), id: place.key.id(), slot: hex(&place.slot) }
    }
}

/// As [`LeaseJson`], a floor of generations.
#[derive(Serialize)]
struct FloorJson<'r> {
    kind: &'r str,
    generation: i64,
}

impl<'r> From<&'r (String, i64)> for FloorJson<'r> {
    fn from((kind, generation): &'r (String, i64)) -> Self {
        FloorJson { kind, generation: *generation }
    }
}

/// Rows as a JSON text, and their number; `None` if there are none.
pub(super) fn json<'r, R, J: From<&'r R> + Serialize>(rows: &'r [R]) -> Option<(String, i64)> {
    let count = i64::try_from(rows.len()).ok().filter(|count| *count > 0)?;
    serde_json::to_string(&rows.iter().map(J::from).collect::<Vec<J>>()).ok().map(|text| (text, count))
}

/// As hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |at: u8| char::from(DIGITS[usize::from(at)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

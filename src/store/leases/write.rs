//! The rows that an operation writes, and the values of their columns.

use std::collections::BTreeSet;

use crate::aggregate::value::Value;
use crate::db::Bind;
use crate::lease::engine::{Changes, LeaseRow, Past, Place};

/// The rows to write. A locked row is updated or deleted; any other row is inserted, which another session may have done first.
#[derive(Debug, Default)]
pub(super) struct Writes {
    pub deleted: Vec<Place>,
    pub updated: Vec<LeaseRow>,
    /// In the order of their keys.
    pub inserted: Vec<LeaseRow>,
    /// Entries to append to the history.
    pub past: Vec<Past>,
    /// Floors to raise, by type.
    pub floors: Vec<(String, i64)>,
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
}

/// The values of a row, in the order of the columns of the lock table.
pub(super) fn lease(row: &LeaseRow) -> Vec<Bind<'_>> {
    let [kind, id, slot] = place(&row.place);
    vec![
        kind,
        id,
        slot,
        row.generation.into(),
        row.lock[..].into(),
        row.owner.id.as_str().into(),
        row.owner.name.as_str().into(),
        row.owner.role.as_deref().into(),
        row.shown.stored().into(),
        row.since.into(),
        row.last_active.into(),
        row.active_at.into(),
        row.expires_at.into(),
        row.ttl.into(),
        row.idle_limit.into(),
        row.hard_until.into(),
        Value::Bool(row.ended).into(),
        row.unclaimed.into(),
    ]
}

/// The values of an entry, in the order of the columns of the history.
pub(super) fn past(past: &Past) -> Vec<Bind<'_>> {
    let by = past.by.as_ref();
    vec![
        past.lock[..].into(),
        Bind::Key(past.key.kind()),
        Bind::Key(past.key.id()),
        past.generation.into(),
        past.owner.id.as_str().into(),
        past.owner.name.as_str().into(),
        past.owner.role.as_deref().into(),
        past.shown.stored().into(),
        past.since.into(),
        past.ended_at.into(),
        past.how.text().into(),
        by.map(|by| &*by.id).into(),
        by.map(|by| &*by.name).into(),
        by.and_then(|by| by.role.as_deref()).into(),
        past.reason.as_deref().into(),
        Value::Bool(past.idle).into(),
        Value::Bool(past.limited).into(),
    ]
}

/// The values of the primary key of a row.
pub(super) fn place(place: &Place) -> [Bind<'_>; 3] {
    [Bind::Key(place.key.kind()), Bind::Key(place.key.id()), Bind::Bytes(&place.slot)]
}

/// The values of a floor of generations.
pub(super) fn floor((kind, generation): &(String, i64)) -> Vec<Bind<'_>> {
    vec![Bind::Key(kind), (*generation).into()]
}

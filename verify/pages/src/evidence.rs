//! All that the checks look at: the history of the people, and the revisions of the orders.

use std::collections::{BTreeMap, BTreeSet};

use tenure::Database;
use tenure::sqlx;

use super::Result;
use super::history::Event;
use super::marker::{Field, Marker};

/// What is known of a round.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    pub(super) events: Vec<Event>,
    /// By order, the oldest first.
    pub(super) revisions: BTreeMap<String, Vec<Revision>>,
    pub(super) faults: Vec<Injected>,
}

/// A saved version of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Revision {
    pub(super) version: i64,
    pub(super) by: String,
    pub(super) markers: BTreeSet<Marker>,
}

/// One fault of the network or the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Injected {
    pub(super) kind: &'static str,
    /// Whether it reached what it was meant for: a cut at a save does not if nobody saves.
    pub(super) hit: bool,
}

impl Revision {
    /// The text in this field, if it is a typed one.
    pub(super) fn text_of(&self, field: Field) -> Option<&Marker> {
        self.markers.iter().find(|marker| marker.field == field)
    }
}

/// The note of an order, as its name in the history.
pub(super) fn note_of(order: &str) -> String {
    format!("{order} note")
}

impl Evidence {
    /// The texts in the history of an order.
    pub(super) fn saved_in(&self, order: &str) -> BTreeSet<&Marker> {
        self.revisions.get(order).into_iter().flatten().flat_map(|revision| &revision.markers).collect()
    }

    /// The texts in the history of an order, and of its note.
    pub(super) fn saved_in_all_of(&self, order: &str) -> BTreeSet<&Marker> {
        [order, &note_of(order)].iter().flat_map(|about| self.saved_in(about)).collect()
    }

    /// The texts in the history of any order.
    pub(super) fn saved(&self) -> BTreeSet<&Marker> {
        self.revisions.values().flatten().flat_map(|revision| &revision.markers).collect()
    }

    /// Reads the revisions of these orders, and of their notes.
    pub(super) async fn read_revisions(&mut self, db: &Database, orders: &[String]) -> Result<()> {
        for (order, kind) in orders.iter().flat_map(|order| [(order, "Order"), (order, "Note")]) {
            let select = "select version, coalesce(by_id, ''), state from tenure_revision
                          where kind = ? and id = ? order by version";
            let rows: Vec<(i64, String, String)> =
                sqlx::query_as(select).bind(kind).bind(order).fetch_all(db.sqlite()?).await?;
            let revision =
                |(version, by, state): (i64, String, String)| Revision { version, by, markers: Marker::all_in(&state) };
            let name = if kind == "Note" { note_of(order) } else { order.clone() };
            if !rows.is_empty() {
                self.revisions.insert(name, rows.into_iter().map(revision).collect());
            }
        }
        Ok(())
    }
}

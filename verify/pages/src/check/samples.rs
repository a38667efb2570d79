//! Short histories for the tests of the checks.

use std::collections::BTreeSet;
use std::time::Duration;

use super::super::evidence::{Evidence, Revision};
use super::super::gesture::Gesture;
use super::super::history::{Answer, Event, Place, What};
use super::super::marker::{Field, Marker};

pub(super) const ORDER: &str = "17";

/// A message of this person.
pub(super) fn message(author: &str, number: u32) -> Marker {
    Marker { field: Field::Message, author: author.into(), number }
}

/// A street of this person.
pub(super) fn street(author: &str, number: u32) -> Marker {
    Marker { field: Field::Street, author: author.into(), number }
}

/// A history in which each event happens ten seconds after the one before it.
#[derive(Default)]
pub(super) struct Story {
    evidence: Evidence,
}

impl Story {
    fn then(mut self, person: &str, what: What) -> Story {
        let at = Duration::from_secs(10 * self.evidence.events.len() as u64);
        self.evidence.events.push(Event { at, person: person.into(), browser: 0, what });
        self
    }

    pub(super) fn typed(self, marker: &Marker, version: i64) -> Story {
        self.typed_into(marker, version, true)
    }

    /// Into a form whose script could not be loaded.
    pub(super) fn typed_without_script(self, marker: &Marker, version: i64) -> Story {
        self.typed_into(marker, version, false)
    }

    fn typed_into(self, marker: &Marker, version: i64, has_script: bool) -> Story {
        let (order, form) = (ORDER.into(), "shipping".into());
        let what = What::Typed { marker: marker.clone(), order, form, version, has_script };
        self.then(&marker.author.clone(), what)
    }

    pub(super) fn sent(self, person: &str, markers: &[&Marker], version: i64) -> Story {
        self.then(person, What::Sent { markers: set(markers), order: ORDER.into(), version: Some(version) })
    }

    pub(super) fn told(self, person: &str, answer: Answer, markers: &[&Marker]) -> Story {
        self.then(person, What::Told { answer, markers: set(markers), order: ORDER.into() })
    }

    pub(super) fn shown(self, person: &str, markers: &[&Marker], conflict_at: Option<i64>) -> Story {
        self.then(person, What::Shown { markers: set(markers), conflict_at, address: "/orders/17/kept/1".into() })
    }

    pub(super) fn withdrawn(self, marker: &Marker) -> Story {
        self.then(&marker.author.clone(), What::Withdrawn { markers: set(&[marker]) })
    }

    pub(super) fn taken_back(self, marker: &Marker) -> Story {
        self.then(&marker.author.clone(), What::TakenBack { markers: set(&[marker]) })
    }

    pub(super) fn gave_up(self, marker: &Marker) -> Story {
        let (address, state) = ("/orders/17/kept/1".into(), "OE-9 lost".into());
        self.then(&marker.author.clone(), What::GaveUp { markers: set(&[marker]), address, state })
    }

    pub(super) fn does(self, person: &str, gesture: Gesture) -> Story {
        self.then(person, What::Does(gesture))
    }

    pub(super) fn called_unsaved(self, markers: &[&Marker], is_refused: bool) -> Story {
        self.then("park", What::CalledUnsaved { markers: set(markers), order: ORDER.into(), is_refused })
    }

    pub(super) fn offered(self, marker: &Marker) -> Story {
        self.then(&marker.author.clone(), What::Offered { markers: set(&[marker]), place: Place::Draft })
    }

    /// The browser or a tab ends, so many milliseconds after the last event.
    pub(super) fn ends(mut self, what: What, after_ms: u64) -> Story {
        let at = self.evidence.events.last().map_or(Duration::ZERO, |event| event.at) + Duration::from_millis(after_ms);
        self.evidence.events.push(Event { at, person: "park".into(), browser: 0, what });
        self
    }

    /// The next version, with these texts.
    pub(super) fn saves(mut self, by: &str, markers: &[&Marker]) -> Story {
        let revisions = self.evidence.revisions.entry(ORDER.into()).or_default();
        let version = revisions.len() as i64 + 1;
        revisions.push(Revision { version, by: by.into(), markers: set(markers) });
        self
    }

    pub(super) fn evidence(self) -> Evidence {
        self.evidence
    }
}

fn set(markers: &[&Marker]) -> BTreeSet<Marker> {
    markers.iter().map(|marker| (*marker).clone()).collect()
}

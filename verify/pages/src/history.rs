//! What people did, and what the pages told them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::gesture::Gesture;
use super::marker::Marker;

/// Something that happened to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Since the start of the round.
    pub(super) at: Duration,
    pub(super) person: String,
    /// The browser: two people may use one after the other.
    pub(super) browser: usize,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// A gesture begins.
    Does(Gesture),
    /// The text is in the field, on the form of this order at this version. A form whose script could not be loaded is a plain one.
    Typed { marker: Marker, order: String, form: String, version: i64, has_script: bool },
    /// A form with these texts is sent. The version is the one in the form; none on a page that refers to kept text.
    Sent { markers: BTreeSet<Marker>, order: String, version: Option<i64> },
    /// What the page said of the form that was sent last.
    Told { answer: Answer, markers: BTreeSet<Marker>, order: String },
    /// A page shows these texts. On a page about a conflict, the version is the one that it compares with.
    Shown { markers: BTreeSet<Marker>, conflict_at: Option<i64>, address: String },
    /// The drafts in the browser have changed: for a reader of the history, no check uses it.
    Drafts(Vec<String>),
    /// The person gives these texts up: by typing over them, by leaving without saving, by signing out.
    Withdrawn { markers: BTreeSet<Marker> },
    /// The person types over these texts, in the form in which they were.
    TakenBack { markers: BTreeSet<Marker> },
    /// All processes of the browser were killed.
    Killed,
    /// A tab of the browser has crashed.
    Crashed,
    /// Afterwards, the person tried to save the text of the page that was open: this was not saved.
    GaveUp { markers: BTreeSet<Marker>, address: String, state: String },
    /// Afterwards, the person looks for texts on this page: for a reader of the history, no check uses it.
    Looked { address: String, state: String, has_draft: bool },
    /// Afterwards, these texts are still in an open tab, offered by a form, or on the page of a kept form.
    Offered { markers: BTreeSet<Marker>, place: Place },
    /// Afterwards, the page of an order calls these texts unsaved; or refers to refused text, which is these.
    CalledUnsaved { markers: BTreeSet<Marker>, order: String, is_refused: bool },
}

/// The answer to a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Answer {
    Saved,
    AlreadySaved,
    /// Nothing was different.
    Unchanged,
    Conflict,
    Locked,
    LeaseLost,
    /// The page says that the text is kept, or can be saved now.
    Kept,
    /// Any other refusal.
    Refused,
    /// The page says nothing yet.
    None,
}

/// Where a text was found afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Tab,
    Draft,
    KeptPage,
}

/// Collects the events of all people. Clones collect into the same history.
#[derive(Debug, Clone)]
pub(super) struct Recorder {
    began: Instant,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Recorder {
    pub(super) fn new() -> Self {
        Recorder { began: Instant::now(), events: Arc::default() }
    }

    pub(super) fn add(&self, person: &str, browser: usize, what: What) {
        let mut events = self.locked();
        events.push(Event { at: self.began.elapsed(), person: person.to_owned(), browser, what });
    }

    /// The texts that were typed in this browser so far.
    pub(super) fn typed_in(&self, browser: usize) -> BTreeSet<Marker> {
        self.typed(|event, _| event.browser == browser)
    }

    /// The texts of this person so far, in any browser.
    pub(super) fn typed_by(&self, person: &str) -> BTreeSet<Marker> {
        self.typed(|_, marker| marker.author == person)
    }

    fn typed(&self, is_meant: impl Fn(&Event, &Marker) -> bool) -> BTreeSet<Marker> {
        let events = self.locked();
        let typed = events.iter().filter_map(|event| match &event.what {
            What::Typed { marker, .. } if is_meant(event, marker) => Some(marker.clone()),
            _ => None,
        });
        typed.collect()
    }

    /// The texts that were sent last from this browser.
    pub(super) fn sent_last(&self, browser: usize) -> BTreeSet<Marker> {
        let events = self.locked();
        let mut sent =
            events.iter().rev().filter(|event| event.browser == browser).filter_map(|event| match &event.what {
                What::Sent { markers, .. } => Some(markers.clone()),
                _ => None,
            });
        sent.next().unwrap_or_default()
    }

    pub(super) fn events(&self) -> Vec<Event> {
        self.locked().clone()
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Event>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

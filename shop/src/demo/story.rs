//! The stories: who is there, and their steps with and without tenure. The texts are in `texts/demo.rs`, in the same order.

/// Whose screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Whether the story runs with tenure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Without,
    With,
}

/// The lock that a story is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    Pessimistic,
    Optimistic,
    Offline,
}

/// What a person types into the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Address,
    Message,
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// A customer opens the form; an operator opens the order, and prints the label.
    Look(Side),
    /// Opens the form, and types the first letter.
    Begin(Side),
    Save(Side, Field),
    /// Of one's own changes together with those of others.
    SaveBoth(Side),
    Ship(Side),
    /// Both press their button in the same moment.
    Together,
    /// An operator who has seen nothing yet prints the label and ships.
    Pack,
    /// Time passes, and nothing comes from any page.
    Minutes(u32),
    /// Time passes, and the open page of this person sends its heartbeats.
    Beats(Side, u32),
    /// Goes away in the middle of it: to lunch, into a tunnel, by a crash. `texts/demo.rs` says how.
    Leave(Side),
}

/// A story.
#[derive(Debug)]
pub(crate) struct Story {
    pub(crate) key: &'static str,
    pub(crate) lock: Lock,
    /// The sign-in names of the two persons.
    pub(crate) cast: [&'static str; 2],
    without: &'static [Act],
    with: &'static [Act],
}

impl Story {
    pub(crate) fn steps(&self, way: Way) -> &'static [Act] {
        match way {
            Way::Without => self.without,
            Way::With => self.with,
        }
    }

    /// The story with this key, and its number.
    pub(crate) fn find(key: &str) -> Option<(usize, &'static Story)> {
        STORIES.iter().enumerate().find(|(_, story)| story.key == key)
    }
}

use Act::{Beats, Begin, Leave, Look, Minutes, Pack, Save, SaveBoth, Ship, Together};
use Field::{Address, Message};
use Side::{Left, Right};

/// The story of the front page.
pub(crate) const PARCEL: &str = "ships";

/// All stories, in the order of the chapter: pessimistic, optimistic, offline.
pub(crate) static STORIES: [Story; 8] = [
    Story {
        key: "last",
        lock: Lock::Pessimistic,
        cast: ["olivia", "park"],
        without: &[Look(Left), Look(Right), Together],
        with: &[Look(Left), Look(Right), Together],
    },
    Story {
        key: PARCEL,
        lock: Lock::Optimistic,
        cast: ["minji", "park"],
        without: &[Look(Right), Look(Left), Save(Left, Address), Ship(Right)],
        with: &[Look(Right), Look(Left), Save(Left, Address), Ship(Right), Look(Right), Ship(Right)],
    },
    Story {
        key: "both",
        lock: Lock::Optimistic,
        cast: ["minji", "park"],
        without: &[Look(Left), Look(Right), Together],
        with: &[Look(Left), Look(Right), Together, Look(Right), Ship(Right)],
    },
    Story {
        key: "tab",
        lock: Lock::Optimistic,
        cast: ["minji", "minji"],
        without: &[Look(Left), Look(Right), Save(Right, Address), Save(Left, Message), Pack],
        with: &[Look(Left), Look(Right), Save(Right, Address), Save(Left, Message), SaveBoth(Left), Pack],
    },
    Story {
        key: "lunch",
        lock: Lock::Offline,
        cast: ["minji", "park"],
        without: &[Begin(Left), Leave(Left), Look(Right), Ship(Right), Minutes(10), Save(Left, Address)],
        with: &[
            Begin(Left),
            Leave(Left),
            Look(Right),
            Ship(Right),
            Beats(Left, 10),
            Save(Left, Address),
            Look(Right),
            Ship(Right),
        ],
    },
    Story {
        key: "forward",
        lock: Lock::Offline,
        cast: ["minji", "park"],
        without: &[Begin(Left), Leave(Left), Look(Right), Ship(Right), Minutes(5), Save(Left, Address)],
        with: &[
            Begin(Left),
            Leave(Left),
            Look(Right),
            Ship(Right),
            Minutes(5),
            Look(Right),
            Save(Left, Address),
            Ship(Right),
            Look(Right),
            Ship(Right),
        ],
    },
    Story {
        key: "sleep",
        lock: Lock::Offline,
        cast: ["minji", "park"],
        without: &[Begin(Left), Leave(Left), Minutes(6), Begin(Right), Save(Left, Address), Save(Right, Message), Pack],
        with: &[
            Begin(Left),
            Leave(Left),
            Minutes(6),
            Begin(Right),
            Save(Left, Address),
            Save(Right, Message),
            SaveBoth(Left),
            Pack,
        ],
    },
    Story {
        key: "crash",
        lock: Lock::Offline,
        cast: ["minji", "park"],
        without: &[Begin(Left), Leave(Left), Look(Right), Ship(Right), Save(Left, Address)],
        with: &[Begin(Left), Leave(Left), Look(Right), Ship(Right), Save(Left, Address), Look(Right), Ship(Right)],
    },
];

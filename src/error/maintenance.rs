//! What may be refused to whoever looks after the lock table.

use std::time::Duration;

use crate::error::DatabaseError;
use crate::lease::Printable;

/// Why nothing, or not everything, was swept.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// What ended so recently may still be asked about, or resumed.
    #[error("what ended {} h ago may still be asked for; sweep what is older than {} h", hours(*asked), hours(*shortest))]
    TooYoung {
        /// The age that was asked for.
        asked: Duration,
        /// The least age: a day, or the longest absolute limit.
        shortest: Duration,
    },
    /// The database failed. What was swept until then stays so.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

fn hours(age: Duration) -> u64 {
    age.as_secs().div_ceil(3600)
}

/// Why a page of a list was not read.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// No page has so many entries.
    #[error("a page has 1 to {most} entries, and not {asked}")]
    PageSize {
        /// How many were asked for.
        asked: u32,
        /// How many there may be.
        most: u32,
    },
    /// Nothing in the list can have such a text in it.
    #[error("no list can be narrowed down to `{}`: {problem}", Printable(text))]
    InvalidFilter {
        /// The text, cut to a readable length.
        text: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The place is one in another list.
    #[error("this is a place in another list; begin with the first page")]
    ForeignCursor,
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

//! Errors of the maintenance of the lock table.

use std::time::Duration;

use crate::error::DatabaseError;
use crate::lease::Printable;

/// The reason that nothing, or not everything, was swept.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// Leases that ended so recently may still be checked, or resumed.
    #[error("leases that ended {} h ago may still be needed; sweep only leases older than {} h", hours(*asked), hours(*shortest))]
    TooYoung {
        /// The requested age.
        asked: Duration,
        /// The lowest allowed age: a day, or the longest absolute limit.
        shortest: Duration,
    },
    /// The database failed. Rows that were swept before stay deleted.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

fn hours(age: Duration) -> u64 {
    age.as_secs().div_ceil(3600)
}

/// The reason that a page of a list was not read.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The page size is out of range.
    #[error("a page has 1 to {most} entries, and not {asked}")]
    PageSize {
        /// The requested size.
        asked: u32,
        /// The largest allowed size.
        most: u32,
    },
    /// The filter text is invalid.
    #[error("invalid filter `{}`: {problem}", Printable(text))]
    InvalidFilter {
        /// The text, cut to a readable length.
        text: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The cursor belongs to another list.
    #[error("the cursor belongs to another list; begin with the first page")]
    ForeignCursor,
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

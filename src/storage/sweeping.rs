//! The slices of a sweep, and its progress.

use std::time::Duration;

use crate::lease::engine::Place;

/// One slice of a sweep: a bounded statement, so that other sessions wait only briefly.
#[derive(Debug)]
pub(crate) struct Slice<'s> {
    /// Entries that ended longer ago than this.
    pub older_than: Duration,
    /// Of one type, or of all.
    pub kind: Option<&'s str>,
    /// The maximum number of rows that are read, or deleted.
    pub most: u32,
}

/// The result of a sweep of one slice of the lock table.
#[derive(Debug)]
pub(crate) struct SweptRows {
    pub swept: u64,
    /// The last row of the slice; `None`: it was the last slice.
    pub upto: Option<Place>,
}

//! What is swept, a slice at a time, and how far it got.

use std::time::Duration;

/// One slice of what a sweep has to do: a bounded statement, so that nobody waits for it for long.
#[derive(Debug)]
pub(crate) struct Slice<'s> {
    /// What ended longer ago than this.
    pub older_than: Duration,
    /// Of one type, or of all.
    pub kind: Option<&'s str>,
    /// At most so many rows are looked at, or deleted.
    pub most: u32,
}

/// The place of a row of the lock table. The default comes before all.
#[derive(Debug, Default)]
pub(crate) struct RowPlace {
    pub kind: String,
    pub id: String,
    pub slot: Vec<u8>,
}

/// What a sweep did to one slice of the lock table.
#[derive(Debug)]
pub(crate) struct SweptRows {
    pub swept: u64,
    /// The last row of the slice; `None`: it was the last slice.
    pub upto: Option<RowPlace>,
}

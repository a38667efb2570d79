//! The slices of a sweep, and its progress.

use std::time::Duration;

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

/// The place of a row of the lock table. The default is before all rows.
#[derive(Debug, Default)]
pub(crate) struct RowPlace {
    pub kind: String,
    pub id: String,
    pub slot: Vec<u8>,
}

/// The result of a sweep of one slice of the lock table.
#[derive(Debug)]
pub(crate) struct SweptRows {
    pub swept: u64,
    /// The last row of the slice; `None`: it was the last slice.
    pub upto: Option<RowPlace>,
}

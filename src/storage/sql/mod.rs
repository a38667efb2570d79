//! What all databases share: columns of rows, and migrations. No I/O.

pub(crate) mod columns;
pub(in crate::storage) mod migration;

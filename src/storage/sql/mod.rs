//! The SQL that all databases share: texts of statements, columns of rows, and an aggregate from the rows of one statement. No I/O.

pub(in crate::storage) mod columns;
pub(in crate::storage) mod lineage;
pub(in crate::storage) mod migration;
pub(in crate::storage) mod revisions;
pub(in crate::storage) mod texts;
pub(in crate::storage) mod whole;

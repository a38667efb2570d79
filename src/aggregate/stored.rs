//! An aggregate as stored in a database.

use std::sync::Arc;

use crate::aggregate::mapping::Rows;
use crate::aggregate::version::Version;

/// An aggregate as stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stored {
    pub version: Version,
    pub rows: Arc<Rows>,
}

//! How much is held, by aggregate type.

use std::time::Duration;

/// What is held of one aggregate type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldByType {
    /// The aggregate's type.
    pub kind: String,
    /// How many leases are alive.
    pub count: u64,
    /// How long the longest-held of them has been held, by the database's clock.
    pub oldest: Duration,
}

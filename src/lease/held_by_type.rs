//! Number of held leases by aggregate type.

use std::time::Duration;

/// The held leases of one aggregate type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldByType {
    /// The aggregate's type.
    pub kind: String,
    /// Number of live leases.
    pub count: u64,
    /// Age of the longest-held lease, by the database's clock.
    pub oldest: Duration,
}

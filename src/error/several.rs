//! Errors of sets of leases.

use crate::error::DatabaseError;
use crate::lease::{Holder, Lease, NoLock};

/// The reason that a set of leases could not be confirmed, kept or released as a whole.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseSetError {
    /// Some of its leases have ended. The operation was done for the others.
    #[error("{}", ended.iter().map(NoLock::to_string).collect::<Vec<_>>().join("; "))]
    Ended {
        /// The ended leases with their reasons, in the order of the keys.
        ended: Vec<NoLock>,
        /// The others, in the order of the keys.
        others: Vec<Lease>,
    },
    /// The database failed; count down, and try again.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// `Order 17 is locked by Kim, Invoice 4 is locked by Lee`.
pub(super) fn blockers(held: &[Holder]) -> String {
    held.iter().map(|holder| format!("{} is locked by {}", holder.key, holder.owner)).collect::<Vec<_>>().join(", ")
}

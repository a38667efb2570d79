//! What may be refused when several locks are held together.

use crate::error::DatabaseError;
use crate::lease::{Holder, Lease, NoLock};

/// Why a set of leases could not be confirmed, kept or given back as a whole.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseSetError {
    /// Some of its leases have ended. With the others was done what was asked for.
    #[error("{}", ended.iter().map(NoLock::to_string).collect::<Vec<_>>().join("; "))]
    Ended {
        /// Which have ended, and why each has, in the order of the keys.
        ended: Vec<NoLock>,
        /// The others, in the order of the keys.
        others: Vec<Lease>,
    },
    /// The database failed; count down, and try again.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// `Order 17 is locked by Kim, Invoice 4 is kept for Lee`.
pub(super) fn in_the_way(held: &[Holder], reserved: &[Holder]) -> String {
    let held = held.iter().map(|holder| format!("{} is locked by {}", holder.key, holder.owner));
    let reserved = reserved.iter().map(|holder| format!("{} is kept for {}", holder.key, holder.owner));
    held.chain(reserved).collect::<Vec<_>>().join(", ")
}

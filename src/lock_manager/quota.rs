//! Quotas of one owner in the lock table.

use tokio::sync::OwnedMutexGuard;

use super::LockManager;
use crate::error::{DatabaseError, LockError, TakeOverError};
use crate::lease::engine::Operation;
use crate::lease::limits::{Limit, Limits};
use crate::lease::operations::{LockRequest, Proof};

/// The reason that a request is refused.
pub(super) enum QuotaError {
    Full { most: u64 },
    Database(DatabaseError),
}

impl From<DatabaseError> for QuotaError {
    fn from(error: DatabaseError) -> Self {
        QuotaError::Database(error)
    }
}

impl From<QuotaError> for LockError {
    fn from(error: QuotaError) -> Self {
        match error {
            QuotaError::Full { most } => LockError::LimitReached { limit: Limit::LocksPerOwner, most },
            QuotaError::Database(error) => LockError::Database(error),
        }
    }
}

impl From<QuotaError> for TakeOverError {
    fn from(error: QuotaError) -> Self {
        match error {
            QuotaError::Full { most } => TakeOverError::LimitReached { limit: Limit::LocksPerOwner, most },
            QuotaError::Database(error) => TakeOverError::Database(error),
        }
    }
}

impl LockManager {
    /// Sets the limits for one owner. The default is [`Limits::default`].
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The limits for one owner.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Admits a request if its owner may hold one more lock. Near the limit the returned guard must be kept until the lock is
    /// granted, so that two requests of one owner are not counted concurrently.
    pub(super) async fn admit(&self, request: &LockRequest) -> Result<Option<OwnedMutexGuard<()>>, QuotaError> {
        let (most, owner) = (self.limits.locks_per_owner, &request.owner.id);
        if self.grants.is_far_from(most, owner) {
            return Ok(None);
        }
        let turn = self.grants.turn(owner).await?;
        let held = self.backend.count_held(owner).await?;
        self.grants.counted(owner, held);
        if held < u64::from(most) {
            return Ok(Some(turn));
        }
        // A repeated request for a held lock adds nothing.
        let proof = Proof { lock: request.lock, owner: Some(owner.clone()) };
        match self.batch.ask(Operation::Check(proof)).await?.lease() {
            Ok(holder) if holder.key == request.key => Ok(Some(turn)),
            _ => Err(QuotaError::Full { most: most.into() }),
        }
    }
}

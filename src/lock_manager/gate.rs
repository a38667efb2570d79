//! The time after a failover in which nothing is granted.

use std::sync::Arc;
use std::time::Duration;

use super::LockManager;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::storage::{Backend, LockHash, Proof};

/// Whether grants were open when a request began.
pub(super) struct Gate {
    backend: Arc<dyn Backend>,
    was_open: bool,
}

impl LockManager {
    /// Refuses requests for new leases during a pause. A lock id that holds its lock gets it again.
    pub(super) async fn gate(&self, lock: &LockHash, key: &LockKey) -> Result<Gate, DatabaseError> {
        let pause = self.backend.pause_of_grants();
        if let Some(remaining) = pause {
            match self.backend.check_lock(&Proof { lock: *lock, owner: None }).await? {
                Ok(holder) if holder.key == *key => {}
                _ => return Err(paused(remaining)),
            }
        }
        Ok(Gate { backend: Arc::clone(&self.backend), was_open: pause.is_none() })
    }
}

impl Gate {
    /// Refuses a lease if the database failed over during its request: the grant may be the first one after it. The caller releases it.
    pub(super) fn still_open(&self) -> Result<(), DatabaseError> {
        match self.backend.pause_of_grants() {
            Some(remaining) if self.was_open => Err(paused(remaining)),
            _ => Ok(()),
        }
    }
}

fn paused(remaining: Duration) -> DatabaseError {
    DatabaseError::GrantsPaused { remaining }
}

//! The limit of a transaction that holds a lease: while it is open, others cannot acquire the key, also after the lease has expired.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::db::SessionEnd;
use crate::error::DatabaseError;

/// Watches a transaction from its first lease to its end.
#[derive(Debug)]
pub(super) struct GuardLimit {
    limit: Duration,
    until: Instant,
    /// Whether the transaction, or its session, was ended: the first one to set it decides.
    ended: Arc<AtomicBool>,
    watching: JoinHandle<()>,
}

impl GuardLimit {
    /// Ends the session at the limit, unless the transaction ends before. It ends a statement of the application too, which cannot be limited
    /// in another way on all databases.
    pub(super) fn start(limit: Duration, session_end: SessionEnd) -> Self {
        let (until, ended) = (Instant::now() + limit, Arc::new(AtomicBool::new(false)));
        let decided = Arc::clone(&ended);
        let watching = tokio::spawn(async move {
            tokio::time::sleep_until(until).await;
            if !decided.swap(true, Ordering::SeqCst) {
                let reached = DatabaseError::GuardLimit { limit };
                tracing::warn!(error = %reached, "a transaction reached its limit, and its session is ended");
                if let Err(error) = session_end.await {
                    tracing::warn!(%error, "the session of a transaction at its limit could not be ended; its next operation fails");
                }
            }
        });
        GuardLimit { limit, until, ended, watching }
    }

    /// Fails at the limit.
    pub(super) fn check(&self) -> Result<(), DatabaseError> {
        match Instant::now() < self.until {
            true => Ok(()),
            false => Err(DatabaseError::GuardLimit { limit: self.limit }),
        }
    }

    /// The transaction ends now. Returns the task that ends its session, if that was first: the connection must not be used before it is done.
    pub(super) fn stop(self) -> Option<JoinHandle<()>> {
        if self.ended.swap(true, Ordering::SeqCst) {
            return Some(self.watching);
        }
        self.watching.abort();
        None
    }
}

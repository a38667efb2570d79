//! How much is held, for whoever watches from outside.

#[cfg(feature = "opentelemetry")]
use std::time::Duration;

use super::LockManager;
use crate::error::DatabaseError;
use crate::lease::HeldByType;

impl LockManager {
    /// How many leases are held now, by type, and how long the oldest of each; types of which nothing is held are left out.
    /// One statement, which looks at every row of the lock table.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub async fn held_by_type(&self) -> Result<Vec<HeldByType>, DatabaseError> {
        self.backend.held_by_type().await
    }

    /// Looks at what is held, for the gauges `tenure.lock.held` and `tenure.lock.oldest` of the meter that the database was
    /// connected with ([`ConnectOptions::meter`](crate::storage::ConnectOptions::meter)); whether it did. Gauges are read
    /// when it suits the exporter, where nobody can wait for a database: they show what was seen here last. So call this
    /// every now and then, in one process of all that share the database: every one sees the same. However often it is
    /// called, the database is asked once in an interval.
    ///
    /// # Errors
    /// [`DatabaseError`]: the gauges show what they did before.
    #[cfg(feature = "opentelemetry")]
    pub async fn observe(&self, interval: Duration) -> Result<bool, DatabaseError> {
        if !self.metrics().is_due(interval) {
            return Ok(false);
        }
        self.metrics().observed(self.held_by_type().await?);
        Ok(true)
    }
}

//! The number of held leases, for metrics.

#[cfg(feature = "opentelemetry")]
use std::time::Duration;

use super::LockManager;
use crate::error::DatabaseError;
use crate::lease::HeldByType;

impl LockManager {
    /// The number of live leases by type, with the age of the oldest one of each; types without any are left out.
    /// One statement, which reads every row of the lock table.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub async fn held_by_type(&self) -> Result<Vec<HeldByType>, DatabaseError> {
        self.backend.held_by_type().await
    }

    /// Queries the held leases for the gauges `tenure.lock.held` and `tenure.lock.oldest` of the meter that the database was
    /// connected with ([`ConnectOptions::meter`](crate::db::ConnectOptions::meter)); returns whether it did. The
    /// exporter reads gauges at its own time and cannot wait for a database: they show the result of the last query. So
    /// call this regularly, in one of the processes that share the database, because all see the same. However often it is
    /// called, it queries the database once per interval.
    ///
    /// # Errors
    /// [`DatabaseError`]: the gauges keep their values.
    #[cfg(feature = "opentelemetry")]
    pub async fn observe(&self, interval: Duration) -> Result<bool, DatabaseError> {
        if !self.metrics().is_due(interval) {
            return Ok(false);
        }
        self.metrics().observed(self.held_by_type().await?);
        Ok(true)
    }
}

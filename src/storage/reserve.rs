//! Connections that are kept for the lock manager: leases must not run out because everything else is busy.

use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{Database, Pool};

use super::checkout;

/// Connections of the reserve. They are only opened when they are needed.
pub(super) const CONNECTIONS: u32 = 2;

/// How long a connection of the pool is waited for that is not known to be busy.
const PATIENCE: Duration = Duration::from_millis(100);

/// A connection of the pool; when all of those are busy, one of the reserve, whichever is free first. In the reserve nobody
/// waits behind the application's transactions, which may last as long as they like. Whoever has no time left still gets one
/// that is free.
pub(super) async fn acquire<DB: Database>(
    pool: &Pool<DB>,
    reserve: &Pool<DB>,
    left: Duration,
) -> Result<PoolConnection<DB>, sqlx::Error> {
    let busy = is_busy(pool);
    tokio::select! {
        biased;
        // That its pool is busy is no reason to give up what the reserve may have.
        Ok(connection) = checkout::acquire(pool, left) => Ok(connection),
        connection = async {
            if !busy {
                tokio::time::sleep(PATIENCE).await;
            }
            checkout::acquire(reserve, left).await
        } => connection,
    }
}

/// Whether all connections of a pool are in use.
pub(super) fn is_busy<DB: Database>(pool: &Pool<DB>) -> bool {
    pool.num_idle() == 0 && pool.size() >= pool.options().get_max_connections()
}

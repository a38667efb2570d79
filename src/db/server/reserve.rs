//! Connections that are reserved for the lock manager: leases must not expire because all others are busy.

use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{Database, Pool};

use super::checkout;

/// Number of reserved connections. They are opened on demand.
pub(crate) const CONNECTIONS: u32 = 2;

/// The time limit for a connection of a pool that does not seem busy.
const PATIENCE: Duration = Duration::from_millis(100);

/// A connection of the pool; if all of those are busy, the first free one of the pool or the reserve. The reserve never waits for the
/// application's transactions, which may last for any time. A caller without time left still gets a free connection.
pub(crate) async fn acquire<DB: Database>(
    pool: &Pool<DB>,
    reserve: &Pool<DB>,
    left: Duration,
) -> Result<PoolConnection<DB>, sqlx::Error> {
    let busy = is_busy(pool);
    tokio::select! {
        biased;
        // If its pool is busy, the reserve may still have one.
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
pub(crate) fn is_busy<DB: Database>(pool: &Pool<DB>) -> bool {
    pool.num_idle() == 0 && pool.size() >= pool.options().get_max_connections()
}

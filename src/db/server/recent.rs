//! Connections that had a transaction a moment ago, kept for the next one.
//!
//! A blocking transaction is found by the server's id of its connection. Each connection is asked for its id once, and the driver has no
//! place to store it. Besides, the pool checks each returned connection, which costs as much as a statement.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use sqlx::Database;
use sqlx::pool::PoolConnection;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::checkout::Silence;

/// How long an unused connection is kept: as long as the pool would not check it.
const IDLE: Duration = Duration::from_secs(1);

/// How long a connection is kept away from its pool, which ends it after its longest life.
const AWAY: Duration = Duration::from_secs(10);

/// A few connections of a pool, with their ids. Clones share them.
#[derive(Debug)]
pub(crate) struct RecentConnections<DB: Database> {
    most: usize,
    return_to_pool: ReturnToPool<DB>,
    idle: Arc<Mutex<Idle<DB>>>,
}

/// A connection that is kept: the server's id of it, and since when the pool lacks it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    pub number: i64,
    pub away: Instant,
}

/// Returns a connection to its pool, in the state that other users expect; must run inside a runtime.
pub(crate) type ReturnToPool<DB> = fn(PoolConnection<DB>);

#[derive(Debug)]
struct Idle<DB: Database> {
    /// In the order of use: the last one was used last.
    connections: Vec<Connection<DB>>,
    /// The task that returns idle connections to the pool.
    returning: Option<JoinHandle<()>>,
    closed: bool,
}

#[derive(Debug)]
struct Connection<DB: Database> {
    /// `None` only while it is dropped.
    connection: Option<PoolConnection<DB>>,
    kept: Kept,
    since: Instant,
    runtime: Handle,
    return_to_pool: ReturnToPool<DB>,
}

impl<DB: Database> RecentConnections<DB> {
    /// For a pool with this many connections. Other users need some too: none of a small pool is kept.
    pub(crate) fn of(connections: u32, return_to_pool: ReturnToPool<DB>) -> Self {
        let idle = Idle { connections: Vec::new(), returning: None, closed: false };
        RecentConnections {
            most: usize::try_from(connections / 4).unwrap_or(usize::MAX).min(2),
            return_to_pool,
            idle: Arc::new(Mutex::new(idle)),
        }
    }

    /// The connection that was used last, if that was a moment ago, and the server was not silent since.
    pub(crate) fn take(&self, silence: &Silence) -> Option<(PoolConnection<DB>, Kept)> {
        let mut last = self.idle().connections.pop()?;
        if silence.since(last.since) {
            let _runtime = last.runtime.enter();
            drop(last.connection.take().map(PoolConnection::detach));
            return None;
        }
        let fresh = last.since.elapsed() < IDLE;
        // If it was not, the others are older still, and the background task is about to return them, or ended with its runtime.
        last.connection.take_if(|_| fresh).map(|connection| (connection, last.kept))
    }

    /// Whether one more connection can be kept.
    #[cfg(feature = "mysql")]
    pub(crate) fn has_room(&self) -> bool {
        let idle = self.idle();
        !idle.closed && idle.connections.len() < self.most
    }

    /// Keeps a connection without a statement in flight. It may return to the pool instead.
    pub(crate) fn keep(&self, connection: PoolConnection<DB>, kept: Kept, runtime: &Handle) {
        let mut idle = self.idle();
        if idle.closed || idle.connections.len() >= self.most || kept.away.elapsed() >= AWAY {
            drop(idle);
            let _runtime = runtime.enter();
            return (self.return_to_pool)(connection);
        }
        let (since, runtime, return_to_pool) = (Instant::now(), runtime.clone(), self.return_to_pool);
        if idle.returning.as_ref().is_none_or(JoinHandle::is_finished) {
            idle.returning = Some(runtime.spawn(return_idle(Arc::downgrade(&self.idle))));
        }
        idle.connections.push(Connection { connection: Some(connection), kept, since, runtime, return_to_pool });
    }

    /// Returns all of them, and keeps no more.
    pub(crate) fn close(&self) {
        let connections = {
            let mut idle = self.idle();
            idle.closed = true;
            std::mem::take(&mut idle.connections)
        };
        drop(connections);
    }

    fn idle(&self) -> MutexGuard<'_, Idle<DB>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns connections that were not used for a while, until none is left.
async fn return_idle<DB: Database>(idle: Weak<Mutex<Idle<DB>>>) {
    loop {
        tokio::time::sleep(IDLE).await;
        let Some(idle) = idle.upgrade() else { return };
        let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
        let (fresh, stale) =
            std::mem::take(&mut idle.connections).into_iter().partition(|kept| kept.since.elapsed() < IDLE);
        idle.connections = fresh;
        let none = idle.connections.is_empty();
        if none {
            // Set under the lock: the next kept connection starts another task.
            idle.returning = None;
        }
        drop(idle);
        let _: Vec<Connection<DB>> = stale;
        if none {
            return;
        }
    }
}

impl<DB: Database> Clone for RecentConnections<DB> {
    fn clone(&self) -> Self {
        RecentConnections { most: self.most, return_to_pool: self.return_to_pool, idle: Arc::clone(&self.idle) }
    }
}

impl<DB: Database> Drop for Connection<DB> {
    fn drop(&mut self) {
        // A connection needs the runtime to return to the pool, also when this is dropped outside of it.
        let _runtime = self.runtime.enter();
        if let Some(connection) = self.connection.take() {
            (self.return_to_pool)(connection);
        }
    }
}

//! Connections that had a transaction a moment ago, and are likely to have the next one.
//!
//! Whoever is in the way of a transaction is found by the number that the server gave its connection. That is asked for once,
//! and the driver has no place for it. And a connection that goes back to the pool is asked whether it lives, each time, which
//! costs as much as a statement.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use sqlx::Database;
use sqlx::pool::PoolConnection;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// How long a connection is kept that nobody uses: for as long as the pool would not ask whether it lives.
const IDLE: Duration = Duration::from_secs(1);

/// A few connections of a pool, with their numbers. Clones are the same.
#[derive(Debug)]
pub(super) struct Kept<DB: Database> {
    most: usize,
    give_back: GiveBack<DB>,
    idle: Arc<Mutex<Idle<DB>>>,
}

/// Gives a connection to its pool, in the state that others expect; called inside of a runtime.
pub(super) type GiveBack<DB> = fn(PoolConnection<DB>);

#[derive(Debug)]
struct Idle<DB: Database> {
    /// The one that was used last is the last.
    connections: Vec<Connection<DB>>,
    /// What gives them back.
    giving_back: Option<JoinHandle<()>>,
    closed: bool,
}

#[derive(Debug)]
struct Connection<DB: Database> {
    /// `None` only while it is dropped.
    connection: Option<PoolConnection<DB>>,
    number: i64,
    since: Instant,
    runtime: Handle,
    give_back: GiveBack<DB>,
}

impl<DB: Database> Kept<DB> {
    /// Of a pool with so many connections. Others want some as well: of a small pool none is kept.
    pub(super) fn of(connections: u32, give_back: GiveBack<DB>) -> Self {
        let idle = Idle { connections: Vec::new(), giving_back: None, closed: false };
        Kept {
            most: usize::try_from(connections / 4).unwrap_or(usize::MAX).min(2),
            give_back,
            idle: Arc::new(Mutex::new(idle)),
        }
    }

    /// The connection that was used last, with its number, if that was a moment ago.
    pub(super) fn take(&self) -> Option<(PoolConnection<DB>, i64)> {
        let mut last = self.idle().connections.pop()?;
        let fresh = last.since.elapsed() < IDLE;
        // If it is not, the others are older still, and what gives them back is about to, or went with its runtime.
        last.connection.take_if(|_| fresh).map(|connection| (connection, last.number))
    }

    /// Whether there is room for one more.
    #[cfg(feature = "mysql")]
    pub(super) fn has_room(&self) -> bool {
        let idle = self.idle();
        !idle.closed && idle.connections.len() < self.most
    }

    /// Keeps a connection on which nothing is under way. It may go to the pool as well.
    pub(super) fn keep(&self, connection: PoolConnection<DB>, number: i64, runtime: &Handle) {
        let mut idle = self.idle();
        if idle.closed || idle.connections.len() >= self.most {
            drop(idle);
            let _runtime = runtime.enter();
            return (self.give_back)(connection);
        }
        let (since, runtime, give_back) = (Instant::now(), runtime.clone(), self.give_back);
        if idle.giving_back.as_ref().is_none_or(JoinHandle::is_finished) {
            idle.giving_back = Some(runtime.spawn(give_back_idle(Arc::downgrade(&self.idle))));
        }
        idle.connections.push(Connection { connection: Some(connection), number, since, runtime, give_back });
    }

    /// Gives all back, and keeps no more.
    pub(super) fn close(&self) {
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

/// Gives back what nobody has used for a while, until nothing is left.
async fn give_back_idle<DB: Database>(idle: Weak<Mutex<Idle<DB>>>) {
    loop {
        tokio::time::sleep(IDLE).await;
        let Some(idle) = idle.upgrade() else { return };
        let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
        let (fresh, stale) =
            std::mem::take(&mut idle.connections).into_iter().partition(|kept| kept.since.elapsed() < IDLE);
        idle.connections = fresh;
        let none = idle.connections.is_empty();
        if none {
            // Said under the lock: whoever keeps the next one starts another.
            idle.giving_back = None;
        }
        drop(idle);
        let _: Vec<Connection<DB>> = stale;
        if none {
            return;
        }
    }
}

impl<DB: Database> Clone for Kept<DB> {
    fn clone(&self) -> Self {
        Kept { most: self.most, give_back: self.give_back, idle: Arc::clone(&self.idle) }
    }
}

impl<DB: Database> Drop for Connection<DB> {
    fn drop(&mut self) {
        // A connection needs the runtime to get back into the pool, also when this is dropped outside of it.
        let _runtime = self.runtime.enter();
        if let Some(connection) = self.connection.take() {
            (self.give_back)(connection);
        }
    }
}

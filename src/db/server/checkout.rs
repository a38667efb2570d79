//! Checkout of pool connections: a connection is never reused in the middle of a statement, nor after its server stopped answering.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::pool::{PoolConnection, PoolConnectionMetadata};
use sqlx::{Connection as _, Database, Pool};

use super::reserve;
use crate::db::patience;

/// A connection that was idle for longer is checked before it is used.
const IDLE: Duration = Duration::from_secs(1);
/// The time limit of that check.
const SIGN_OF_LIFE: Duration = Duration::from_millis(500);

/// The time limit for getting an idle connection. Over TLS, the pool waits without limit for the server when it closes a dead connection:
/// in sqlx 0.9.0 an empty flush reads first.
const DISCARDED: Duration = Duration::from_millis(600);

/// When a connection last got no answer, or found that its server does not accept writes. Connections that were last used before that may
/// be dead, or lead to that server, too: to check each of them would take longer than to open new ones. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Silence(Arc<Mutex<Option<Instant>>>);

impl Silence {
    pub(crate) fn noticed(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    pub(crate) fn since(&self, moment: Instant) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|silence| silence > moment)
    }

    /// Whether an idle connection may be reused. One that was in use a moment ago is not checked; one that was idle for longer may be dead.
    pub(crate) async fn is_alive<DB: Database>(
        &self,
        connection: &mut DB::Connection,
        metadata: &PoolConnectionMetadata,
    ) -> Result<bool, sqlx::Error> {
        let dead = || sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
        if Instant::now().checked_sub(metadata.idle_for).is_some_and(|used| self.since(used)) {
            return Err(dead());
        }
        if metadata.idle_for < IDLE {
            return Ok(true);
        }
        match tokio::time::timeout(SIGN_OF_LIFE, connection.ping()).await {
            Ok(pong) => pong.map(|()| true),
            Err(_) => {
                self.noticed();
                Err(dead())
            }
        }
    }
}

/// Returns a connection to the pool; must run inside a runtime. The pool checks the connection and would wait for the answer without limit:
/// the pool would lack this connection for as long as the network is silent.
pub(crate) fn return_to_pool<DB: Database>(mut connection: PoolConnection<DB>) {
    let returned = connection.return_to_pool();
    tokio::spawn(async move {
        tokio::select! {
            biased;
            () = returned => {}
            () = tokio::time::sleep(patience::GRACE) => tracing::warn!("a connection did not answer and was closed"),
        }
    });
}

/// A connection of a pool. If all are in use, the wait for one counts towards the budget; to open or check one, the time limit of an answer
/// applies.
pub(crate) async fn acquire<DB: Database>(pool: &Pool<DB>, left: Duration) -> Result<PoolConnection<DB>, sqlx::Error> {
    let asked = Instant::now();
    loop {
        let left = left.saturating_sub(asked.elapsed());
        let busy = reserve::is_busy(pool);
        let limit = if busy { left } else { patience::limit(left) };
        // The pool may find that an idle connection is dead.
        let attempt = if pool.num_idle() > 0 && !left.is_zero() { limit.min(DISCARDED) } else { limit };
        match tokio::time::timeout(attempt, pool.acquire()).await {
            // The pool's own timeout is shorter than some budgets.
            Ok(Err(sqlx::Error::PoolTimedOut)) if busy && !left.is_zero() => {}
            // The dead connection was removed by this attempt.
            Err(_) if attempt < limit => {}
            Ok(acquired) => return acquired,
            Err(_) => return Err(sqlx::Error::PoolTimedOut),
        }
    }
}

//! A connection that somebody has from a pool: it never comes back in the middle of something, and a silent one not at all.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::pool::{PoolConnection, PoolConnectionMetadata};
use sqlx::{Connection as _, Database, Pool};

use super::{patience, reserve};

/// How long a connection may have been idle without being asked whether it lives.
const IDLE: Duration = Duration::from_secs(1);
/// How long it may take to say so.
const SIGN_OF_LIFE: Duration = Duration::from_millis(500);

/// How long it may take to get an idle connection. Over TLS the pool closes a dead one by waiting for its server, for ever: in sqlx
/// 0.9.0 a flush of nothing reads first.
const DISCARDED: Duration = Duration::from_millis(600);

/// When a connection of a server was last without an answer. Those that had their last one before that may be dead as well:
/// asking each of them would take longer than opening others. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Silence(Arc<Mutex<Option<Instant>>>);

impl Silence {
    pub(super) fn noticed(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn since(&self, moment: Instant) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|silence| silence > moment)
    }

    /// Whether an idle connection may be given to the next owner. One that was in use a moment ago is not asked; one that lay
    /// idle may have died with the server.
    pub(super) async fn is_alive<DB: Database>(
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

/// Gives a connection back, inside of a runtime. The pool asks it whether it lives, and would wait for that for ever: its place
/// in the pool would be lost for as long as the network is silent.
pub(super) fn give_back<DB: Database>(mut connection: PoolConnection<DB>) {
    let returned = connection.return_to_pool();
    tokio::spawn(async move {
        tokio::select! {
            biased;
            () = returned => {}
            () = tokio::time::sleep(patience::GRACE) => tracing::warn!("a connection gave no sign of life and was closed"),
        }
    });
}

/// A connection of a pool. Where all are in use, the wait for one counts as every other wait; one that has to be opened, or
/// asked whether it lives, has the time of an answer.
pub(super) async fn acquire<DB: Database>(pool: &Pool<DB>, left: Duration) -> Result<PoolConnection<DB>, sqlx::Error> {
    let asked = Instant::now();
    loop {
        let left = left.saturating_sub(asked.elapsed());
        let busy = reserve::is_busy(pool);
        let limit = if busy { left } else { patience::limit(left) };
        // The pool may find that an idle one is dead.
        let attempt = if pool.num_idle() > 0 && !left.is_zero() { limit.min(DISCARDED) } else { limit };
        match tokio::time::timeout(attempt, pool.acquire()).await {
            // The pool's own patience is shorter than some budgets.
            Ok(Err(sqlx::Error::PoolTimedOut)) if busy && !left.is_zero() => {}
            // The dead one went with the attempt.
            Err(_) if attempt < limit => {}
            Ok(acquired) => return acquired,
            Err(_) => return Err(sqlx::Error::PoolTimedOut),
        }
    }
}

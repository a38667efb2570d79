//! A connection that somebody has from a pool: it never comes back in the middle of something, and a silent one not at all.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::pool::{PoolConnection, PoolConnectionMetadata};
use sqlx::{Connection as _, Database, Pool};
use tokio::runtime::Handle;

use super::{alarm, patience, reserve};
use crate::error::DatabaseError;

/// How long a connection may have been idle without being asked whether it lives.
const IDLE: Duration = Duration::from_secs(1);
/// How long it may take to say so.
const SIGN_OF_LIFE: Duration = Duration::from_millis(500);

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

/// A connection that is in use.
#[derive(Debug)]
pub(super) struct Checkout<DB: Database> {
    /// `None` once it was closed.
    connection: Option<PoolConnection<DB>>,
    silence: Silence,
    runtime: Handle,
}

impl<DB: Database> Checkout<DB> {
    pub(super) fn of(connection: PoolConnection<DB>, silence: &Silence) -> Self {
        Checkout { connection: Some(connection), silence: silence.clone(), runtime: Handle::current() }
    }

    /// Runs statements, and waits for their answers for so long at most. Then the connection is closed, because what comes
    /// later would be taken for the answer to something else.
    pub(super) async fn answer<T>(
        &mut self,
        limit: Duration,
        work: impl AsyncFnOnce(&mut DB::Connection) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let connection = self.connection.as_deref_mut().ok_or_else(closed)?;
        tokio::select! {
            biased;
            answer = work(connection) => return answer,
            () = alarm::after(limit) => {}
        }
        Err(self.has_no_answer(limit))
    }

    /// Closes it, because no answer came.
    pub(super) fn has_no_answer(&mut self, waited: Duration) -> DatabaseError {
        self.silence.noticed();
        self.close();
        no_answer(waited)
    }

    /// Closes it without a word to the server, which rolls back when it notices.
    pub(super) fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _runtime = self.runtime.enter();
            drop(connection.detach());
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.connection.is_none()
    }

    /// The connection, if it is still there.
    pub(super) fn open(&mut self) -> Result<&mut DB::Connection, DatabaseError> {
        self.connection.as_deref_mut().ok_or_else(closed)
    }

    /// The connection, for somebody else to give back.
    pub(super) fn into_inner(mut self) -> Option<PoolConnection<DB>> {
        self.connection.take()
    }
}

impl<DB: Database> Drop for Checkout<DB> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _runtime = self.runtime.enter();
            give_back(connection);
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
            () = alarm::after(patience::GRACE) => tracing::warn!("a connection gave no sign of life and was closed"),
        }
    });
}

fn closed() -> DatabaseError {
    DatabaseError::ConnectionLost("it was closed after an answer did not come in time".into())
}

/// Nothing came back.
pub(super) fn no_answer(waited: Duration) -> DatabaseError {
    DatabaseError::ConnectionLost(format!(
        "the database did not answer within {} ms, so the connection was closed",
        waited.as_millis()
    ))
}

/// A connection of a pool. Where all are in use, the wait for one counts as every other wait; one that has to be opened, or
/// asked whether it lives, has the time of an answer.
pub(super) async fn acquire<DB: Database>(pool: &Pool<DB>, left: Duration) -> Result<PoolConnection<DB>, sqlx::Error> {
    let asked = Instant::now();
    loop {
        let left = left.saturating_sub(asked.elapsed());
        let busy = reserve::is_busy(pool);
        let limit = if busy { left } else { patience::limit(left) };
        match tokio::time::timeout(limit, pool.acquire()).await {
            // The pool's own patience is shorter than some budgets.
            Ok(Err(sqlx::Error::PoolTimedOut)) if busy && !left.is_zero() => {}
            Ok(acquired) => return acquired,
            Err(_) => return Err(sqlx::Error::PoolTimedOut),
        }
    }
}

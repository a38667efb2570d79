//! A checked-out connection: it never returns to its pool in the middle of a statement.

use std::time::Duration;

use sqlx::Database;
use sqlx::pool::PoolConnection;
use tokio::runtime::Handle;

use crate::error::DatabaseError;
use crate::storage::checkout::{Silence, return_to_pool};

/// A checked-out connection.
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

    /// Runs statements with a time limit for their answers. After it the connection is closed, because a late answer would be read as the
    /// answer to another statement.
    pub(super) async fn answer<T>(
        &mut self,
        limit: Duration,
        work: impl AsyncFnOnce(&mut DB::Connection) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let connection = self.connection.as_deref_mut().ok_or_else(closed)?;
        tokio::select! {
            biased;
            answer = work(connection) => return answer,
            () = tokio::time::sleep(limit) => {}
        }
        Err(self.has_no_answer(limit))
    }

    /// Closes it, because no answer came.
    pub(super) fn has_no_answer(&mut self, waited: Duration) -> DatabaseError {
        self.silence.noticed();
        self.close();
        no_answer(waited)
    }

    /// Closes it without a message to the server, which rolls back when it detects that.
    pub(super) fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _runtime = self.runtime.enter();
            drop(connection.detach());
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.connection.is_none()
    }

    /// The connection, if it is still open.
    pub(super) fn open(&mut self) -> Result<&mut DB::Connection, DatabaseError> {
        self.connection.as_deref_mut().ok_or_else(closed)
    }

    /// The connection, for a caller that returns it to the pool.
    pub(super) fn into_inner(mut self) -> Option<PoolConnection<DB>> {
        self.connection.take()
    }
}

impl<DB: Database> Drop for Checkout<DB> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _runtime = self.runtime.enter();
            return_to_pool(connection);
        }
    }
}

fn closed() -> DatabaseError {
    DatabaseError::ConnectionLost("it was closed after an answer did not come in time".into())
}

/// No answer came.
fn no_answer(waited: Duration) -> DatabaseError {
    DatabaseError::ConnectionLost(format!(
        "the database did not answer within {} ms, so the connection was closed",
        waited.as_millis()
    ))
}

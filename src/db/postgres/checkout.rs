//! A checked-out connection: it never returns to its pool in the middle of a statement.

use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, Postgres};
use tokio::runtime::Handle;

use crate::db::server::checkout::{Silence, return_to_pool};
use crate::error::DatabaseError;

/// A checked-out connection.
#[derive(Debug)]
pub(crate) struct Checkout {
    /// `None` once it was closed.
    connection: Option<PoolConnection<Postgres>>,
    silence: Silence,
    runtime: Handle,
}

impl Checkout {
    pub(crate) fn of(connection: PoolConnection<Postgres>, silence: &Silence) -> Self {
        Checkout { connection: Some(connection), silence: silence.clone(), runtime: Handle::current() }
    }

    /// Closes it after an error that shows that its server does not accept writes: a new connection may reach the writer.
    pub(crate) fn noticed(&mut self, error: &DatabaseError) {
        if matches!(error, DatabaseError::ReadOnly) {
            self.silence.noticed();
            self.close();
        }
    }

    /// Runs statements with a time limit for their answers. After it the connection is closed, because a late answer would be read as the
    /// answer to another statement.
    pub(crate) async fn answer<T>(
        &mut self,
        limit: Duration,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let connection = self.connection.as_deref_mut().ok_or_else(closed)?;
        tokio::select! {
            biased;
            answer = work(connection) => {
                if let Err(error) = &answer {
                    self.noticed(error);
                }
                return answer;
            }
            () = tokio::time::sleep(limit) => {}
        }
        Err(self.has_no_answer(limit))
    }

    /// Closes it, because no answer came.
    pub(crate) fn has_no_answer(&mut self, waited: Duration) -> DatabaseError {
        self.silence.noticed();
        self.close();
        no_answer(waited)
    }

    /// Closes it without a message to the server, which rolls back when it detects that.
    pub(crate) fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _runtime = self.runtime.enter();
            drop(connection.detach());
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.connection.is_none()
    }

    /// The connection, if it is still open.
    pub(crate) fn open(&mut self) -> Result<&mut PgConnection, DatabaseError> {
        self.connection.as_deref_mut().ok_or_else(closed)
    }

    /// The connection, for a caller that returns it to the pool.
    pub(crate) fn into_inner(mut self) -> Option<PoolConnection<Postgres>> {
        self.connection.take()
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _runtime = self.runtime.enter();
            return_to_pool(connection);
        }
    }
}

fn closed() -> DatabaseError {
    DatabaseError::ConnectionLost(
        "it was closed before, because an answer did not come in time, or its server is read-only".into(),
    )
}

/// No answer came.
fn no_answer(waited: Duration) -> DatabaseError {
    DatabaseError::ConnectionLost(format!(
        "the database did not answer within {} ms, so the connection was closed",
        waited.as_millis()
    ))
}

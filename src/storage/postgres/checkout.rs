//! A checked-out connection: it never returns to its pool in the middle of a statement.

use std::time::Duration;

use sqlx::pool::PoolConnection;
use tokio::runtime::Handle;

use crate::error::DatabaseError;
use crate::storage::server::checkout::{Silence, return_to_pool};
use crate::storage::server::hosts::{Engine, Seated};

/// A checked-out connection.
#[derive(Debug)]
pub(super) struct Checkout<DB: Engine> {
    /// `None` once it was closed.
    connection: Option<PoolConnection<DB>>,
    silence: Silence,
    seated: Seated<DB>,
    runtime: Handle,
}

impl<DB: Engine> Checkout<DB> {
    pub(super) fn of(connection: PoolConnection<DB>, silence: &Silence, seated: Seated<DB>) -> Self {
        Checkout { connection: Some(connection), silence: silence.clone(), seated, runtime: Handle::current() }
    }

    /// The number of the epoch under which it was checked out.
    pub(super) fn epoch(&self) -> u64 {
        self.seated.number()
    }

    /// An error of a statement that did not run through [`answer`](Self::answer).
    pub(super) fn noticed(&self, error: &DatabaseError) {
        self.seated.noticed(error);
    }

    /// Closes it after a failover: its server may be the old primary.
    fn check_epoch(&mut self) -> Result<(), DatabaseError> {
        if self.seated.is_former() {
            self.close();
            return Err(DatabaseError::ConnectionLost(Seated::<DB>::former().into()));
        }
        Ok(())
    }

    /// Runs statements with a time limit for their answers. After it the connection is closed, because a late answer would be read as the
    /// answer to another statement.
    pub(super) async fn answer<T>(
        &mut self,
        limit: Duration,
        work: impl AsyncFnOnce(&mut DB::Connection) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        self.check_epoch()?;
        let connection = self.connection.as_deref_mut().ok_or_else(closed)?;
        tokio::select! {
            biased;
            answer = work(connection) => {
                if let Err(error) = &answer {
                    self.seated.noticed(error);
                }
                return answer;
            }
            () = tokio::time::sleep(limit) => {}
        }
        Err(self.has_no_answer(limit))
    }

    /// Closes it, because no answer came.
    pub(super) fn has_no_answer(&mut self, waited: Duration) -> DatabaseError {
        self.silence.noticed();
        self.seated.suspect();
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
        self.check_epoch()?;
        self.connection.as_deref_mut().ok_or_else(closed)
    }

    /// The connection, for a caller that returns it to the pool.
    pub(super) fn into_inner(mut self) -> Option<PoolConnection<DB>> {
        self.connection.take()
    }
}

impl<DB: Engine> Drop for Checkout<DB> {
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

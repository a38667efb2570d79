//! The one writer, and a transaction that cannot outlive its owner.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::errors::{classify, effect, is_busy};
use crate::backend::Effect;
use crate::error::DatabaseError;
use crate::lock_mode::Wait;

/// The connection that writes. It is opened again if it was lost.
#[derive(Debug)]
pub(crate) struct Writer {
    connection: Option<SqliteConnection>,
    options: SqliteConnectOptions,
    /// Closed for good: it is not opened again.
    closed: bool,
    /// What the connection's busy timeout was last set to; setting it costs a trip to the connection's thread.
    busy_timeout: Duration,
}

impl Writer {
    pub(super) fn new(connection: SqliteConnection, options: SqliteConnectOptions) -> Self {
        Writer { connection: Some(connection), options, closed: false, busy_timeout: Duration::MAX }
    }

    pub(super) async fn connection(&mut self) -> Result<&mut SqliteConnection, DatabaseError> {
        if self.connection.is_none() && !self.closed {
            self.busy_timeout = Duration::MAX;
            self.connection = Some(SqliteConnection::connect_with(&self.options).await.map_err(classify)?);
        }
        self.connection.as_mut().ok_or(DatabaseError::Unsupported("the database was closed; connect again"))
    }

    pub(super) async fn close(&mut self) {
        self.closed = true;
        if let Some(connection) = self.connection.take()
            && let Err(error) = connection.close().await
        {
            tracing::warn!(%error, "closing the database failed");
        }
    }

    /// The writer, for one statement that is a transaction of its own, within the budget.
    pub(super) async fn alone(
        writer: &Arc<Mutex<Writer>>,
        wait: Wait,
    ) -> Result<OwnedMutexGuard<Writer>, DatabaseError> {
        let (mut guard, left) = Self::queue(writer, wait).await?;
        guard.connection().await?;
        guard.wait_at_most(left).await.map_err(classify)?;
        Ok(guard)
    }

    /// The writer, when it is our turn, and what is left of the budget.
    async fn queue(
        writer: &Arc<Mutex<Writer>>,
        wait: Wait,
    ) -> Result<(OwnedMutexGuard<Writer>, Duration), DatabaseError> {
        let (asked, budget) = (Instant::now(), wait.budget());
        let timed_out = || DatabaseError::LockTimeout { waited: asked.elapsed(), holder: None };
        let queue = Arc::clone(writer).lock_owned();
        let guard = match wait {
            Wait::No => Arc::clone(writer).try_lock_owned().map_err(|_| timed_out())?,
            Wait::Within(_) => tokio::time::timeout(budget, queue).await.map_err(|_| timed_out())?,
        };
        // A wait that took (almost) nothing leaves the timeout as it is set already.
        let left = budget.saturating_sub(asked.elapsed());
        Ok((guard, if budget - left < Duration::from_millis(2) { budget } else { left }))
    }

    /// Sets how long other processes are waited for.
    async fn wait_at_most(&mut self, within: Duration) -> Result<(), sqlx::Error> {
        if self.busy_timeout == within {
            return Ok(());
        }
        let set = format!("pragma busy_timeout = {}", within.as_millis());
        let Some(connection) = self.connection.as_mut() else { return Err(sqlx::Error::WorkerCrashed) };
        self.busy_timeout = Duration::MAX;
        sqlx::raw_sql(AssertSqlSafe(set)).execute(connection).await?;
        self.busy_timeout = within;
        Ok(())
    }

    /// Begins, waiting for other processes at most this long.
    async fn begin_immediate(&mut self, within: Duration) -> Result<(), sqlx::Error> {
        self.wait_at_most(within).await?;
        let Some(connection) = self.connection.as_mut() else { return Err(sqlx::Error::WorkerCrashed) };
        sqlx::raw_sql("begin immediate").execute(connection).await.map(drop)
    }
}

/// A transaction under way. However its owner goes away (an error, a panic, a request whose browser hung up in the
/// middle of `begin`), it is rolled back before anybody else gets the connection.
///
/// sqlx's own transaction is not enough: in 0.9.0 a `begin` that is cancelled leaves an open transaction behind.
pub(super) struct OpenTransaction {
    /// `None` once it has ended.
    writer: Option<OwnedMutexGuard<Writer>>,
}

impl OpenTransaction {
    /// Takes the write lock on the whole file, within the budget.
    pub(super) async fn immediate(writer: &Arc<Mutex<Writer>>, wait: Wait) -> Result<Self, DatabaseError> {
        let asked = Instant::now();
        let timed_out = || DatabaseError::LockTimeout { waited: asked.elapsed(), holder: None };
        let (mut guard, left) = Writer::queue(writer, wait).await?;
        guard.connection().await?;
        // From here on the guard below rolls back if this future is dropped, also in the middle of BEGIN.
        let mut transaction = OpenTransaction { writer: Some(guard) };
        let Some(writer) = &mut transaction.writer else { return Err(timed_out()) };
        match writer.begin_immediate(left).await {
            Ok(()) => Ok(transaction),
            Err(error) if is_busy(&error) => {
                // No transaction was begun, so there is nothing to roll back before the next one may try.
                transaction.writer = None;
                Err(timed_out())
            }
            Err(error) => Err(classify(error)),
        }
    }

    /// The connection it runs on.
    pub(super) fn connection(&mut self) -> &mut SqliteConnection {
        let writer = self.writer.as_mut().and_then(|writer| writer.connection.as_mut());
        writer.expect("a transaction has its connection until it is committed or rolled back, and both consume it")
    }

    /// Commits, with a statement before it if one is given. After an error the transaction is rolled back, if it is still
    /// there.
    pub(super) async fn commit(mut self, first: Option<String>) -> Result<(), DatabaseError> {
        let commit = first.map_or_else(|| "commit".to_owned(), |first| format!("{first}; commit"));
        match sqlx::raw_sql(AssertSqlSafe(commit)).execute(self.connection()).await {
            Ok(_) => {
                self.writer = None;
                Ok(())
            }
            Err(error) => match effect(&error) {
                Effect::Unknown => Err(DatabaseError::CommitUnknown(classify(error).to_string())),
                _ => Err(classify(error)),
            },
        }
    }

    /// Rolls back and waits until it is done.
    pub(super) async fn rollback(mut self) -> Result<(), DatabaseError> {
        let rolled_back = sqlx::raw_sql("rollback").execute(self.connection()).await;
        if rolled_back.is_ok() {
            self.writer = None;
        }
        rolled_back.map(drop).map_err(classify)
    }
}

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        let Some(mut writer) = self.writer.take() else { return };
        match tokio::runtime::Handle::try_current() {
            // The connection stays taken until the rollback is done, so the next owner finds it clean.
            Ok(runtime) => drop(runtime.spawn(async move { roll_back(&mut writer).await })),
            // Without a runtime nothing can be awaited: closing the connection rolls back as well.
            Err(_) => drop(writer.connection.take()),
        }
    }
}

async fn roll_back(writer: &mut Writer) {
    let Some(connection) = writer.connection.as_mut() else { return };
    if let Err(error) = sqlx::raw_sql("rollback").execute(connection).await {
        // "No transaction is active" is the normal answer where BEGIN had failed or COMMIT had worked after all.
        tracing::debug!(%error, "nothing to roll back");
    }
}

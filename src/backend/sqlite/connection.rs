//! The one writer, and a transaction that cannot outlive its owner.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection, Sqlite, SqliteConnection, SqlitePool};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::errors::{classify, effect, is_busy};
use super::holder;
use crate::backend::{Effect, patience};
use crate::error::DatabaseError;
use crate::lock_mode::Wait;

/// The connection that writes. It is opened again if it was lost.
#[derive(Debug)]
pub(crate) struct Writer {
    connection: Option<SqliteConnection>,
    options: SqliteConnectOptions,
    /// Closed for good: it is not opened again.
    closed: bool,
}

/// How long it is paused, in milliseconds, before another process is asked again to let us write: as SQLite's own busy handler
/// pauses, but that would keep the connection's thread.
const PAUSES: [u64; 12] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100];

impl Writer {
    pub(super) fn new(connection: SqliteConnection, options: SqliteConnectOptions) -> Self {
        Writer { connection: Some(connection), options, closed: false }
    }

    pub(super) async fn connection(&mut self) -> Result<&mut SqliteConnection, DatabaseError> {
        if self.connection.is_none() && !self.closed {
            let mut connection = SqliteConnection::connect_with(&self.options).await.map_err(classify)?;
            never_waits(&mut connection).await?;
            self.connection = Some(connection);
        }
        self.connection.as_mut().ok_or(DatabaseError::Closed)
    }

    pub(super) async fn close(&mut self) {
        self.closed = true;
        if let Some(connection) = self.connection.take()
            && let Err(error) = connection.close().await
        {
            tracing::warn!(%error, "closing the database failed");
        }
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
        Ok((guard, budget.saturating_sub(asked.elapsed())))
    }

    /// Begins, waiting for other processes at most this long.
    async fn begin_immediate(&mut self, within: Duration) -> Result<(), sqlx::Error> {
        let (asked, mut pauses) = (Instant::now(), PAUSES.into_iter());
        loop {
            let Some(connection) = self.connection.as_mut() else { return Err(sqlx::Error::WorkerCrashed) };
            let begun = sqlx::raw_sql("begin immediate").execute(connection).await.map(drop);
            let left = within.saturating_sub(asked.elapsed());
            match begun {
                Err(error) if is_busy(&error) && !left.is_zero() => {
                    let pause = Duration::from_millis(pauses.next().unwrap_or(PAUSES[PAUSES.len() - 1]));
                    tokio::time::sleep(pause.min(left)).await;
                }
                begun => return begun,
            }
        }
    }
}

/// A connection that reads, within the time of the operation.
pub(super) async fn reader(readers: &SqlitePool) -> Result<PoolConnection<Sqlite>, DatabaseError> {
    let busy = readers.num_idle() == 0 && readers.size() >= readers.options().get_max_connections();
    // One that has to be opened is not waited for as one that others have.
    let limit = if busy { patience::left() } else { patience::left().max(patience::GRACE) };
    match tokio::time::timeout(limit, readers.acquire()).await {
        Ok(acquired) => acquired.map_err(classify),
        Err(_) => Err(classify(sqlx::Error::PoolTimedOut)),
    }
}

/// Sets a connection so that whoever finds another process writing is told so at once.
pub(super) async fn never_waits(connection: &mut SqliteConnection) -> Result<(), DatabaseError> {
    sqlx::raw_sql("pragma busy_timeout = 0").execute(connection).await.map(drop).map_err(classify)
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
        let timed_out = |holder| DatabaseError::LockTimeout { waited: asked.elapsed(), holder };
        let (mut guard, left) = Writer::queue(writer, wait).await?;
        guard.connection().await?;
        // From here on the guard below rolls back if this future is dropped, also in the middle of BEGIN.
        let mut transaction = OpenTransaction { writer: Some(guard) };
        let Some(writer) = &mut transaction.writer else { return Err(timed_out(None)) };
        let file = writer.options.get_filename().to_owned();
        match writer.begin_immediate(left).await {
            Ok(()) => Ok(transaction),
            Err(error) if is_busy(&error) => {
                // No transaction was begun, so there is nothing to roll back before the next one may try.
                transaction.writer = None;
                Err(timed_out(holder::of(&file)))
            }
            Err(error) => Err(classify(error)),
        }
    }

    /// The writer, when it is our turn, for statements that begin and commit by themselves in one trip. However they end,
    /// nothing of them is left behind; once they have all succeeded, [`has_ended`](Self::has_ended) is to be said.
    pub(super) async fn of_one_trip(writer: &Arc<Mutex<Writer>>, wait: Wait) -> Result<Self, DatabaseError> {
        let (mut guard, _) = Writer::queue(writer, wait).await?;
        guard.connection().await?;
        Ok(OpenTransaction { writer: Some(guard) })
    }

    /// As [`of_one_trip`](Self::of_one_trip), if nobody in this process uses the writer.
    pub(super) async fn at_once(writer: &Arc<Mutex<Writer>>) -> Result<Option<Self>, DatabaseError> {
        let Ok(mut guard) = Arc::clone(writer).try_lock_owned() else { return Ok(None) };
        guard.connection().await?;
        Ok(Some(OpenTransaction { writer: Some(guard) }))
    }

    /// It has committed by itself.
    pub(super) fn has_ended(mut self) {
        self.writer = None;
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

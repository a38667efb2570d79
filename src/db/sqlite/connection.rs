//! The one writer, and a transaction that cannot outlive its owner.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection, Sqlite, SqliteConnection, SqlitePool};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::errors::{classify, effect, is_busy};
use super::fence::Fence;
use super::file::File;
use super::turns::{Priority, Turns};
use super::{holder, lent};
use crate::db::{Effect, patience};
use crate::error::DatabaseError;
use crate::row_lock::Wait;

/// The writing connection. It stays open until the database is closed: SQLite deletes the files beside the database with the last one.
#[derive(Debug)]
pub(crate) struct Writer {
    /// `None` once it was closed.
    connection: Option<SqliteConnection>,
    fence: Arc<Fence>,
    options: SqliteConnectOptions,
    file: Arc<File>,
    turns: Turns,
    /// Its state when it was opened.
    state: Vec<String>,
    /// Whether the application used the connection since its state was last compared.
    lent: bool,
}

impl Writer {
    pub(crate) async fn new(
        mut connection: SqliteConnection,
        options: SqliteConnectOptions,
        file: Arc<File>,
    ) -> Result<Self, DatabaseError> {
        let fence = Arc::default();
        set_up(&mut connection, &fence).await?;
        let state = lent::state(&mut connection).await.map_err(classify)?;
        Ok(Writer { connection: Some(connection), fence, options, file, turns: Turns::default(), state, lent: false })
    }

    /// The connection to the opened file.
    pub(crate) async fn connection(&mut self) -> Result<&mut SqliteConnection, DatabaseError> {
        if self.connection.is_some() {
            self.file.check_lately()?;
        }
        if self.lent {
            self.bring_back().await?;
        }
        self.connection.as_mut().ok_or(DatabaseError::Closed)
    }

    /// Replaces the connection if the application has changed its state. If that fails, the next user tries again.
    async fn bring_back(&mut self) -> Result<(), DatabaseError> {
        let Some(connection) = self.connection.as_mut() else { return Ok(()) };
        let state = answered(lent::state(connection)).await;
        if state.is_ok_and(|state| state == self.state) {
            // It has answered, so what was sent before is done, and no transaction is open.
            self.fence.open();
        } else {
            tracing::debug!("the writing connection has other settings, or does not answer, so it is opened anew");
            let mut new = SqliteConnection::connect_with(&self.options).await.map_err(classify)?;
            // The former one keeps its own: what still runs on it is never committed.
            let fence = Arc::default();
            set_up(&mut new, &fence).await?;
            self.file.check()?;
            self.fence = fence;
            // The files beside the database stay, because the new one is open.
            if let Some(old) = self.connection.replace(new)
                && let Err(error) = answered(old.close()).await
            {
                tracing::warn!(%error, "closing a connection with other settings failed");
            }
        }
        self.lent = false;
        Ok(())
    }

    pub(crate) async fn close(&mut self) {
        self.leave_others_alone();
        self.file.close();
        if let Some(connection) = self.connection.take()
            && let Err(error) = connection.close().await
        {
            tracing::warn!(%error, "closing the database failed");
        }
    }

    /// SQLite writes its log into the database when the last connection of it is closed. If others use the database with another log,
    /// that would overwrite their commits, so the connection stays as it is until the process ends.
    fn leave_others_alone(&mut self) {
        if self.connection.is_some() && self.file.may_have_others() {
            std::mem::forget(self.connection.take());
        }
    }

    /// The writer, when it is this caller's turn, and the rest of the budget.
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

    /// Begins; waits for other processes at most this long.
    async fn begin_immediate(&mut self, within: Duration, priority: Priority) -> Result<(), sqlx::Error> {
        let asked = Instant::now();
        self.leave_gap(priority, within).await;
        loop {
            let Some(connection) = self.connection.as_mut() else { return Err(sqlx::Error::WorkerCrashed) };
            let begun = sqlx::raw_sql("begin immediate").execute(connection).await.map(drop);
            let left = within.saturating_sub(asked.elapsed());
            match begun {
                Err(error) if is_busy(&error) => {
                    self.turns.met_others();
                    if left.is_zero() {
                        return Err(error);
                    }
                    tokio::time::sleep(priority.pause().min(left)).await;
                }
                begun => return begun,
            }
        }
    }

    /// Rolls back. [`sqlx::Error::WorkerCrashed`]: there was no answer, so a transaction may still be open.
    async fn roll_back(&mut self) -> Result<(), sqlx::Error> {
        let Some(connection) = self.connection.as_mut() else { return Ok(()) };
        let rolled_back = sqlx::raw_sql("rollback").execute(connection);
        // Our own statements end by themselves.
        if self.lent { answered(rolled_back).await.map(drop) } else { rolled_back.await.map(drop) }
    }

    /// Leaves a gap for waiting processes, if there are any.
    async fn leave_gap(&self, priority: Priority, within: Duration) {
        if let Some(pause) = self.turns.pause(priority) {
            tokio::time::sleep(pause.min(within)).await;
        }
    }
}

/// A read-only connection, within the time of the operation.
pub(crate) async fn reader(readers: &SqlitePool) -> Result<PoolConnection<Sqlite>, DatabaseError> {
    let busy = readers.num_idle() == 0 && readers.size() >= readers.options().get_max_connections();
    // Opening a connection has the time limit of an answer, not that of a wait.
    let limit = if busy { patience::left() } else { patience::left().max(patience::GRACE) };
    match tokio::time::timeout(limit, readers.acquire()).await {
        Ok(acquired) => acquired.map_err(classify),
        Err(_) => Err(classify(sqlx::Error::PoolTimedOut)),
    }
}

/// After how many instructions of its virtual machine SQLite asks whether a statement may go on: less than a millisecond.
const INSTRUCTIONS: i32 = 10_000;

/// Sets up a connection: it reports at once if another process is writing, and only the owner of a transaction can end it.
async fn set_up(connection: &mut SqliteConnection, fence: &Arc<Fence>) -> Result<(), DatabaseError> {
    sqlx::raw_sql("pragma busy_timeout = 0").execute(&mut *connection).await.map_err(classify)?;
    let mut handle = connection.lock_handle().await.map_err(classify)?;
    let (commit, rollback, progress) = (Arc::clone(fence), Arc::clone(fence), Arc::clone(fence));
    handle.set_progress_handler(INSTRUCTIONS, move || progress.goes_on());
    handle.set_commit_hook(move || !commit.is_hit());
    handle.set_rollback_hook(move || {
        rollback.is_hit();
    });
    Ok(())
}

/// An open transaction. If its owner ends in any way (an error, a panic, a client that disconnects in the middle of `begin`), it is rolled
/// back before the connection is used again.
///
/// sqlx's own transaction is not enough: in 0.9.0 a `begin` that is cancelled leaves an open transaction behind.
pub(crate) struct OpenTransaction {
    /// `None` once it has ended.
    writer: Option<OwnedMutexGuard<Writer>>,
    /// Whether the application used the connection since our last statement.
    lent: bool,
    /// Whether it may have written anything.
    wrote: bool,
}

impl OpenTransaction {
    /// Acquires the write lock on the whole file, within the budget.
    pub(crate) async fn immediate(
        writer: &Arc<Mutex<Writer>>,
        wait: Wait,
        priority: Priority,
    ) -> Result<Self, DatabaseError> {
        let asked = Instant::now();
        let timed_out = |holder| DatabaseError::LockTimeout { waited: asked.elapsed(), holder };
        let (mut guard, left) = Writer::queue(writer, wait).await?;
        guard.connection().await?;
        // From here on the guard below rolls back if this future is dropped, also in the middle of BEGIN.
        let mut transaction = OpenTransaction { writer: Some(guard), lent: false, wrote: true };
        let Some(writer) = &mut transaction.writer else { return Err(timed_out(None)) };
        let file = writer.options.get_filename().to_owned();
        match writer.begin_immediate(left, priority).await {
            Ok(()) => Ok(transaction),
            Err(error) if is_busy(&error) => {
                // No transaction was begun, so nothing is rolled back before the next attempt.
                transaction.writer = None;
                Err(timed_out(holder::of(&file)))
            }
            Err(error) => Err(classify(error)),
        }
    }

    /// It has ended; the next caller may use the writer.
    fn let_go(&mut self) {
        if let Some(mut writer) = self.writer.take() {
            writer.fence.open();
            writer.turns.has_written();
            // The next user would do it, but other processes may be shut out.
            if writer.lent {
                tokio::spawn(async move { warn_if_not_clean(&mut writer).await });
            }
        }
    }

    /// The connection of the transaction.
    pub(crate) fn connection(&mut self) -> &mut SqliteConnection {
        let writer = self.writer.as_mut().and_then(|writer| writer.connection.as_mut());
        writer.expect("a transaction has its connection until it is committed or rolled back, and both consume it")
    }

    /// From here on only [`commit`](Self::commit) and [`rollback`](Self::rollback) end it: a commit by the application's own statements is
    /// rolled back, and so are its writes after a rollback.
    pub(crate) fn fenced(mut self) -> Self {
        self.wrote = false;
        self.writer.iter().for_each(|writer| writer.fence.shut());
        self
    }

    /// Ends its statements, from another task.
    pub(crate) fn session_end(&self) -> impl Future<Output = Result<(), DatabaseError>> + Send + use<> {
        let fence = self.writer.as_ref().map(|writer| Arc::clone(&writer.fence));
        async move {
            if let Some(fence) = fence {
                fence.interrupt();
            }
            Ok(())
        }
    }

    /// The connection, for the application's own statements.
    pub(crate) fn lend(&mut self) -> &mut SqliteConnection {
        (self.lent, self.wrote) = (true, true);
        self.writer.iter_mut().for_each(|writer| writer.lent = true);
        self.connection()
    }

    /// As [`ours`](Self::ours), for a statement that the application has composed.
    #[cfg(feature = "sea-orm")]
    pub(crate) async fn ours_to_lend(&mut self) -> Result<&mut SqliteConnection, DatabaseError> {
        self.writer.iter_mut().for_each(|writer| writer.lent = true);
        self.ours().await
    }

    /// The connection for writing, if the open transaction is the one that was begun.
    pub(crate) async fn ours(&mut self) -> Result<&mut SqliteConnection, DatabaseError> {
        self.wrote = true;
        self.ours_to_read().await
    }

    /// The connection for reading, if the open transaction is the one that was begun.
    pub(crate) async fn ours_to_read(&mut self) -> Result<&mut SqliteConnection, DatabaseError> {
        if std::mem::take(&mut self.lent) {
            // A statement of the application that was dropped half-way may still be in flight.
            answered(self.connection().ping()).await.map_err(classify)?;
        }
        if self.writer.as_ref().is_some_and(|writer| writer.fence.was_hit()) {
            return Err(DatabaseError::TransactionEnded(
                "it was rolled back, also if it was to be committed, and nothing of it is stored",
            ));
        }
        Ok(self.connection())
    }

    /// Commits, after an optional last statement. After an error the transaction is rolled back, if it still exists. Nothing is committed
    /// to a lost file; if it is lost at the very moment of the commit, it is unknown which file other programs read.
    pub(crate) async fn commit(mut self, first: Option<String>) -> Result<(), DatabaseError> {
        self.ours_to_read().await?;
        self.check_file()?;
        self.writer.iter().for_each(|writer| writer.fence.open());
        let commit = first.unwrap_or_default() + "commit";
        match sqlx::raw_sql(AssertSqlSafe(commit)).execute(self.connection()).await {
            Ok(_) => {
                let kept = self.check_file();
                self.let_go();
                kept.map_err(|lost| DatabaseError::CommitUnknown(lost.to_string()))
            }
            Err(error) => match effect(&error) {
                Effect::Unknown => Err(DatabaseError::CommitUnknown(classify(error).to_string())),
                _ => Err(classify(error)),
            },
        }
    }

    /// A transaction that only read loses nothing with the file, and its lock was valid until now.
    fn check_file(&self) -> Result<(), DatabaseError> {
        self.writer.as_ref().map_or(Ok(()), |writer| match self.wrote {
            true => writer.file.check(),
            false => writer.file.check_lately(),
        })
    }

    /// Rolls back and waits for its completion.
    pub(crate) async fn rollback(mut self) -> Result<(), DatabaseError> {
        let is_over = self.ours_to_read().await.is_err();
        let Some(writer) = &mut self.writer else { return Ok(()) };
        match writer.roll_back().await {
            // Dropping this replaces the connection.
            Err(error @ sqlx::Error::WorkerCrashed) => Err(classify(error)),
            Err(error) if !is_over => Err(classify(error)),
            _ => {
                self.let_go();
                Ok(())
            }
        }
    }
}

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        let Some(mut writer) = self.writer.take() else { return };
        match tokio::runtime::Handle::try_current() {
            // The connection stays checked out until the rollback is done, so the next user finds it clean.
            Ok(runtime) => drop(runtime.spawn(async move { roll_back(&mut writer).await })),
            // Outside a runtime this needs one of its own.
            Err(_) => drop(std::thread::spawn(move || {
                if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() {
                    runtime.block_on(roll_back(&mut writer));
                }
            })),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.leave_others_alone();
    }
}

/// The answer of a connection that the application may have used. Its thread may be dead: the driver panics over a prepared `select *` whose
/// table has more columns now, and a command that is sent at that moment has no answer. It may also still run a statement whose caller was
/// dropped; that is interrupted then.
async fn answered<T>(answer: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
    tokio::time::timeout(2 * patience::GRACE, answer).await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
}

async fn roll_back(writer: &mut Writer) {
    match writer.roll_back().await {
        // The fence stays shut until the connection answers, or is replaced.
        Err(sqlx::Error::WorkerCrashed) => writer.fence.interrupt(),
        Err(error) => {
            // "No transaction is active" is the normal error if BEGIN had failed or COMMIT had succeeded.
            tracing::debug!(%error, "nothing to roll back");
            writer.fence.open();
        }
        Ok(()) => writer.fence.open(),
    }
    writer.turns.has_written();
    if writer.lent {
        warn_if_not_clean(writer).await;
    }
}

async fn warn_if_not_clean(writer: &mut Writer) {
    if let Err(error) = writer.connection().await {
        tracing::warn!(%error, "the settings of the writing connection could not be read back; the next transaction tries again");
    }
}

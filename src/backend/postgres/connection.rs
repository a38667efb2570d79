//! A transaction that cannot outlive its owner, and whose waits end at one deadline.

use std::pin::pin;
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Postgres, Row};
use tokio::runtime::Handle;

use super::errors::{classify, effect, is_not_ours};
use super::operation;
use super::pools::Pools;
use crate::backend::kept::Kept;
use crate::backend::{Effect, alarm, reserve};
use crate::error::DatabaseError;
use crate::lock_mode::Wait;
use crate::operation::OperationId;

/// The shortest wait in which it is asked who is in the way.
const WORTH_ASKING: Duration = Duration::from_millis(100);

/// A transaction under way. However its owner goes away (an error, a panic, a request whose browser hung up in the
/// middle of `begin`), it is rolled back before anybody else gets the connection.
///
/// sqlx's own transaction is not enough: in 0.9.0 a `begin` that is cancelled leaves an open transaction behind.
pub(super) struct OpenTransaction {
    /// `None` once it has ended.
    connection: Option<PoolConnection<Postgres>>,
    asked: Instant,
    budget: Duration,
    /// What `lock_timeout` was last set to.
    timeout: Duration,
    /// The number of the server's process, by which others can ask what it waits for.
    process: i32,
    /// What others are told who find it in their way, as it is written into a text.
    label: Option<String>,
    /// Where the connection may be kept for the next transaction, and the pool that it is of.
    kept: Option<(Kept<Postgres>, PgPool)>,
    /// Whether the application had the connection in its hands since our last statement.
    lent: bool,
    /// Whether it ever had.
    was_lent: bool,
}

impl OpenTransaction {
    /// Begins, with a budget for everything that has to be waited for: first for a connection, then for locks. The label
    /// is what others are told who find this transaction in their way.
    pub(super) async fn begin(pools: &Pools, wait: Wait, label: Option<&str>) -> Result<Self, DatabaseError> {
        let asked = Instant::now();
        let (connection, process) = match pools.kept.take() {
            Some((connection, process)) => (connection, i32::try_from(process).ok()),
            None => (pools.main.acquire().await.map_err(classify)?, None),
        };
        let mut open = Self::begin_on(connection, process, asked, wait, label).await?;
        open.kept = Some((pools.kept.clone(), pools.main.clone()));
        Ok(open)
    }

    /// Begins for an operation of the lock manager, also when the application's transactions have all connections.
    pub(super) async fn begin_for_leases(pools: &Pools) -> Result<Self, DatabaseError> {
        let asked = Instant::now();
        Self::begin_on(pools.for_one().await?, None, asked, Wait::default(), None).await
    }

    /// Begins on a connection whose number is known, or asked for with the same message.
    async fn begin_on(
        connection: PoolConnection<Postgres>,
        process: Option<i32>,
        asked: Instant,
        wait: Wait,
        label: Option<&str>,
    ) -> Result<Self, DatabaseError> {
        // A lock timeout of 0 would be none at all; a millisecond is as good as not waiting.
        let budget = wait.budget().max(Duration::from_millis(1));
        let timeout = budget.saturating_sub(asked.elapsed()).max(Duration::from_millis(1));
        let label = label.map(|label| shown(label).replace('\'', "''"));
        let mut begin = begin_with(timeout, label.as_deref());
        if process.is_none() {
            begin += "; select pg_backend_pid()";
        }
        // From here on dropping this rolls back, also in the middle of BEGIN.
        let mut transaction = OpenTransaction {
            connection: Some(connection),
            asked,
            budget,
            timeout,
            process: process.unwrap_or_default(),
            label,
            kept: None,
            lent: false,
            was_lent: false,
        };
        let begun = sqlx::raw_sql(AssertSqlSafe(begin)).fetch_all(transaction.connection()).await.map_err(classify)?;
        if let Some(row) = begun.first() {
            transaction.process = row.try_get(0).map_err(classify)?;
        }
        Ok(transaction)
    }

    /// The connection it runs on.
    pub(super) fn connection(&mut self) -> &mut PgConnection {
        self.connection.as_mut().expect("a transaction has its connection until it has ended, and ending consumes it")
    }

    /// The connection, for a statement that may have to wait for a lock: `lock_timeout` counts per lock, so it is set
    /// to what is left of the budget once earlier waits have used some of it up.
    pub(super) async fn waiting(&mut self) -> Result<&mut PgConnection, DatabaseError> {
        self.ours().await?;
        let left = self.budget.saturating_sub(self.asked.elapsed()).max(Duration::from_millis(1));
        if self.timeout.saturating_sub(left) > Duration::from_millis(20) {
            let set = format!("set local lock_timeout = {}", millis_up(left));
            sqlx::raw_sql(AssertSqlSafe(set)).execute(self.connection()).await.map_err(classify)?;
            self.timeout = left;
        }
        Ok(self.connection())
    }

    /// Does something that may have to wait for a lock. Whoever is in the way can only be asked for while the wait lasts,
    /// so that is done shortly before it ends, on another connection.
    pub(super) async fn wait_for<T>(
        &mut self,
        pool: &PgPool,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let (asked, process) = (self.asked, self.process);
        let left = self.budget.saturating_sub(asked.elapsed());
        let connection = self.waiting().await?;
        let mut work = pin!(work(connection));
        let mut holder = None;
        let result = tokio::select! {
            biased;
            result = &mut work => result,
            // A short wait is over before anybody has answered.
            () = alarm::after(left.mul_f32(0.8)), if left >= WORTH_ASKING => {
                holder = tokio::time::timeout(left.mul_f32(0.2), blocker(pool, process)).await.ok().flatten();
                work.await
            }
        };
        result.map_err(|error| match error {
            DatabaseError::LockTimeout { .. } => DatabaseError::LockTimeout { waited: asked.elapsed(), holder },
            error => error,
        })
    }

    /// The connection, for the application's own statements: their errors are not seen here.
    pub(super) fn lend(&mut self) -> &mut PgConnection {
        (self.lent, self.was_lent) = (true, true);
        self.connection()
    }

    /// The connection, if the transaction is still there that was begun. It was begun as deferrable, which means nothing at
    /// READ COMMITTED, costs nothing, and is not so of what comes after it on this connection.
    pub(super) async fn ours(&mut self) -> Result<&mut PgConnection, DatabaseError> {
        if self.lent {
            let asked = "select current_setting('transaction_deferrable') = 'on'";
            let row = sqlx::raw_sql(asked).fetch_one(self.connection()).await.map_err(classify)?;
            if !row.try_get::<bool, _>(0).map_err(classify)? {
                return Err(DatabaseError::TransactionEnded(ENDED));
            }
            self.lent = false;
        }
        Ok(self.connection())
    }

    /// Commits. PostgreSQL answers COMMIT of an aborted transaction with ROLLBACK, and outside of one with a warning, and the
    /// driver says `Ok` to both; so where the application had the connection, a statement goes before it, in the same round
    /// trip, which fails where the transaction is aborted or not [ours](Self::ours).
    pub(super) async fn commit(mut self, operation: Option<&OperationId>) -> Result<(), DatabaseError> {
        let first = operation.map(|operation| format!("{}; ", operation::carried(operation))).unwrap_or_default();
        let ours = if self.was_lent { OURS } else { "" };
        let commit = format!("{ours}{first}commit");
        match sqlx::raw_sql(AssertSqlSafe(commit)).execute(self.connection()).await {
            Ok(_) => {
                self.keep();
                Ok(())
            }
            Err(error) => match effect(&error) {
                Effect::Unknown => Err(DatabaseError::CommitUnknown(error.to_string())),
                _ if self.was_lent && is_not_ours(&error) => Err(DatabaseError::TransactionEnded(ENDED)),
                // The server said no: it has rolled back.
                _ => Err(classify(error)),
            },
        }
    }

    /// Rolls back and begins anew, with what is left of the budget.
    pub(super) async fn begin_again(&mut self) -> Result<(), DatabaseError> {
        self.timeout = self.budget.saturating_sub(self.asked.elapsed()).max(Duration::from_millis(1));
        let begin = format!("rollback; {}", begin_with(self.timeout, self.label.as_deref()));
        sqlx::raw_sql(AssertSqlSafe(begin)).execute(self.connection()).await.map(drop).map_err(classify)
    }

    /// Commits, and gives back the answer that came about.
    pub(super) async fn committing<T>(self, answer: T) -> Result<T, DatabaseError> {
        self.commit(None).await?;
        Ok(answer)
    }

    /// Rolls back and waits until it is done.
    pub(super) async fn rollback(mut self) -> Result<(), DatabaseError> {
        // What the application has committed is not rolled back by this. (Any other error is one of an aborted transaction.)
        let ended = self.ours().await.err().filter(|error| matches!(error, DatabaseError::TransactionEnded(_)));
        let rolled_back = sqlx::raw_sql("rollback").execute(self.connection()).await;
        if rolled_back.is_ok() {
            self.keep();
        }
        rolled_back.map_err(classify)?;
        ended.map_or(Ok(()), Err)
    }

    /// Keeps the connection for the next transaction, unless somebody may be waiting for one.
    fn keep(&mut self) {
        let connection = self.connection.take();
        if let (Some(connection), Some((kept, pool))) = (connection, &self.kept)
            && !reserve::is_busy(pool)
        {
            kept.keep(connection, self.process.into(), &Handle::current());
        }
    }
}

/// The text that begins.
fn begin_with(timeout: Duration, label: Option<&str>) -> String {
    let begin = "begin isolation level read committed, deferrable; set local lock_timeout = ";
    let label = label.map(|label| format!("; set local application_name = '{label}'")).unwrap_or_default();
    format!("{begin}{}{label}", millis_up(timeout))
}

/// Fails by a division by zero where the transaction is not the one that was begun.
const OURS: &str = "select 1 / (current_setting('transaction_deferrable') = 'on')::int; ";

const ENDED: &str = "what was saved before is stored if that was a COMMIT, and undone if it was a ROLLBACK; nothing was saved \
                     after it";

const BLOCKER: &str = "
    select format('%s (%s, %s since %s)', application_name, usename, state, to_char(state_change, 'HH24:MI:SS'))
      from pg_stat_activity where pid = any (pg_blocking_pids($1)) order by xact_start limit 1";

/// Who is in the way of the transaction of this process of the server. It is only said to people, so a failure is none.
async fn blocker(pool: &PgPool, process: i32) -> Option<String> {
    sqlx::query_scalar(BLOCKER).bind(process).fetch_optional(pool).await.ok().flatten()
}

/// A label as PostgreSQL can show it: it cuts application names to 63 bytes, and has question marks for what is not ASCII.
fn shown(label: &str) -> String {
    let label = label.chars().filter(|c| !c.is_control()).map(|c| if c.is_ascii() { c } else { '?' });
    label.map(|c| if c == '\\' { '/' } else { c }).take(63).collect()
}

/// Whole milliseconds, rounded up: a wait does not end before its time.
fn millis_up(duration: Duration) -> u128 {
    duration.as_micros().div_ceil(1000)
}

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        match tokio::runtime::Handle::try_current() {
            // The connection stays taken until the rollback is done, so the next owner finds it clean. A statement that
            // is still waiting for a lock ends at its own timeout first.
            Ok(runtime) => drop(runtime.spawn(async move {
                if let Err(error) = sqlx::raw_sql("rollback").execute(&mut *connection).await {
                    tracing::warn!(%error, "a rollback failed; the connection is closed");
                    connection.detach();
                }
            })),
            // Without a runtime nothing can be awaited: a closed connection rolls back as well.
            Err(_) => drop(connection.detach()),
        }
    }
}

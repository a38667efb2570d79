//! A transaction that cannot outlive its owner, and whose waits end at one deadline.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool, Row};
use tokio::runtime::Handle;

use super::checkout::Checkout;
use super::errors::{self, classify, effect};
use super::overdue::Cancellations;
use super::pools::Pools;
use crate::db::server::recent::Kept;
use crate::db::server::reserve;
use crate::db::{Effect, patience};
use crate::error::DatabaseError;
use crate::row_lock::Wait;

/// The shortest wait for which the blocker is queried.
const WORTH_ASKING: Duration = Duration::from_millis(100);
/// How long after the deadline a statement that waits for one lock after another is cancelled.
const OVERDUE: Duration = Duration::from_millis(20);

/// An open transaction. If its owner ends in any way (an error, a panic, a client that disconnects in the middle of `begin`), it is rolled
/// back before the connection is used again.
///
/// sqlx's own transaction is not enough: in 0.9.0 a `begin` that is cancelled leaves an open transaction behind.
pub(crate) struct OpenTransaction {
    /// `None` once it has ended.
    connection: Option<Checkout>,
    asked: Instant,
    budget: Duration,
    /// The last value of `lock_timeout`.
    timeout: Duration,
    /// The backend process id, by which another session can find its blocker.
    process: i32,
    /// Since when the pool lacks the connection.
    away: Instant,
    /// What was sent to end its statements.
    cancellations: Cancellations,
    /// The pools for querying its blocker.
    pools: Arc<Pools>,
    /// Whether it is an operation of the lock manager.
    ours: bool,
    /// Whether the application used the connection since our last statement.
    lent: bool,
    /// Whether the application ever used it.
    was_lent: bool,
}

impl OpenTransaction {
    /// Begins with a budget for all waits: first for a connection, then for locks. The label
    /// names this transaction to the sessions that it blocks.
    pub(crate) async fn begin(pools: &Arc<Pools>, wait: Wait, label: Option<&str>) -> Result<Self, DatabaseError> {
        let asked = Instant::now();
        let (connection, kept) = pools.of_main(wait.budget()).await?;
        Self::begin_on(connection, kept, pools, (asked, wait.budget()), wait.budget(), label).await
    }

    /// Begins for an operation of the lock manager, also when the application uses all of its connections. It has the rest of the
    /// operation's time, or less if it is not to wait for others.
    pub(crate) async fn begin_for_leases(pools: &Arc<Pools>, waits: bool) -> Result<Self, DatabaseError> {
        let (asked, left) = (Instant::now(), patience::left());
        let (connection, longest) = match waits {
            true => (pools.for_one(left).await?, left),
            false => (pools.checkout(&pools.batches, left).await?, patience::FOR_AN_INSERT),
        };
        let mut open = Self::begin_on(connection, None, pools, (asked, left), longest, None).await?;
        open.ours = true;
        Ok(open)
    }

    /// Begins on a connection whose process id is known, or is queried in the same message. No wait for a lock is longer than the longest.
    async fn begin_on(
        connection: Checkout,
        kept: Option<Kept>,
        pools: &Arc<Pools>,
        (asked, budget): (Instant, Duration),
        longest: Duration,
        label: Option<&str>,
    ) -> Result<Self, DatabaseError> {
        // A lock timeout of 0 would mean no limit; a millisecond is as good as no wait.
        let budget = budget.max(Duration::from_millis(1));
        let timeout = budget.saturating_sub(asked.elapsed()).min(longest).max(Duration::from_millis(1));
        let label = label.map(|label| shown(label).replace('\'', "''"));
        let mut begin = begin_with(timeout, label.as_deref());
        if kept.is_none() {
            begin += "; select pg_backend_pid(), current_setting('transaction_isolation')";
        }
        // From here on dropping this rolls back, also in the middle of BEGIN.
        let mut transaction = OpenTransaction {
            connection: Some(connection),
            asked,
            budget,
            timeout,
            process: kept.map(|kept| kept.number).and_then(|number| i32::try_from(number).ok()).unwrap_or_default(),
            away: kept.map_or(asked, |kept| kept.away),
            cancellations: Cancellations::default(),
            pools: Arc::clone(pools),
            ours: false,
            lent: false,
            was_lent: false,
        };
        let begun = async |connection: &mut PgConnection| {
            sqlx::raw_sql(AssertSqlSafe(begin)).fetch_all(connection).await.map_err(classify)
        };
        let begun = transaction.run(begun).await?;
        if let Some(row) = begun.first() {
            transaction.process = row.try_get(0).map_err(classify)?;
            errors::read_committed(&row.try_get::<String, _>(1).map_err(classify)?)?;
        }
        Ok(transaction)
    }

    /// Ends its backend process, on another connection.
    pub(crate) fn session_end(&self) -> impl Future<Output = Result<(), DatabaseError>> + Send + use<> {
        let (pools, process) = (Arc::clone(&self.pools), self.process);
        async move {
            let end = sqlx::query("select pg_terminate_backend($1)").bind(process);
            end.execute(&pools.batches).await.map(drop).map_err(classify)
        }
    }

    fn left(&self) -> Duration {
        self.budget.saturating_sub(self.asked.elapsed())
    }

    fn connection(&mut self) -> Result<&mut Checkout, DatabaseError> {
        Ok(self.connection.as_mut().expect(HAS_ITS_CONNECTION))
    }

    /// Runs work that waits for no lock.
    pub(crate) async fn run<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        self.still_ours().await?;
        self.send(work).await
    }

    /// As [`run`](Self::run), without the check of the application's statements.
    async fn send<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let limit = patience::limit(self.left());
        self.connection()?.answer(limit, work).await
    }

    /// Runs work that may wait for locks, and ends it at the deadline. `lock_timeout` counts per lock, so it is reduced to the rest of the
    /// budget after earlier waits; a statement that waits for one lock after another is cancelled by another connection. Work without a
    /// wait has the time limit of an answer.
    ///
    /// The blocker can only be queried during the wait, so that is done shortly before its end.
    pub(crate) async fn wait_for<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        self.still_ours().await?;
        self.shorten().await?;
        let (asked, process, left) = (self.asked, self.process, self.left());
        let (pools, limit) = (Arc::clone(&self.pools), patience::limit(left));
        let (deadline, given_up) = (Instant::now() + left, Instant::now() + limit);
        let OpenTransaction { connection, cancellations, .. } = self;
        let connection = connection.as_mut().expect(HAS_ITS_CONNECTION);
        let mut holder = None;
        let result = {
            let mut work = pin!(work(connection.open()?));
            // A short wait is over before the answer.
            let worth_asking = left >= WORTH_ASKING;
            tokio::select! {
                biased;
                result = &mut work => Some(result),
                () = tokio::time::sleep(if worth_asking { left.saturating_sub(patience::to_find_the_blocker(left)) } else { left + OVERDUE }) => {
                    let ask = async {
                        if worth_asking {
                            let asked = tokio::time::timeout_at(deadline.into(), blocker(&pools.batches, process));
                            holder = asked.await.ok().flatten();
                            tokio::time::sleep_until((deadline + OVERDUE).into()).await;
                        }
                        while Instant::now() < given_up {
                            let end = cancellations.end_wait(&pools.batches, process);
                            let _ = tokio::time::timeout_at(given_up.into(), end).await;
                            tokio::time::sleep(OVERDUE).await;
                        }
                    };
                    tokio::select! {
                        biased;
                        result = &mut work => Some(result),
                        () = ask => None,
                    }
                }
            }
        };
        // A cancellation that is still under way would end the next statement.
        if result.is_some() && !cancellations.are_over(given_up).await {
            connection.close();
        }
        match result {
            None => Err(connection.has_no_answer(limit)),
            Some(Ok(_)) if connection.is_closed() => Err(DatabaseError::ConnectionLost(
                "the cancellation of a statement that was overdue had no answer, so the connection was closed".into(),
            )),
            // Cancelled: at the deadline by us, or before it by the server's `statement_timeout`.
            Some(Err(error)) if error.is_lock_timeout() || errors::is_cancelled(&error) => {
                Err(DatabaseError::LockTimeout { waited: asked.elapsed(), holder })
            }
            Some(Err(error)) => {
                connection.noticed(&error);
                Err(error)
            }
            Some(Ok(done)) => Ok(done),
        }
    }

    /// Sends the time limit of the next lock to the server.
    async fn shorten(&mut self) -> Result<(), DatabaseError> {
        let left = self.left().max(Duration::from_millis(1));
        if self.timeout.saturating_sub(left) > Duration::from_millis(20) {
            let set = format!("set local lock_timeout = {}", millis_up(left));
            let set = async |connection: &mut PgConnection| {
                sqlx::raw_sql(AssertSqlSafe(set)).execute(connection).await.map(drop).map_err(classify)
            };
            self.send(set).await?;
            self.timeout = left;
        }
        Ok(())
    }

    /// Notes that the application has composed a statement.
    #[cfg(feature = "sea-orm")]
    pub(crate) fn notes_own_statement(&mut self) {
        self.was_lent = true;
    }

    /// The connection, for the application's own statements: their errors are not visible here.
    pub(crate) fn lend(&mut self) -> Option<&mut PgConnection> {
        (self.lent, self.was_lent) = (true, true);
        self.connection.as_mut()?.open().ok()
    }

    /// Fails if the open transaction is not the one that was begun. That one was begun as deferrable, which has no effect and no cost at
    /// READ COMMITTED, and is not set for a later transaction on this connection.
    async fn still_ours(&mut self) -> Result<(), DatabaseError> {
        if self.lent {
            let asked = "select current_setting('transaction_deferrable') = 'on'";
            let same = async |connection: &mut PgConnection| {
                let row = sqlx::raw_sql(asked).fetch_one(connection).await.map_err(classify)?;
                row.try_get::<bool, _>(0).map_err(classify)
            };
            if !self.send(same).await? {
                return Err(DatabaseError::TransactionEnded(ENDED));
            }
            self.lent = false;
        }
        Ok(())
    }

    /// Commits. PostgreSQL answers COMMIT of an aborted transaction with ROLLBACK, and outside a transaction with a warning, and the driver
    /// returns `Ok` for both. So if the application used the connection, a statement in the same round trip fails first if the transaction
    /// is aborted or [another one](Self::still_ours).
    ///
    /// A text that is carried runs in the message of the COMMIT.
    pub(crate) async fn commit(mut self, carried: Option<String>) -> Result<(), DatabaseError> {
        let first = carried.unwrap_or_default();
        let (ours, was_lent) = (self.ours, self.was_lent);
        let same = if was_lent { SAME } else { "" };
        let durable = if was_lent && !self.pools.set_up.volatile { DURABLE } else { "" };
        let commit = format!("{same}{durable}{first}commit");
        let unknown = |what| match ours {
            true => DatabaseError::OutcomeUnknown(what),
            false => DatabaseError::CommitUnknown(what),
        };
        let (mut sent, mut answered) = (false, false);
        let committed = async |connection: &mut PgConnection| {
            sent = true;
            let committed = sqlx::raw_sql(AssertSqlSafe(commit)).execute(connection).await;
            answered = true;
            committed.map(drop).map_err(|error| match effect(&error) {
                Effect::Unknown => unknown(error.to_string()),
                _ if was_lent && errors::is_not_ours(&error) => DatabaseError::TransactionEnded(ENDED),
                // The server refused: it has rolled back.
                _ => classify(error),
            })
        };
        match self.send(committed).await {
            Err(DatabaseError::ConnectionLost(what)) if sent && !answered => Err(unknown(what)),
            Err(error) => Err(error),
            Ok(()) => {
                self.keep(true);
                Ok(())
            }
        }
    }

    /// Rolls back and waits for its completion.
    pub(crate) async fn rollback(mut self) -> Result<(), DatabaseError> {
        // This cannot roll back what the application has committed. (Any other error is that of an aborted transaction.)
        let ended = self.still_ours().await.err().filter(|error| matches!(error, DatabaseError::TransactionEnded(_)));
        self.send(roll_back).await?;
        self.keep(false);
        ended.map_or(Ok(()), Err)
    }

    /// Keeps the connection for the next transaction, unless another caller may wait for one. Reserved connections are not kept.
    fn keep(&mut self, committed: bool) {
        let Some(mut connection) = self.connection.take() else { return };
        if self.was_lent {
            let pools = Arc::clone(&self.pools);
            tokio::spawn(async move { bring_back(&mut connection, &pools, committed).await });
            return;
        }
        if !self.ours
            && !reserve::is_busy(&self.pools.main)
            && let Some(connection) = connection.into_inner()
        {
            let kept = Kept { number: self.process.into(), away: self.away };
            self.pools.recent.keep(connection, kept, &Handle::current());
        }
    }
}

/// Undoes what the application has set on the connection; if that fails, the connection is closed. If the transaction was not committed,
/// one of the application's prepared statements may be the reason: the server refuses it for ever once the columns of its answer have
/// changed (`select *`, and a migration). So all are prepared again.
async fn bring_back(connection: &mut Checkout, pools: &Pools, committed: bool) {
    let clean = async |connection: &mut PgConnection| {
        if !committed {
            connection.clear_cached_statements().await.map_err(classify)?;
        }
        pools.set_up.bring_back(connection).await.map_err(classify)
    };
    if let Err(error) = connection.answer(patience::GRACE, clean).await {
        tracing::warn!(%error, "the settings of a connection could not be reset; it is closed");
        connection.close();
    }
}

async fn roll_back(connection: &mut PgConnection) -> Result<(), DatabaseError> {
    sqlx::raw_sql("rollback").execute(connection).await.map(drop).map_err(classify)
}

/// The text of BEGIN.
fn begin_with(timeout: Duration, label: Option<&str>) -> String {
    let begin = "begin isolation level read committed, deferrable; set local lock_timeout = ";
    let label = label.map(|label| format!("; set local application_name = '{label}'")).unwrap_or_default();
    format!("{begin}{}{label}", millis_up(timeout))
}

/// Fails by a division by zero if the transaction is not the one that was begun.
const SAME: &str = "select 1 / (current_setting('transaction_deferrable') = 'on')::int; ";

/// Waits for the flush also if the application has set otherwise for this transaction, and never for less than was set.
const DURABLE: &str = "select set_config('synchronous_commit', 'on', true)
    where current_setting('synchronous_commit') in ('off', 'local', 'remote_write'); ";

const HAS_ITS_CONNECTION: &str = "a transaction has its connection until it has ended, and ending consumes it";

const ENDED: &str = "what was saved before is stored if that was a COMMIT, and undone if it was a ROLLBACK; nothing was saved \
                     after it";

const BLOCKER: &str = "
    select format('%s (%s, %s since %s)', application_name, usename, state, to_char(state_change, 'HH24:MI:SS'))
      from pg_stat_activity where pid = any (pg_blocking_pids($1)) order by xact_start limit 1";

/// The session that blocks this backend process. It is for messages only, so errors are ignored.
async fn blocker(pool: &PgPool, process: i32) -> Option<String> {
    sqlx::query_scalar(BLOCKER).bind(process).fetch_optional(pool).await.ok().flatten()
}

/// A label as PostgreSQL can show it: it cuts application names to 63 bytes, and replaces non-ASCII characters by question marks.
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
        let Some(mut connection) = self.connection.take().filter(|connection| !connection.is_closed()) else { return };
        let limit = patience::limit(self.left());
        let mut cancellations = std::mem::take(&mut self.cancellations);
        let lent_from = self.was_lent.then(|| Arc::clone(&self.pools));
        match Handle::try_current() {
            // The connection stays checked out until the rollback is done, so the next user finds it clean. A statement that still waits
            // for a lock ends at its own timeout first.
            Ok(runtime) => drop(runtime.spawn(async move {
                if !cancellations.are_over(Instant::now() + limit).await {
                    connection.close();
                } else if let Err(error) = connection.answer(limit, roll_back).await {
                    tracing::warn!(%error, "a rollback failed; the connection is closed");
                    connection.close();
                } else if let Some(pools) = lent_from {
                    bring_back(&mut connection, &pools, false).await;
                }
            })),
            // Without a runtime nothing can be awaited: closing the connection rolls back too.
            Err(_) => connection.close(),
        }
    }
}

//! A transaction that cannot outlive its owner, and whose waits end at one deadline.

use std::pin::pin;
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, MySql, MySqlPool, Row};

use super::blocker::{Label, Labels, SHORTEST, blocker};
use super::deadline::{Deadline, Flavour, Waits};
use super::errors::{classify, classify_commit};
use super::session::Session;
use crate::db::patience;
use crate::db::server::checkout::{self, Silence};
use crate::db::server::durability::Refusals;
use crate::db::server::recent::{Kept, RecentConnections};
use crate::db::server::reserve;
use crate::error::DatabaseError;
use crate::row_lock::Wait;

/// The pools. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Connections {
    pub pool: MySqlPool,
    /// Connections of that pool which had a transaction a moment ago.
    pub recent: RecentConnections<MySql>,
    /// For batches of the lock table: they never wait for a lock, and waiting sessions cannot exhaust them.
    pub leases: MySqlPool,
    /// For single requests to the lock table when the others are busy: they may wait for a lock.
    pub alone: MySqlPool,
    pub flavour: Flavour,
    /// The last silence of any of these connections.
    pub silence: Silence,
    /// Why new connections are refused.
    pub refusals: Refusals,
    /// How long a transaction may be idle before the server ends it.
    pub idle: Duration,
    /// As `idle`, for batches of the lock table.
    pub idle_of_batches: Duration,
    /// The server's own limits of waits.
    pub waits: Waits,
    /// How many bytes the server accepts in one message.
    pub largest_packet: usize,
    /// The labels of this process's transactions.
    pub labels: Labels,
}

impl Connections {
    /// A connection, for statements that are transactions of their own.
    pub(crate) async fn acquire(&self, left: Duration) -> Result<Session, DatabaseError> {
        match reserve::is_busy(&self.pool).then(|| self.take_recent()).flatten() {
            Some((mut session, _)) => {
                session.close("set autocommit = 1".to_owned()).await.map_err(classify)?;
                Ok(session)
            }
            None => self.acquired(checkout::acquire(&self.pool, left), self.idle).await,
        }
    }

    /// A connection that had a transaction a moment ago, with its id.
    fn take_recent(&self) -> Option<(Session, Kept)> {
        let (connection, kept) = self.recent.take(&self.silence)?;
        Some((Session::on(connection, self, self.idle), kept))
    }

    async fn acquired(
        &self,
        acquire: impl Future<Output = Result<PoolConnection<MySql>, sqlx::Error>>,
        idle: Duration,
    ) -> Result<Session, DatabaseError> {
        // Boxed: it contains the opening of a connection, and would make every operation as large.
        let connection = self.refusals.or(classify, Box::pin(acquire)).await?;
        Ok(Session::on(connection, self, idle))
    }

    /// A connection for an operation of the lock manager that may have to wait, also when the application uses all
    /// of its own.
    pub(crate) async fn acquire_for_one(&self) -> Result<Session, DatabaseError> {
        self.acquired(reserve::acquire(&self.pool, &self.alone, patience::left()), self.idle).await
    }

    pub(crate) async fn close(&self) {
        self.recent.close();
        tokio::join!(self.pool.close(), self.leases.close(), self.alone.close());
    }

    /// A connection that is reserved for leases.
    pub(crate) async fn acquire_for_leases(&self) -> Result<Session, DatabaseError> {
        self.acquired(checkout::acquire(&self.leases, patience::left()), self.idle_of_batches).await
    }
}

/// Rounded up, because a limit of 0 means none.
pub(crate) fn whole_seconds(limit: Duration) -> u128 {
    limit.as_millis().div_ceil(1000)
}

const NUMBER: &str = "select cast(connection_id() as signed)";

/// An open transaction. If its owner ends in any way (an error, a panic, a client that disconnects in the middle of `begin`), the
/// [`Session`] rolls it back before the connection is used again.
pub(crate) struct OpenTransaction {
    session: Session,
    connections: Connections,
    /// The id of the connection, by which another session can find its blocker.
    connection: i64,
    /// Since when the pool lacks the connection.
    away: Instant,
    /// Whether the connection may be kept for the next transaction: not if it is a reserved one.
    keeps: bool,
    /// Whether it is an operation of the lock manager.
    ours: bool,
    /// The label for other sessions; it is removed with the transaction.
    _label: Option<Label>,
}

impl OpenTransaction {
    /// Begins with a budget for all waits: first for a connection, then for locks. The label names this transaction to the sessions that it
    /// blocks.
    ///
    /// Autocommit is off during the transaction; switching it off begins it. After a deadlock the server has no transaction any more, and
    /// with autocommit the next statement would be committed. So the server begins another one, which is not committed.
    pub(crate) async fn begin(
        connections: &Connections,
        wait: Wait,
        label: Option<&str>,
    ) -> Result<Self, DatabaseError> {
        let deadline = Deadline::start(wait, connections.waits);
        let (session, kept) = match connections.take_recent() {
            Some((session, kept)) => (session, Some(kept)),
            None => (connections.acquire(wait.budget()).await?, None),
        };
        let mut open = Self::begin_as(session, connections, kept, deadline, label).await?;
        open.keeps = true;
        Ok(open)
    }

    /// Begins for an operation of the lock manager, with what is left of its time, or less if it is not to wait for others.
    pub(crate) async fn begin_for_leases(connections: &Connections, waits: bool) -> Result<Self, DatabaseError> {
        let (deadline, session) = match waits {
            true => (Deadline::start(patience::wait(), connections.waits), connections.acquire_for_one().await?),
            false => {
                let session = connections.acquire_for_leases().await?;
                (Deadline::of_short_waits(patience::FOR_AN_INSERT, patience::left(), connections.waits), session)
            }
        };
        let mut open = Self::begin_as(session, connections, None, deadline, None).await?;
        open.ours = true;
        Ok(open)
    }

    /// Begins on a connection whose id is known, or is queried in the same message.
    async fn begin_as(
        mut session: Session,
        connections: &Connections,
        kept: Option<Kept>,
        mut deadline: Deadline,
        label: Option<&str>,
    ) -> Result<Self, DatabaseError> {
        let away = kept.map_or_else(Instant::now, |kept| kept.away);
        let begin = match (connections.flavour, kept) {
            // Autocommit is already off.
            (_, Some(_)) => "savepoint tenure".to_owned(),
            // MariaDB gets its limit with each statement that may wait.
            (Flavour::MariaDb, None) => format!("set autocommit = 0; savepoint tenure; {NUMBER}"),
            (Flavour::MySql, None) => {
                let told = deadline.tell(Flavour::MySql);
                // MySQL has no idle limit for transactions, but one for connections.
                let idle = match session.idle() {
                    Duration::ZERO => String::new(),
                    idle => format!(", wait_timeout = {}", whole_seconds(idle)),
                };
                format!("set autocommit = 0, {told}{idle}; savepoint tenure; {NUMBER}")
            }
        };
        let row = session.begin(begin, deadline).await.map_err(classify)?;
        let connection = match (kept, row) {
            (Some(kept), _) => kept.number,
            (None, Some(row)) => row.try_get(0).map_err(classify)?,
            (None, None) => return Err(classify(sqlx::Error::RowNotFound)),
        };
        let _label = label.map(|label| connections.labels.put(connection, label));
        let connections = connections.clone();
        Ok(OpenTransaction { session, connections, connection, away, keeps: false, ours: false, _label })
    }

    pub(crate) fn flavour(&self) -> Flavour {
        self.connections.flavour
    }

    /// The connection it runs on.
    pub(crate) fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Ends its session, on another connection.
    pub(crate) fn session_end(&self) -> impl Future<Output = Result<(), DatabaseError>> + Send + use<> {
        let (connections, connection) = (self.connections.clone(), self.connection);
        async move {
            let kill = sqlx::raw_sql(AssertSqlSafe(format!("kill {connection}")));
            kill.execute(&connections.leases).await.map(drop).map_err(classify)
        }
    }

    /// Runs work that may wait for a lock. The blocker can only be queried during the wait, so that is done shortly before its end, on
    /// another connection.
    pub(crate) async fn wait_for<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Session) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let (connections, connection) = (&self.connections, self.connection);
        let left = self.session.deadline().map(Deadline::left).unwrap_or_default();
        let ask = patience::to_find_the_blocker(left);
        let mut holder = None;
        let result = {
            let mut work = pin!(work(&mut self.session));
            // The server's tables do not contain shorter waits.
            tokio::select! {
                biased;
                result = &mut work => result,
                () = tokio::time::sleep(left.saturating_sub(ask)), if left >= SHORTEST => {
                    // If no connection is free for the query, the deadline still holds.
                    let asked = tokio::time::timeout(ask.mul_f32(0.75), blocker(connections, connection)).await;
                    holder = asked.ok().flatten();
                    work.await
                }
            }
        };
        result.map_err(|error| match error {
            DatabaseError::LockTimeout { .. } => {
                let waited = self.session.deadline().map(Deadline::waited).unwrap_or_default();
                DatabaseError::LockTimeout { waited, holder }
            }
            error => error,
        })
    }

    /// Commits; fails if the open transaction is not the one that was begun.
    ///
    /// A text that is carried runs in the message of the COMMIT.
    pub(crate) async fn commit(mut self, carried: Option<String>) -> Result<(), DatabaseError> {
        self.session.ours().await.map_err(classify)?;
        let first = carried.unwrap_or_default();
        let (keeps, lent) = (self.keeps(), self.session.was_lent());
        let commit = format!("{first}{}", self.session.flavour().commit(lent, keeps));
        let (flavour, sent) = (self.connections.flavour, Instant::now());
        let committed = self.session.end(commit).await.map_err(|error| refused_commit(error, flavour, sent));
        committed.map_err(|error| if self.ours { error.after_sending() } else { error })?;
        self.end(keeps);
        Ok(())
    }

    /// Rolls back and waits for its completion.
    pub(crate) async fn rollback(mut self) -> Result<(), DatabaseError> {
        let keeps = self.keeps();
        let roll_back = if keeps { "rollback" } else { self.session.flavour().roll_back() };
        self.session.roll_back(roll_back).await.map_err(classify)?;
        self.end(keeps);
        Ok(())
    }

    /// Whether the connection is kept for the next transaction: not if another caller may wait for one. On MySQL each
    /// begins with other settings.
    fn keeps(&self) -> bool {
        let Connections { pool, recent, flavour, .. } = &self.connections;
        self.keeps
            && !self.session.was_lent()
            && *flavour == Flavour::MariaDb
            && recent.has_room()
            && !reserve::is_busy(pool)
    }

    fn end(self, keeps: bool) {
        let kept = Kept { number: self.connection, away: self.away };
        if let Some((connection, runtime)) = self.session.give_up().filter(|_| keeps) {
            self.connections.recent.keep(connection, kept, &runtime);
        }
    }
}

/// The meaning of the error of a COMMIT that was sent at this time. On MySQL the server's own limit for it may end first: then it was rolled
/// back.
fn refused_commit(error: sqlx::Error, flavour: Flavour, sent: Instant) -> DatabaseError {
    match classify_commit(error, flavour) {
        DatabaseError::LockTimeout { holder, .. } => DatabaseError::LockTimeout { waited: sent.elapsed(), holder },
        error => error,
    }
}

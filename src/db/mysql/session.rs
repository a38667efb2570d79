//! A connection whose statements always run to completion, and whose waits end at one deadline.
//!
//! sqlx's MySQL connection does not survive a statement that is dropped half-way: after a drop in PREPARE it reads the rest of the answer
//! as the answer to the next statement. So a statement runs to completion even if its caller is dropped, and the connection is cleaned up
//! after it.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::mysql::{MySqlArguments, MySqlQueryResult, MySqlRow};
use sqlx::pool::PoolConnection;
use sqlx::query::Query;
use sqlx::{Arguments, AssertSqlSafe, Encode, MySql, MySqlConnection, Row, Type};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::connection::Connections;
use super::deadline::{Deadline, Flavour};
use super::errors::{is_read_only, is_timeout, is_without_savepoint};
use super::in_flight::{InFlight, Running, answered, clean_up, done, driven, in_step};
use super::sheet;
use crate::db::server::checkout::{self, Silence};
use crate::db::{IDLE_TOO_LONG, patience};
use crate::db::{LOCK, RowLock};

/// A statement with its values. Unlike sqlx's own it can be repeated.
#[derive(Clone)]
pub(crate) struct Statement {
    sql: Arc<str>,
    arguments: MySqlArguments,
    /// The length of its texts and bytes: at least so many bytes has its message.
    bytes: usize,
}

impl Statement {
    pub(crate) fn new(sql: impl Into<Arc<str>>) -> Self {
        Self::with(sql, MySqlArguments::default())
    }

    pub(crate) fn with(sql: impl Into<Arc<str>>, arguments: MySqlArguments) -> Self {
        Statement { sql: sql.into(), arguments, bytes: 0 }
    }

    pub(crate) fn bind<'t, T: Encode<'t, MySql> + Type<MySql>>(mut self, value: T) -> Self {
        self.arguments.add(value).expect("numbers, texts and bytes are encoded by copying them");
        self
    }

    pub(crate) fn bind_text(mut self, text: &str) -> Self {
        self.bytes += text.len();
        self.bind(text)
    }

    pub(crate) fn bind_bytes(mut self, bytes: &[u8]) -> Self {
        self.bytes += bytes.len();
        self.bind(bytes)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn between(mut self, before: &str, after: &str) -> Self {
        if self.sql.contains(LOCK) {
            self.sql = [before, &self.sql.replace(LOCK, after)].concat().into();
        } else if !before.is_empty() || !after.is_empty() {
            self.sql = [before, &self.sql, after].concat().into();
        }
        self
    }

    fn query(self) -> Query<'static, MySql, MySqlArguments> {
        sqlx::query_with(AssertSqlSafe(self.sql), self.arguments)
    }
}

/// The time limit for checking a connection that the application used: that of an operation without a limit.
const OWN: Duration = Duration::from_secs(5);

/// A connection of the pool, inside or outside a transaction.
pub(crate) struct Session {
    /// `None` while a statement is in flight.
    connection: Option<PoolConnection<MySql>>,
    /// Returns the connection from a statement whose caller was dropped.
    returned: Option<oneshot::Receiver<PoolConnection<MySql>>>,
    flavour: Flavour,
    silence: Silence,
    /// The server's idle limit for transactions, if any; and the end of the last statement.
    idle: Duration,
    largest_packet: usize,
    used: Instant,
    deadline: Option<Deadline>,
    /// Whether it may have an open transaction.
    open: bool,
    /// Whether the application used the connection since our last statement.
    lent: bool,
    /// Whether the application ever used it.
    was_lent: bool,
    runtime: Handle,
}

/// The answer to a statement, which runs to its end on the connection of the session.
macro_rules! asked {
    ($session:expr, $connection:ident => $statement:expr) => {{
        let patience = $session.patience();
        let running = $session.run(|mut $connection| {
            Box::pin(async move {
                let answer = answered(patience, driven($statement)).await;
                done($connection, answer)
            })
        });
        running.await
    }};
}

impl Session {
    /// Takes over a connection of a pool.
    pub(crate) fn on(connection: PoolConnection<MySql>, connections: &Connections, idle: Duration) -> Self {
        let Connections { flavour, ref silence, largest_packet, .. } = *connections;
        let (connection, runtime) = (Some(connection), Handle::current());
        Session {
            connection,
            returned: None,
            flavour,
            silence: silence.clone(),
            idle,
            largest_packet,
            used: Instant::now(),
            deadline: None,
            open: false,
            lent: false,
            was_lent: false,
            runtime,
        }
    }

    pub(crate) fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The server's idle limit for its transactions; zero: none.
    pub(crate) fn idle(&self) -> Duration {
        self.idle
    }

    /// How many bytes the server accepts in one message.
    pub(crate) fn largest_packet(&self) -> usize {
        self.largest_packet
    }

    /// Whether the application used the connection, so that errors may have been swallowed.
    pub(crate) fn was_lent(&self) -> bool {
        self.was_lent
    }

    /// The time limit of the next answer, and the place that records a missing answer.
    fn patience(&self) -> (Duration, Silence) {
        let left = self.deadline.as_ref().map_or_else(patience::left, Deadline::left_for_answers);
        (patience::limit(left), self.silence.clone())
    }

    /// As [`patience`](Self::patience), if the application used the connection. If its statement was dropped half-way, no answer may come,
    /// although the server works: over TLS the driver then waits for an answer to a message that it has not sent. So this implies nothing
    /// about other connections, and the limit is shorter than for a row lock.
    fn patience_with_own(&self) -> (Duration, Silence) {
        (self.patience().0.min(OWN), Silence::default())
    }

    /// The deadline of its waits; `None` outside a writing transaction.
    pub(crate) fn deadline(&self) -> Option<&Deadline> {
        self.deadline.as_ref()
    }

    /// Begins what [`end`](Self::end) ends, and reads the row that it returns, if any. From here on dropping the
    /// session rolls back, also in the middle of this.
    pub(crate) async fn begin(&mut self, sql: String, deadline: Deadline) -> Result<Option<MySqlRow>, sqlx::Error> {
        self.deadline = Some(deadline);
        Ok(self.open(sql).await?.into_iter().next())
    }

    /// As [`begin`](Self::begin), without a deadline, and returns all rows.
    pub(crate) async fn open(&mut self, sql: String) -> Result<Vec<MySqlRow>, sqlx::Error> {
        self.open = true;
        self.read(sql).await
    }

    /// Runs a text that leaves no open transaction, and reads its rows. After an error there may be one, and dropping the
    /// session rolls it back.
    pub(crate) async fn close(&mut self, sql: String) -> Result<Vec<MySqlRow>, sqlx::Error> {
        let rows = self.open(sql).await?;
        self.open = false;
        Ok(rows)
    }

    /// Runs a text unprepared, and reads the rows of all its statements.
    pub(crate) async fn read(&mut self, sql: String) -> Result<Vec<MySqlRow>, sqlx::Error> {
        asked!(self, connection => sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(&mut *connection))
    }

    /// Commits or rolls back. After an error there may still be an open transaction; dropping the session rolls it back.
    pub(crate) async fn end(&mut self, sql: String) -> Result<(), sqlx::Error> {
        self.raw(sql).await?;
        self.open = false;
        Ok(())
    }

    /// Rolls back with this text. After an error other than that of a transaction that the application has ended, the connection is closed,
    /// or dropping the session rolls back.
    pub(crate) async fn roll_back(&mut self, text: &'static str) -> Result<(), sqlx::Error> {
        let mut ended = None;
        if self.lent {
            // A deadlock of the application's own statement has already rolled back, so its error is no failure here.
            let (patience, count) = (self.patience_with_own(), "select cast(@@error_count as signed)");
            let failed = self.whole(|connection| Box::pin(in_step(connection, count, patience))).await?;
            self.lent = false;
            let failed = failed.first().is_some_and(|row| row.try_get(0).is_ok_and(|errors: i64| errors > 0));
            let ours = self.raw("release savepoint tenure".to_owned()).await;
            ended = ours.err().filter(|error| is_without_savepoint(error) && !failed);
        }
        self.raw(text.to_owned()).await?;
        self.open = false;
        ended.map_or(Ok(()), Err)
    }

    /// Runs a text unprepared.
    pub(crate) async fn raw(&mut self, sql: String) -> Result<MySqlQueryResult, sqlx::Error> {
        asked!(self, connection => sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection))
    }

    /// Reads rows.
    pub(crate) async fn fetch_all(&mut self, statement: Statement) -> Result<Vec<MySqlRow>, sqlx::Error> {
        asked!(self, connection => statement.query().fetch_all(&mut *connection))
    }

    /// Reads a row, if there is one.
    pub(crate) async fn fetch_optional(&mut self, statement: Statement) -> Result<Option<MySqlRow>, sqlx::Error> {
        Ok(self.fetch_all(statement).await?.into_iter().next())
    }

    /// Reads rows with this lock.
    pub(crate) async fn fetch_all_locked(
        &mut self,
        statement: Statement,
        lock: RowLock,
    ) -> Result<Vec<MySqlRow>, sqlx::Error> {
        let clause = sheet::of(self.flavour).clause(lock);
        if !lock.waits() {
            return self.fetch_all(statement.between("", clause)).await;
        }
        // No setting has to be made and reset for it.
        let at_once = statement.clone().between("", &format!("{clause} nowait"));
        if self.deadline.as_ref().is_some_and(|deadline| deadline.at_once(self.flavour).is_some()) {
            let rows = self.fetch_all(at_once).await;
            if !self.is_to_wait_for(&rows) {
                return rows;
            }
            return self.waiting(statement.between("", clause), Self::fetch_all).await;
        }
        let whole_seconds = self.deadline.as_ref().is_some_and(Deadline::has_seconds_to_spare);
        if self.flavour == Flavour::MariaDb || whole_seconds {
            let rows = self.waiting(statement.between("", clause), Self::fetch_all).await;
            if self.flavour == Flavour::MariaDb || !rows.as_ref().is_err_and(is_timeout) {
                return rows;
            }
        }
        // MySQL's limit is in whole seconds, so the last second is a loop of attempts.
        loop {
            let rows = self.fetch_all(at_once.clone()).await;
            let refused = rows.as_ref().is_err_and(is_timeout);
            match self.deadline.as_ref().filter(|_| refused).and_then(Deadline::pause) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return rows,
            }
        }
    }

    /// Writes, and may wait for another transaction; returns the number of matched rows, including unchanged ones, because sqlx requests
    /// that count.
    pub(crate) async fn write(&mut self, statement: Statement) -> Result<u64, sqlx::Error> {
        Ok(self.execute(statement).await?.rows_affected())
    }

    /// As [`write`](Self::write); returns the row of the statement, if any.
    pub(crate) async fn write_returning(&mut self, statement: Statement) -> Result<Option<MySqlRow>, sqlx::Error> {
        self.within_deadline(statement, Self::fetch_optional).await
    }

    /// As [`write`](Self::write); returns the generated key of a new row.
    pub(crate) async fn execute(&mut self, statement: Statement) -> Result<MySqlQueryResult, sqlx::Error> {
        self.within_deadline(statement, Self::execute_at_once).await
    }

    async fn execute_at_once(&mut self, statement: Statement) -> Result<MySqlQueryResult, sqlx::Error> {
        asked!(self, connection => statement.query().execute(&mut *connection))
    }

    /// As [`fetch_all`](Self::fetch_all), for a statement that itself contains the lock: its waits end at the deadline, on MySQL in
    /// whole seconds.
    #[cfg(feature = "sea-orm")]
    pub(crate) async fn fetch_waiting(&mut self, statement: Statement) -> Result<Vec<MySqlRow>, sqlx::Error> {
        // No attempt without a wait: MariaDB 10.11 then answers some statements that skip locked rows with error 1180.
        self.waiting(statement, Self::fetch_all).await
    }

    /// Runs a statement that may wait, so that its waits end at the deadline.
    ///
    /// On MariaDB the first attempt does not wait. A limit below a second is a timer of the server that wakes a thread for each statement,
    /// so it is used only if the first attempt was blocked.
    async fn within_deadline<T>(
        &mut self,
        statement: Statement,
        run: impl AsyncFn(&mut Self, Statement) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        if let Some(at_once) = self.deadline.as_ref().and_then(|deadline| deadline.at_once(self.flavour)) {
            let answer = run(self, statement.clone().between(at_once, "")).await;
            if !self.is_to_wait_for(&answer) {
                return answer;
            }
        }
        self.waiting(statement, run).await
    }

    /// Whether the statement was blocked, and there is time to wait.
    fn is_to_wait_for<T>(&self, answer: &Result<T, sqlx::Error>) -> bool {
        answer.as_ref().is_err_and(is_timeout) && self.deadline.as_ref().is_some_and(Deadline::is_worth_waiting)
    }

    /// Runs a statement that may wait until the deadline.
    async fn waiting<T>(
        &mut self,
        statement: Statement,
        run: impl AsyncFn(&mut Self, Statement) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let flavour = self.flavour;
        let Some(deadline) = &mut self.deadline else { return run(self, statement).await };
        let settings = deadline.shrink(flavour);
        let limit = deadline.limit(flavour);
        if let Some(settings) = settings {
            self.raw(format!("set {settings}")).await?;
        }
        run(self, statement.between(limit, "")).await
    }

    /// The connection, if it has no transaction or other state.
    pub(crate) fn give_up(mut self) -> Option<(PoolConnection<MySql>, Handle)> {
        let connection = self.connection.take_if(|_| !self.open && !self.was_lent)?;
        Some((connection, self.runtime.clone()))
    }

    /// Notes that the application has composed a statement.
    #[cfg(feature = "sea-orm")]
    pub(crate) fn notes_own_statement(&mut self) {
        self.was_lent = true;
    }

    /// The connection, for the application's own statements; no other statement is in flight.
    pub(crate) fn lend(&mut self) -> Option<&mut MySqlConnection> {
        (self.lent, self.was_lent) = (true, true);
        self.connection.as_deref_mut()
    }

    /// Fails if a statement of the application was dropped half-way, or has ended the transaction: then its savepoint is gone. (A savepoint
    /// can only be checked by releasing it, so it is set again.)
    pub(crate) async fn ours(&mut self) -> Result<(), sqlx::Error> {
        if self.lent {
            let patience = self.patience_with_own();
            let again = "release savepoint tenure; savepoint tenure";
            self.whole(|connection| Box::pin(in_step(connection, again, patience))).await?;
            self.lent = false;
        }
        Ok(())
    }

    async fn run<T: Send + 'static>(
        &mut self,
        statement: impl FnOnce(PoolConnection<MySql>) -> Running<T>,
    ) -> Result<T, sqlx::Error> {
        self.ours().await?;
        self.whole(statement).await
    }

    /// Moves the connection into one statement, and takes it back after it.
    async fn whole<T: Send + 'static>(
        &mut self,
        statement: impl FnOnce(PoolConnection<MySql>) -> Running<T>,
    ) -> Result<T, sqlx::Error> {
        // The caller of the previous statement was dropped. Wait for the statement; if this wait is dropped too, the receiver still exists.
        if let (None, Some(returned)) = (&self.connection, &mut self.returned) {
            self.connection = Some(returned.await.map_err(|_| closed())?);
        }
        let connection = self.connection.take().ok_or_else(closed)?;
        let stood_still = self.deadline.is_some() && !self.idle.is_zero() && self.used.elapsed() >= self.idle;
        let (return_to_pool, returned) = oneshot::channel();
        self.returned = Some(returned);
        let in_flight =
            InFlight::new(statement(connection), return_to_pool, (self.flavour, self.was_lent), self.runtime.clone());
        let (connection, answer) = in_flight.await;
        (self.connection, self.returned) = (connection, None);
        self.used = Instant::now();
        if answer.as_ref().is_err_and(is_read_only) {
            self.silence.noticed();
        }
        match answer {
            // MariaDB closes the connection without a message.
            Err(sqlx::Error::Io(error)) if stood_still => {
                let what = format!("{error}: {IDLE_TOO_LONG}");
                Err(sqlx::Error::Io(io::Error::new(error.kind(), what)))
            }
            answer => answer,
        }
    }
}

/// The answer to every statement after the one that closed the connection.
fn closed() -> sqlx::Error {
    sqlx::Error::Protocol("its connection was closed before, and the server rolls back".to_owned())
}

impl Drop for Session {
    fn drop(&mut self) {
        let returned = self.returned.as_mut().and_then(|returned| {
            // From here on the task that finishes the statement cleans up after it, unless the connection has just been returned.
            returned.close();
            returned.try_recv().ok()
        });
        let Some(connection) = self.connection.take().or(returned) else { return };
        // A connection needs the runtime to return to the pool, also when this is dropped outside of it.
        let _runtime = self.runtime.enter();
        match self.open || self.was_lent {
            true => drop(self.runtime.spawn(clean_up(connection, self.was_lent, self.flavour))),
            false => checkout::return_to_pool(connection),
        }
    }
}

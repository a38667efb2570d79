//! A statement in flight runs to completion, even if its caller is dropped.

use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use sqlx::mysql::MySqlRow;
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, MySql, Row};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::deadline::Flavour;
use super::errors::{is_useless, is_without_savepoint};
use crate::db::patience;
use crate::db::server::checkout::{self, Silence};
use crate::lease::LockId;

/// The result of a statement: the connection, unless it had to be closed, and the answer.
pub(crate) type Done<T> = (Option<PoolConnection<MySql>>, Result<T, sqlx::Error>);

/// A statement with its connection.
pub(crate) type Running<T> = Pin<Box<dyn Future<Output = Done<T>> + Send>>;

/// Polls a statement where it is awaited. If that is dropped, the rest runs in the background: then the connection returns to its session,
/// or, if that is gone too, is cleaned up.
pub(crate) struct InFlight<T: Send + 'static> {
    /// `None` after completion.
    running: Option<Running<T>>,
    return_to_pool: Option<oneshot::Sender<PoolConnection<MySql>>>,
    flavour: Flavour,
    /// Whether the application ever used the connection.
    was_lent: bool,
    runtime: Handle,
}

impl<T: Send + 'static> InFlight<T> {
    pub(crate) fn new(
        running: Running<T>,
        return_to_pool: oneshot::Sender<PoolConnection<MySql>>,
        (flavour, was_lent): (Flavour, bool),
        runtime: Handle,
    ) -> Self {
        InFlight { running: Some(running), return_to_pool: Some(return_to_pool), flavour, was_lent, runtime }
    }
}

impl<T: Send + 'static> Future for InFlight<T> {
    type Output = Done<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let running = self.running.as_mut().expect("a future is not polled again after it was ready");
        let done = ready!(running.as_mut().poll(context));
        self.running = None;
        Poll::Ready(done)
    }
}

impl<T: Send + 'static> Drop for InFlight<T> {
    fn drop(&mut self) {
        let (Some(running), Some(return_to_pool)) = (self.running.take(), self.return_to_pool.take()) else { return };
        let (flavour, was_lent) = (self.flavour, self.was_lent);
        // Also when this is dropped outside the runtime, or while it shuts down.
        let _runtime = self.runtime.enter();
        self.runtime.spawn(async move {
            let (connection, _) = running.await;
            // Without a connection, the end of the channel informs the receiver.
            if let Some(Err(connection)) = connection.map(|connection| return_to_pool.send(connection)) {
                clean_up(connection, was_lent, flavour).await;
            }
        });
    }
}

/// Returns a connection of MariaDB that was kept with autocommit off: other users of the pool do not expect that.
pub(crate) fn return_to_pool(connection: PoolConnection<MySql>) {
    drop(tokio::spawn(clean_up(connection, false, Flavour::MariaDb)));
}

/// Rolls back, so that the next user of the connection finds it clean. The connection stays checked out meanwhile. (A
/// statement that still waited for a lock has ended at its deadline before.) If the application used it, it is closed.
pub(crate) async fn clean_up(mut connection: PoolConnection<MySql>, was_lent: bool, flavour: Flavour) {
    if was_lent {
        return close(connection).await;
    }
    let roll_back = sqlx::raw_sql(AssertSqlSafe(flavour.roll_back())).execute(&mut *connection);
    match answered((patience::GRACE, Silence::default()), driven(roll_back)).await {
        Ok(_) => checkout::return_to_pool(connection),
        Err(error) => {
            // The server rolls back when it detects the closed connection.
            drop(connection.detach());
            tracing::warn!(%error, "a rollback failed; the connection is closed, and the server rolls back");
        }
    }
}

/// Closes a connection that the application used: the driver cannot reset what was set on it. The server rolls back.
async fn close(connection: PoolConnection<MySql>) {
    if tokio::time::timeout(patience::GRACE, driven(connection.close())).await.is_err() {
        tracing::debug!("a connection that the application used was closed without a message to the server");
    }
}

/// Runs statements on a connection whose last answer may not have been read, followed by a query that only its own answer can match. If
/// that answer does not come, the connection is closed: later answers would be read as answers to the wrong statements. (A ping cannot
/// detect it: the rest of the answer to a PREPARE looks like its own.)
pub(crate) async fn in_step(
    mut connection: PoolConnection<MySql>,
    statements: &str,
    patience: (Duration, Silence),
) -> Done<Vec<MySqlRow>> {
    let sign = LockId::random().reveal();
    let text = format!("{statements}; select '{sign}'");
    let asked = driven(sqlx::raw_sql(AssertSqlSafe(text)).fetch_all(&mut *connection));
    let answer = answered(patience, asked).await;
    let is_sign = |row: &MySqlRow| row.try_get::<String, _>(0).is_ok_and(|read| read == sign);
    match answer {
        Ok(rows) if rows.last().is_some_and(is_sign) => (Some(connection), Ok(rows)),
        Err(error) if is_without_savepoint(&error) => (Some(connection), Err(error)),
        _ => {
            drop(connection.detach());
            let what =
                "a statement of the application's own was dropped before its answer came, so its connection was closed";
            (None, Err(sqlx::Error::Protocol(what.to_owned())))
        }
    }
}

/// The connection with an answer; it is closed if the answer shows that driver and server are out of step, or that the server is unusable.
pub(crate) fn done<T>(connection: PoolConnection<MySql>, answer: Result<T, sqlx::Error>) -> Done<T> {
    match answer {
        Err(error @ (sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::Tls(_))) => {
            drop(connection.detach());
            (None, Err(error))
        }
        // A new connection may reach another node.
        Err(error) if is_useless(&error) => {
            drop(connection.detach());
            (None, Err(error))
        }
        answer => (Some(connection), answer),
    }
}

/// The driver's answer; an error also if the driver panics, as it does on unexpected packets.
pub(crate) async fn driven<T>(work: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
    let mut work = pin!(work);
    poll_fn(|context| {
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))).unwrap_or_else(|_| {
            Poll::Ready(Err(sqlx::Error::Protocol("the driver panicked over an answer".to_owned())))
        })
    })
    .await
}

/// Waits for an answer, up to a limit.
pub(crate) async fn answered<T>(
    (limit, silence): (Duration, Silence),
    asked: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    tokio::select! {
        biased;
        answer = asked => answer,
        () = tokio::time::sleep(limit) => {
            silence.noticed();
            let what = format!("the database did not answer within {} ms, so the connection was closed", limit.as_millis());
            Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, what)))
        }
    }
}

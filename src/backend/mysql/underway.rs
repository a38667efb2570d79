//! A statement that is under way runs to its end, whoever waits for it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Connection, MySql};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::deadline::Flavour;
use crate::backend::checkout::{self, Silence};
use crate::backend::{alarm, patience};

/// How long a connection that was lent may take to give a sign of life before it is closed.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// What a statement gives back: the connection, and its answer.
pub(super) type Done<T> = (PoolConnection<MySql>, Result<T, sqlx::Error>);

/// A statement with the connection that it runs on.
pub(super) type Running<T> = Pin<Box<dyn Future<Output = Done<T>> + Send>>;

/// Polls a statement where it is awaited. If that is dropped, the rest runs in the background: then the connection goes
/// back to its session, or, if that is gone as well, is cleaned up.
pub(super) struct Underway<T: Send + 'static> {
    /// `None` when it is done.
    running: Option<Running<T>>,
    give_back: Option<oneshot::Sender<PoolConnection<MySql>>>,
    flavour: Flavour,
    runtime: Handle,
}

impl<T: Send + 'static> Underway<T> {
    pub(super) fn new(
        running: Running<T>,
        give_back: oneshot::Sender<PoolConnection<MySql>>,
        flavour: Flavour,
        runtime: Handle,
    ) -> Self {
        Underway { running: Some(running), give_back: Some(give_back), flavour, runtime }
    }
}

impl<T: Send + 'static> Future for Underway<T> {
    type Output = Done<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let running = self.running.as_mut().expect("a future is not polled again after it was ready");
        let done = ready!(running.as_mut().poll(context));
        self.running = None;
        Poll::Ready(done)
    }
}

impl<T: Send + 'static> Drop for Underway<T> {
    fn drop(&mut self) {
        let (Some(running), Some(give_back)) = (self.running.take(), self.give_back.take()) else { return };
        let flavour = self.flavour;
        // Also when this is dropped outside of the runtime, or while it shuts down.
        let _runtime = self.runtime.enter();
        self.runtime.spawn(async move {
            let (connection, answer) = running.await;
            // Without a connection whoever waits for it learns that by the channel's end.
            let Some(connection) = unless_silent(connection, &answer) else { return };
            if let Err(connection) = give_back.send(connection) {
                clean_up(connection, false, flavour).await;
            }
        });
    }
}

/// Gives a connection of MariaDB to its pool that was kept for a transaction, with autocommit off: nobody else expects that.
pub(super) fn give_back(connection: PoolConnection<MySql>) {
    drop(tokio::spawn(clean_up(connection, false, Flavour::MariaDb)));
}

/// Rolls back, so that the next owner of the connection finds it clean. The connection stays taken meanwhile. (A
/// statement that still waited for a lock has ended at its deadline before.)
pub(super) async fn clean_up(mut connection: PoolConnection<MySql>, lent: bool, flavour: Flavour) {
    // Whether the application's last statement on it came to its end is not known.
    let alive = match lent {
        true => tokio::time::timeout(SIGN_OF_LIFE, connection.ping()).await.is_ok_and(|pong| pong.is_ok()),
        false => true,
    };
    if alive {
        let roll_back = sqlx::raw_sql(AssertSqlSafe(flavour.roll_back())).execute(&mut *connection);
        match answered((patience::GRACE, Silence::default()), roll_back).await {
            Ok(_) => return checkout::give_back(connection),
            Err(error) => tracing::warn!(%error, "a rollback failed; the connection is closed"),
        }
    }
    // The server rolls back when it notices.
    drop(connection.detach());
}

/// Waits for an answer for so long at most.
pub(super) async fn answered<T>(
    (limit, silence): (Duration, Silence),
    asked: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    tokio::select! {
        biased;
        answer = asked => answer,
        () = alarm::after(limit) => {
            silence.noticed();
            let what = format!("the database did not answer within {} ms, so the connection was closed", limit.as_millis());
            Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, what)))
        }
    }
}

/// The connection, closed if no answer came on it: what comes later would be taken for the answer to something else.
pub(super) fn unless_silent<T>(
    connection: PoolConnection<MySql>,
    answer: &Result<T, sqlx::Error>,
) -> Option<PoolConnection<MySql>> {
    match answer {
        Err(sqlx::Error::Io(error)) if error.kind() == io::ErrorKind::TimedOut => {
            drop(connection.detach());
            None
        }
        _ => Some(connection),
    }
}

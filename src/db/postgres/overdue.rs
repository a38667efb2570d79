//! Ends a statement that waits past its deadline, from another connection.
//!
//! A cancellation names a process of the server, and arrives when it arrives: the statement may have ended meanwhile, and its
//! connection may run another transaction, which waits for somebody with all of its time left. So the statement is identified first,
//! while its caller still waits for it, and only that one is ended. The server compares and then signals, and the statement may end in
//! between: so the connection is not used again until the cancellation has been answered. The server ignores a signal that
//! arrives between two statements.

use std::time::Instant;

use sqlx::{PgPool, Row};
use tokio::task::JoinHandle;

use super::errors::classify;
use crate::error::DatabaseError;

/// The start of a statement, which no other statement of its process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Started(i64);

const STARTED: &str = "
    select (extract(epoch from query_start) * 1000000)::bigint
      from pg_stat_activity where pid = $1 and cardinality(pg_blocking_pids($1)) > 0";

const END: &str = "
    select pg_cancel_backend(pid)
      from pg_stat_activity where pid = $1 and (extract(epoch from query_start) * 1000000)::bigint = $2";

/// The cancellations of the statements of one connection.
#[derive(Debug, Default)]
pub(crate) struct Cancellations {
    /// The last one, until it has been answered. Its task goes on when the caller is gone.
    sent: Option<JoinHandle<Result<(), DatabaseError>>>,
    /// Whether one of them had no answer: it may arrive at any time.
    has_lost_one: bool,
}

impl Cancellations {
    /// Ends the statement of this process of the server if it waits for somebody. When that fails, it can be tried again.
    pub(crate) async fn end_wait(&mut self, pool: &PgPool, process: i32) {
        match waiting(pool, process).await {
            Ok(Some(started)) => {
                let pool = pool.clone();
                self.sent = Some(tokio::spawn(async move { end(&pool, process, started).await }));
                self.answered().await;
            }
            Ok(None) => {}
            Err(error) => {
                tracing::debug!(%error, process, "a statement that waits past its deadline was not ended yet");
            }
        }
    }

    async fn answered(&mut self) {
        let Some(sent) = &mut self.sent else { return };
        let answer = sent.await;
        self.sent = None;
        if !matches!(answer, Ok(Ok(()))) {
            self.has_lost_one = true;
        }
    }

    /// Whether all of them have been answered, at the latest at this moment: then none ends a later statement of the connection.
    pub(crate) async fn are_over(&mut self, at_the_latest: Instant) -> bool {
        let answered = tokio::time::timeout_at(at_the_latest.into(), self.answered()).await;
        answered.is_ok() && !self.has_lost_one
    }
}

/// The statement of this process that waits for somebody.
async fn waiting(pool: &PgPool, process: i32) -> Result<Option<Started>, DatabaseError> {
    let row = sqlx::query(STARTED).bind(process).fetch_optional(pool).await.map_err(classify)?;
    let started: Option<Option<i64>> = row.map(|row| row.try_get(0)).transpose().map_err(classify)?;
    Ok(started.flatten().map(Started))
}

/// Ends this statement, and no other.
async fn end(pool: &PgPool, process: i32, Started(started): Started) -> Result<(), DatabaseError> {
    sqlx::query(END).bind(process).bind(started).execute(pool).await.map(drop).map_err(classify)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use sqlx::postgres::PgPoolOptions;
    use testkit::Kind;

    use super::*;

    /// Longer than a task takes.
    const ANSWER: std::time::Duration = std::time::Duration::from_secs(10);
    const LOCK: &str = "select 1 from t for update";

    async fn until_waiting(pool: &PgPool, process: i32) -> Started {
        loop {
            if let Some(started) = waiting(pool, process).await.unwrap() {
                return started;
            }
        }
    }

    #[tokio::test]
    async fn cancellation_is_over_once_it_is_answered() {
        let (answer, answered) = tokio::sync::oneshot::channel();
        let sent = tokio::spawn(async { answered.await.unwrap() });
        let mut cancellations = Cancellations { sent: Some(sent), ..Cancellations::default() };
        assert!(!cancellations.are_over(Instant::now()).await, "it is still under way");
        answer.send(Ok(())).unwrap();
        assert!(cancellations.are_over(Instant::now() + ANSWER).await);
    }

    #[tokio::test]
    async fn cancellation_without_an_answer_is_never_over() {
        let sent = tokio::spawn(async { Err(DatabaseError::ConnectionLost("cut".into())) });
        let mut cancellations = Cancellations { sent: Some(sent), ..Cancellations::default() };
        assert!(!cancellations.are_over(Instant::now() + ANSWER).await);
        assert!(!cancellations.are_over(Instant::now() + ANSWER).await, "it may still arrive");
    }

    #[tokio::test]
    #[ignore = "starts a server: cargo xtask test"]
    async fn late_cancellation_spares_the_next_statement() {
        let pool = PgPoolOptions::new().connect(&testkit::new_database(Kind::Postgres)).await.unwrap();
        sqlx::raw_sql("create table t (a int); insert into t values (1)").execute(&pool).await.unwrap();
        let mut waits = pool.acquire().await.unwrap();
        let process = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut *waits).await.unwrap();
        let mut blocks = pool.begin().await.unwrap();
        sqlx::raw_sql(LOCK).execute(&mut *blocks).await.unwrap();
        let first = async {
            let started = until_waiting(&pool, process).await;
            blocks.commit().await.unwrap();
            started
        };
        let (waited, first) = tokio::join!(sqlx::raw_sql(LOCK).execute(&mut *waits), first);
        waited.unwrap();

        let mut blocks = pool.begin().await.unwrap();
        sqlx::raw_sql(LOCK).execute(&mut *blocks).await.unwrap();
        let late = async {
            until_waiting(&pool, process).await;
            end(&pool, process, first).await.unwrap();
            blocks.commit().await.unwrap();
        };
        let (waited, ()) = tokio::join!(sqlx::raw_sql(LOCK).execute(&mut *waits), late);
        waited.unwrap();

        let mut blocks = pool.begin().await.unwrap();
        sqlx::raw_sql(LOCK).execute(&mut *blocks).await.unwrap();
        let in_time = async {
            until_waiting(&pool, process).await;
            Cancellations::default().end_wait(&pool, process).await;
        };
        let (waited, ()) = tokio::join!(sqlx::raw_sql(LOCK).execute(&mut *waits), in_time);
        let code = waited.unwrap_err().into_database_error().unwrap().code().unwrap().into_owned();
        assert_eq!(code, "57014");
    }
}

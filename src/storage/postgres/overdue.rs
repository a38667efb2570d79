//! Ends a statement that waits past its deadline, from another connection.
//!
//! A cancellation names a process of the server, and arrives when it arrives: the statement may have ended meanwhile, and its
//! connection may run another transaction, which waits for somebody with all of its time left. So the statement is identified first,
//! while its caller still waits for it, and only that one is ended.

use sqlx::{PgPool, Row};

use super::errors::classify;
use crate::error::DatabaseError;

/// The start of a statement, which no other statement of its process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Started(i64);

const STARTED: &str = "
    select (extract(epoch from query_start) * 1000000)::bigint
      from pg_stat_activity where pid = $1 and cardinality(pg_blocking_pids($1)) > 0";

const END: &str = "
    select pg_cancel_backend(pid)
      from pg_stat_activity where pid = $1 and (extract(epoch from query_start) * 1000000)::bigint = $2";

/// Ends the statement of this process of the server if it waits for somebody. When that fails, it is tried again.
pub(super) async fn end_wait(pool: &PgPool, process: i32) {
    let ended = async {
        match waiting(pool, process).await? {
            Some(started) => end(pool, process, started).await,
            None => Ok(()),
        }
    };
    if let Err(error) = ended.await {
        tracing::debug!(%error, process, "a statement that waits past its deadline was not ended yet");
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

    const LOCK: &str = "select 1 from t for update";

    async fn until_waiting(pool: &PgPool, process: i32) -> Started {
        loop {
            if let Some(started) = waiting(pool, process).await.unwrap() {
                return started;
            }
        }
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
            end_wait(&pool, process).await;
        };
        let (waited, ()) = tokio::join!(sqlx::raw_sql(LOCK).execute(&mut *waits), in_time);
        let code = waited.unwrap_err().into_database_error().unwrap().code().unwrap().into_owned();
        assert_eq!(code, "57014");
    }
}

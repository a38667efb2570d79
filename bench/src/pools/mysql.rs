//! MariaDB: ten connections at READ COMMITTED. A flush per commit is its default.

use sqlx::mysql::MySqlPoolOptions;
use sqlx::{Executor, MySqlPool};

use super::{CONNECTIONS, PATIENCE};
use crate::Outcome;

/// Connects.
pub(crate) async fn open(url: &str) -> Outcome<MySqlPool> {
    let pool = MySqlPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(PATIENCE)
        .test_before_acquire(false)
        .after_connect(|connection, _| {
            let isolation = "set session transaction isolation level read committed";
            Box::pin(async move { connection.execute(isolation).await.map(drop) })
        });
    Ok(pool.connect(url).await?)
}

/// Creates tables.
pub(crate) async fn make(pool: &MySqlPool, tables: &'static str) -> Outcome<()> {
    sqlx::raw_sql(tables).execute(pool).await?;
    Ok(())
}

//! PostgreSQL: ten connections. READ COMMITTED and a flush per commit are its defaults.

use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use super::{CONNECTIONS, PATIENCE};
use crate::Outcome;

/// Connects.
pub(crate) async fn open(url: &str) -> Outcome<PgPool> {
    let pool = PgPoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(PATIENCE).test_before_acquire(false);
    Ok(pool.connect(url).await?)
}

/// Creates tables.
pub(crate) async fn make(pool: &PgPool, tables: &'static str) -> Outcome<()> {
    sqlx::raw_sql(tables).execute(pool).await?;
    Ok(())
}

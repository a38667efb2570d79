//! A connection of SQLite: the writer with its transaction, or a reader.

use sqlx::pool::PoolConnection;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Sqlite};

use super::connection::OpenTransaction;
use super::errors::classify;
use super::sheet::SHEET;
use super::values::arguments;
use crate::db::{Mode, Row, RowLock, Sheet, Statement};
use crate::error::DatabaseError;

/// A connection.
pub(crate) type Link = Mode<PoolConnection<Sqlite>, OpenTransaction>;

type Query = sqlx::query::Query<'static, Sqlite, SqliteArguments>;

fn query(statement: &Statement<'_>) -> Query {
    let sql = statement.sql(&SHEET);
    sqlx::query_with(AssertSqlSafe(sql.locking("")), arguments(statement.values(sql)))
}

impl Link {
    pub(crate) fn sheet(&self) -> &'static Sheet {
        &SHEET
    }

    /// Every lock is granted already: no other session can write until this transaction ends.
    pub(crate) async fn read(&mut self, statement: Statement<'_>, _lock: RowLock) -> Result<Vec<Row>, DatabaseError> {
        let query = query(&statement);
        let rows = match self {
            Link::Reading(reader) => query.fetch_all(&mut **reader).await,
            Link::Open(open) => query.fetch_all(open.ours_to_read().await?).await,
        };
        Ok(rows.map_err(classify)?.into_iter().map(Row::Sqlite).collect())
    }

    pub(crate) async fn write(&mut self, statement: Statement<'_>) -> Result<u64, DatabaseError> {
        let done = query(&statement).execute(self.open()?.ours().await?).await.map_err(classify)?;
        Ok(done.rows_affected())
    }

    pub(crate) async fn write_returning(&mut self, statement: Statement<'_>) -> Result<Vec<Row>, DatabaseError> {
        let rows = query(&statement).fetch_all(self.open()?.ours().await?).await.map_err(classify)?;
        Ok(rows.into_iter().map(Row::Sqlite).collect())
    }
}

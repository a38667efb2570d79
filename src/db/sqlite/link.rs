//! A connection of SQLite: the writer with its transaction, or a reader.

use sqlx::pool::PoolConnection;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Sqlite};

use super::connection::OpenTransaction;
use super::errors::classify;
use super::sheet::SHEET;
use super::values::arguments;
use crate::db::EndSession;
use crate::db::{Row, RowLock, Sheet, Statement};
use crate::error::DatabaseError;

/// A connection.
pub(crate) enum Link {
    Reading(PoolConnection<Sqlite>),
    Open(OpenTransaction),
}

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
    /// Its session, seen from another connection. Nothing is open on a connection for reading.
    pub(crate) fn session(&self) -> Option<Box<dyn EndSession>> {
        match self {
            Link::Reading(_) => None,
            Link::Open(open) => Some(open.session()),
        }
    }

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

    /// SQLite aborts no transaction in a deadlock.
    pub(crate) async fn begin_again(&mut self) -> Result<(), DatabaseError> {
        Err(DatabaseError::Unsupported("this database does not abort transactions in deadlocks"))
    }

    pub(crate) async fn commit(self, carried: Option<String>) -> Result<(), DatabaseError> {
        match self {
            Link::Reading(_) => Ok(()),
            Link::Open(open) => open.commit(carried).await,
        }
    }

    pub(crate) async fn rollback(self) -> Result<(), DatabaseError> {
        match self {
            Link::Reading(_) => Ok(()),
            Link::Open(open) => open.rollback().await,
        }
    }

    fn open(&mut self) -> Result<&mut OpenTransaction, DatabaseError> {
        match self {
            Link::Reading(_) => Err(DatabaseError::ReadOnly),
            Link::Open(open) => Ok(open),
        }
    }
}

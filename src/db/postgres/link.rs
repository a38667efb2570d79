//! A connection of PostgreSQL: a transaction, or a connection for reading.

use sqlx::postgres::PgArguments;
use sqlx::{AssertSqlSafe, PgConnection, Postgres};

use super::checkout::Checkout;
use super::connection::OpenTransaction;
use super::errors::classify;
use super::sheet::SHEET;
use super::values::arguments;
use crate::db::{Mode, Row, RowLock, Sheet, Statement, patience};
use crate::error::DatabaseError;

/// A connection.
pub(crate) type Link = Mode<Checkout, OpenTransaction>;

type Query = sqlx::query::Query<'static, Postgres, PgArguments>;

fn query(statement: &Statement<'_>, lock: RowLock) -> Query {
    let sql = statement.sql(&SHEET);
    sqlx::query_with(AssertSqlSafe(sql.locking(SHEET.clause(lock))), arguments(statement.values(sql)))
}

impl Link {
    pub(crate) fn sheet(&self) -> &'static Sheet {
        &SHEET
    }

    pub(crate) async fn read(&mut self, statement: Statement<'_>, lock: RowLock) -> Result<Vec<Row>, DatabaseError> {
        let query = query(&statement, lock);
        let fetch = async |connection: &mut PgConnection| query.fetch_all(connection).await.map_err(classify);
        let rows = match (self, lock) {
            (Link::Reading(reader), _) => reader.answer(patience::limit(patience::left()), fetch).await?,
            (Link::Open(open), lock) if !lock.waits() => open.run(fetch).await?,
            (Link::Open(open), _) => open.wait_for(fetch).await?,
        };
        Ok(rows.into_iter().map(Row::Postgres).collect())
    }

    pub(crate) async fn write(&mut self, statement: Statement<'_>) -> Result<u64, DatabaseError> {
        let query = query(&statement, RowLock::None);
        let write = async |connection: &mut PgConnection| query.execute(connection).await.map_err(classify);
        Ok(self.open()?.wait_for(write).await?.rows_affected())
    }

    pub(crate) async fn write_returning(&mut self, statement: Statement<'_>) -> Result<Vec<Row>, DatabaseError> {
        let query = query(&statement, RowLock::None);
        let write = async |connection: &mut PgConnection| query.fetch_all(connection).await.map_err(classify);
        Ok(self.open()?.wait_for(write).await?.into_iter().map(Row::Postgres).collect())
    }
}

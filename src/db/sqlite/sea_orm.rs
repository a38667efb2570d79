//! SeaORM's statements, on the one writer. SeaORM omits its lock clauses for SQLite. They are not needed: the transaction holds the lock on
//! the whole file.

use sea_orm::{DbBackend, ExecResult, QueryResult, Statement};
use sea_query_sqlx::SqlxValues;
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Sqlite};

use super::connection::OpenTransaction;
use super::errors::classify;
use crate::db::sea_orm::Failure;

impl OpenTransaction {
    pub(crate) fn dialect(&self) -> DbBackend {
        DbBackend::Sqlite
    }

    pub(crate) async fn sea_orm_execute(&mut self, statement: Statement) -> Result<ExecResult, Failure> {
        query(statement).execute(self.ours_to_lend().await?).await.map(ExecResult::from).map_err(failure)
    }

    pub(crate) async fn sea_orm_execute_unprepared(&mut self, sql: &str) -> Result<ExecResult, Failure> {
        let sql = sqlx::raw_sql(AssertSqlSafe(sql));
        sql.execute(self.ours_to_lend().await?).await.map(ExecResult::from).map_err(failure)
    }

    pub(crate) async fn sea_orm_query(&mut self, statement: Statement) -> Result<Vec<QueryResult>, Failure> {
        let rows = query(statement).fetch_all(self.ours_to_lend().await?).await.map_err(failure)?;
        Ok(rows.into_iter().map(QueryResult::from).collect())
    }
}

fn query(statement: Statement) -> Query<'static, Sqlite, SqlxValues> {
    let values = SqlxValues(statement.values.unwrap_or_else(|| sea_orm::Values(Vec::new())));
    sqlx::query_with(AssertSqlSafe(statement.sql), values)
}

fn failure(error: sqlx::Error) -> Failure {
    Failure::new(error, classify)
}

//! SeaORM's statements. Any of them may wait for locks, so all of them end at the deadline.

use std::sync::Arc;

use sea_orm::{DbBackend, ExecResult, QueryResult, Statement};
use sea_query_sqlx::SqlxValues;
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, PgConnection, Postgres};

use super::connection::OpenTransaction;
use super::errors::classify;
use crate::db::sea_orm::{Failure, may_end};

impl OpenTransaction {
    pub(crate) fn dialect(&self) -> DbBackend {
        DbBackend::Postgres
    }

    pub(crate) async fn sea_orm_execute(&mut self, statement: Statement) -> Result<ExecResult, Failure> {
        let may_end = may_end(&statement.sql);
        let query = query(statement);
        let done = self.within_deadline(async |connection| query.execute(connection).await.map(ExecResult::from)).await;
        if may_end {
            self.lend();
        }
        done
    }

    pub(crate) async fn sea_orm_execute_unprepared(&mut self, sql: &str) -> Result<ExecResult, Failure> {
        let text = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        let done = self.within_deadline(async |connection| text.execute(connection).await.map(ExecResult::from)).await;
        if may_end(sql) {
            self.lend();
        }
        done
    }

    pub(crate) async fn sea_orm_query(&mut self, statement: Statement) -> Result<Vec<QueryResult>, Failure> {
        let query = query(statement);
        let rows = self.within_deadline(async |connection| query.fetch_all(connection).await).await?;
        Ok(rows.into_iter().map(QueryResult::from).collect())
    }

    /// Runs a statement whose waits end at the deadline, and keeps the driver's error if it fails.
    async fn within_deadline<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, Failure> {
        self.notes_own_statement();
        let mut driver = None;
        let run = async |connection: &mut PgConnection| {
            work(connection).await.map_err(|error| classify(Arc::clone(driver.insert(Arc::new(error)))))
        };
        let done = self.wait_for(run).await;
        done.map_err(|meaning| Failure { meaning, driver })
    }
}

fn query(statement: Statement) -> Query<'static, Postgres, SqlxValues> {
    let values = SqlxValues(statement.values.unwrap_or_else(|| sea_orm::Values(Vec::new())));
    sqlx::query_with(AssertSqlSafe(statement.sql), values)
}

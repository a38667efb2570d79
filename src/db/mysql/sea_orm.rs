//! SeaORM's statements. They run to completion even if their caller is dropped, like our own, and those that may wait for locks end at the
//! deadline.

use std::sync::Arc;

use sea_orm::{DbBackend, ExecResult, QueryResult};
use sea_query_sqlx::SqlxValues;
use sqlx::{IntoArguments, MySql};

use super::connection::OpenTransaction;
use super::errors::classify;
use super::session::{Session, Statement};
use crate::db::sea_orm::{Failure, may_end};

impl OpenTransaction {
    pub(crate) fn dialect(&self) -> DbBackend {
        DbBackend::MySql
    }

    pub(crate) async fn sea_orm_execute(&mut self, statement: sea_orm::Statement) -> Result<ExecResult, Failure> {
        let (statement, may_end) = (translate(&statement), may_end(&statement.sql));
        let done = self.within_deadline(async |session| session.execute(statement).await.map(ExecResult::from)).await;
        if may_end {
            self.session().lend();
        }
        done
    }

    pub(crate) async fn sea_orm_execute_unprepared(&mut self, sql: &str) -> Result<ExecResult, Failure> {
        // A limit would apply to the first of its statements only, so there is none: the server's own applies.
        let session = self.session();
        session.notes_own_statement();
        let done = session.raw(sql.to_owned()).await;
        if may_end(sql) {
            session.lend();
        }
        done.map(ExecResult::from).map_err(|error| Failure::new(error, classify))
    }

    pub(crate) async fn sea_orm_query(&mut self, statement: sea_orm::Statement) -> Result<Vec<QueryResult>, Failure> {
        let may_wait = may_wait(&statement.sql);
        let statement = translate(&statement);
        let rows = match may_wait {
            true => self.within_deadline(async |session| session.fetch_waiting(statement).await).await?,
            false => {
                self.session().notes_own_statement();
                let rows = self.session().fetch_all(statement).await;
                rows.map_err(|error| Failure::new(error, classify))?
            }
        };
        Ok(rows.into_iter().map(QueryResult::from).collect())
    }

    /// Runs a statement whose waits end at the deadline, and keeps the driver's error if it fails.
    async fn within_deadline<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Session) -> Result<T, sqlx::Error>,
    ) -> Result<T, Failure> {
        self.session().notes_own_statement();
        let mut driver = None;
        let run = async |session: &mut Session| {
            work(session).await.map_err(|error| classify(Arc::clone(driver.insert(Arc::new(error)))))
        };
        let done = self.wait_for(run).await;
        done.map_err(|meaning| Failure { meaning, driver })
    }
}

/// Whether a statement that returns rows may wait for a lock. MariaDB's limit applies to the whole statement, so a plain read, which may
/// take long, must not have it. A false positive has only that effect.
fn may_wait(sql: &str) -> bool {
    let sql = sql.trim_start().to_ascii_lowercase();
    !sql.starts_with("select")
        || [" for update", " for share", " lock in share mode"].iter().any(|lock| sql.contains(lock))
}

fn translate(statement: &sea_orm::Statement) -> Statement {
    let values = SqlxValues(statement.values.clone().unwrap_or_else(|| sea_orm::Values(Vec::new())));
    Statement::with(&*statement.sql, IntoArguments::<MySql>::into_arguments(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_not_interrupted_at_the_deadline() {
        assert!(!may_wait("SELECT `version` FROM `parcel` WHERE `id` = ?"));
        for sql in [
            "SELECT `id` FROM `parcel` LIMIT ? FOR UPDATE",
            "select id from parcel lock in share mode",
            "INSERT INTO `parcel` (`label`) VALUES (?) RETURNING `id`",
            "WITH old AS (SELECT 1) DELETE FROM parcel",
        ] {
            assert!(may_wait(sql), "{sql}");
        }
    }
}

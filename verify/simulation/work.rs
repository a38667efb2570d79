//! A transaction on the simulated database: it has the database to itself until it ends.

use super::backend::without;
use super::link::{Link, Turn};
use crate::aggregate::version::Version;
use crate::db::{PLAIN, Row, RowLock, Sheet, Statement};
use crate::error::DatabaseError;
use crate::lease::engine::{self, Answer, Changes, Operation, decide};
use crate::row_lock::Wait;

pub(crate) struct Work {
    link: Link,
    rows: engine::Rows,
    /// With the times of their decisions.
    changes: Vec<(i64, Changes)>,
    /// The database ends the transaction of a process that was killed.
    _writer: Turn,
}

impl Work {
    pub(super) async fn begin(link: &Link, wait: Wait) -> Result<Self, DatabaseError> {
        link.travel().await;
        let writer = link.world.writer.clone().lock_owned();
        let Ok(writer) = tokio::time::timeout(wait.budget(), writer).await else {
            return Err(DatabaseError::LockTimeout { waited: wait.budget(), holder: None });
        };
        let writer = link.holds(writer);
        link.travel().await;
        let rows = link.world.tables().rows.clone();
        Ok(Work { link: link.clone(), rows, changes: Vec::new(), _writer: writer })
    }

    pub(crate) async fn run(&mut self, operation: &Operation) -> Result<Answer, DatabaseError> {
        self.link.travel().await;
        if self.link.world.fails(20) {
            return Err(DatabaseError::ConnectionLost("the simulated connection broke".into()));
        }
        let now = self.link.world.now();
        let decided = decide(operation, &self.rows, now);
        let (answer, changes) = decided.expect("generations do not run out here");
        changes.apply(&mut self.rows);
        self.changes.push((now, changes));
        Ok(answer)
    }
}

/// As the connections of databases, without SQL.
impl Work {
    pub(crate) fn sheet(&self) -> &'static Sheet {
        &PLAIN
    }
    pub(crate) async fn read(&mut self, _: Statement<'_>, _: RowLock) -> Result<Vec<Row>, DatabaseError> {
        without()
    }
    pub(crate) async fn write(&mut self, _: Statement<'_>) -> Result<u64, DatabaseError> {
        without()
    }
    pub(crate) async fn write_returning(&mut self, _: Statement<'_>) -> Result<Vec<Row>, DatabaseError> {
        without()
    }
    pub(crate) async fn version(&mut self) -> Result<Version, DatabaseError> {
        self.link.travel().await;
        Ok(Version::FIRST)
    }
    /// No simulated transaction is as long as its limit.
    pub(crate) fn session_end(&self) -> impl Future<Output = Result<(), DatabaseError>> + Send + use<> {
        std::future::ready(Ok(()))
    }
    pub(crate) async fn commit(self, _carried: Option<String>) -> Result<(), DatabaseError> {
        self.link.travel().await;
        if self.link.world.fails(20) {
            return Err(DatabaseError::ConnectionLost("the simulated connection broke".into()));
        }
        let now = self.link.world.now();
        for (decided, changes) in self.changes {
            let mut tables = self.link.world.tables();
            tables.log.decided(&changes, decided);
            tables.store(changes, now);
        }
        if self.link.world.fails(20) {
            return Err(DatabaseError::CommitUnknown("the simulated answer was lost".into()));
        }
        self.link.travel().await;
        Ok(())
    }
    pub(crate) async fn rollback(self) -> Result<(), DatabaseError> {
        self.link.travel().await;
        Ok(())
    }
}

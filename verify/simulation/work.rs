//! A transaction on the simulated database: it has the database to itself until it ends.

use async_trait::async_trait;

use super::backend::answer;
use super::link::{Link, Turn};
use crate::aggregate::mapping::Mapping;
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::db::Connection;
use crate::error::DatabaseError;
use crate::lease::engine::{self, Answer, Changes, Operation, decide};
use crate::lease::operations::{KeyState, Proof, Resumption};
use crate::lease::{Holder, LockKey, NoLock};
use crate::row_lock::Wait;
use crate::storage::{BackendTransaction, EndSession};
use crate::store::operation::OperationId;

pub(super) struct Work {
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

    async fn run(&mut self, operation: &Operation<'_>) -> Result<Answer, DatabaseError> {
        self.link.travel().await;
        if self.link.world.fails(20) {
            return Err(DatabaseError::ConnectionLost("the simulated connection broke".into()));
        }
        let now = self.link.world.now();
        let decided = decide(operation, &self.rows, now);
        let (answer, changes) = decided.expect("generations do not run out here");
        changes.clone().apply(&mut self.rows);
        self.changes.push((now, changes));
        Ok(answer)
    }
}

#[async_trait]
impl BackendTransaction for Work {
    fn db(&mut self) -> &mut Connection {
        unreachable!("the simulated database has leases only")
    }
    fn session(&mut self) -> Option<Box<dyn EndSession>> {
        None
    }
    async fn hold_version(&mut self, _: &'static Mapping, _: &[Value]) -> Result<Option<Version>, DatabaseError> {
        self.link.travel().await;
        Ok(Some(Version::FIRST))
    }

    async fn guard(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        Ok(answer!(self.run(&Operation::Check(proof)).await?, Answer::Lease))
    }
    async fn resume(&mut self, proof: &Proof, key: &LockKey) -> Result<Resumption, DatabaseError> {
        Ok(answer!(self.run(&Operation::Resume { proof, key }).await?, Answer::Resumed))
    }
    async fn key_state(&mut self, key: &LockKey) -> Result<KeyState, DatabaseError> {
        Ok(answer!(self.run(&Operation::KeyState(key)).await?, Answer::KeyState))
    }
    async fn release_lock(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        Ok(answer!(self.run(&Operation::Release(proof)).await?, Answer::Lease))
    }
    async fn commit(self: Box<Self>, _: Option<&OperationId>) -> Result<(), DatabaseError> {
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
    async fn rollback(self: Box<Self>) -> Result<(), DatabaseError> {
        self.link.travel().await;
        Ok(())
    }
    #[cfg(feature = "sea-orm")]
    fn as_sea_orm(&mut self) -> &mut dyn crate::storage::sea_orm::SeaOrmStatements {
        unreachable!("the simulated database has no SQL")
    }
}

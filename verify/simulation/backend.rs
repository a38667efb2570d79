//! The simulated database behind the library's interface to databases. It has the lock table, and no aggregates but their versions.

use async_trait::async_trait;

use super::link::Link;
use super::work::Work;
use crate::aggregate::mapping::Table;
use crate::aggregate::schema::LiveTable;
use crate::db::Connection;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::lease::engine::{self, Answer, Operation};
use crate::lease::operations::{LockAnswer, LockHash, LockOp};
use crate::row_lock::Wait;
use crate::storage::{Backend, BackendTransaction, Capabilities, Connections, Granularity, Slice, SweptRows};

pub(super) fn without<T>() -> Result<T, DatabaseError> {
    Err(DatabaseError::Unsupported("the simulated database has leases only"))
}

/// The answer of an operation, which always has the form of its question.
macro_rules! answer {
    ($answer:expr, $form:path) => {
        match $answer {
            $form(answer) => answer,
            other => unreachable!("{other:?}"),
        }
    };
}
pub(super) use answer;

#[async_trait]
impl Backend for Link {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            database: "simulated".into(),
            granularity: Granularity::Database,
            shared_locks: false,
            skip_locked: false,
            names_blocker: false,
            heartbeats_pass_saves: false,
        }
    }
    fn connections(&self) -> Connections {
        Connections { application: 1, lock_table: 1, reserve: 0, writer: 0 }
    }
    async fn begin(&self, wait: Wait, _label: Option<&str>) -> Result<Box<dyn BackendTransaction>, DatabaseError> {
        Ok(Box::new(Work::begin(self, wait).await?))
    }
    async fn reader(&self) -> Result<Connection, DatabaseError> {
        without()
    }
    async fn own_reader(&self) -> Result<Connection, DatabaseError> {
        without()
    }
    async fn begin_own(&self) -> Result<Connection, DatabaseError> {
        without()
    }
    async fn live_table(&self, _: &Table) -> Result<Option<LiveTable>, DatabaseError> {
        without()
    }

    async fn lock_batch(&self, ops: &[LockOp]) -> Result<Vec<Option<LockAnswer>>, DatabaseError> {
        // A row that another transaction has locked at the moment.
        let locked: Vec<bool> = ops.iter().map(|_| self.world.random().percent(5)).collect();
        let answers = |tables: &mut super::tables::Tables, now| {
            let ops = ops.iter().zip(locked);
            ops.map(|(op, locked)| if locked { None } else { tables.answer(op, now) }).collect()
        };
        if ops.iter().all(|op| matches!(op, LockOp::Check(_))) {
            return self.read(answers).await;
        }
        let locks: Vec<LockHash> = ops.iter().map(|op| *op.lock()).collect();
        self.write(&locks, answers).await
    }
    fn answers_at_once(&self) -> usize {
        if self.world.seed.is_multiple_of(2) { 4 } else { 1 }
    }
    async fn operate(&self, operation: &Operation<'_>) -> Result<Answer, DatabaseError> {
        if operation.only_reads() {
            return self.read(|tables, now| tables.run(operation, now)).await;
        }
        let locks: Vec<LockHash> = match *operation {
            Operation::Take(request) | Operation::TakeOver { request, .. } => vec![request.lock],
            Operation::Release(proof) => vec![proof.lock],
            Operation::UndoGrant { lock, .. } => vec![*lock],
            _ => Vec::new(),
        };
        self.write(&locks, |tables, now| tables.run(operation, now)).await
    }
    async fn make_row(&self, _: &LockKey) -> Result<(), DatabaseError> {
        without()
    }
    async fn sweep_rows(&self, _: &Slice<'_>, _: &engine::Place) -> Result<SweptRows, DatabaseError> {
        without()
    }
    async fn count_held(&self, owner: &str) -> Result<u64, DatabaseError> {
        self.read(|tables, now| tables.held(owner, now)).await
    }
    async fn close(&self) {}
}

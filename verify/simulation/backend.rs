//! The simulated database behind the library's interface to databases. It has the lock table, and no aggregates but their versions.

use super::link::Link;
use super::tables::Tables;
use super::work::Work;
use crate::db::{self, Connection, Purpose};
use crate::db::{Capabilities, Connections, Granularity};
use crate::error::DatabaseError;
use crate::lease::engine::{Answer, Operation};
use crate::lease::operations::LockHash;
use crate::row_lock::Wait;

pub(super) fn without<T>() -> Result<T, DatabaseError> {
    Err(DatabaseError::Unsupported("the simulated database has leases only"))
}

impl Link {
    pub(crate) fn capabilities(&self) -> Capabilities {
        Capabilities {
            database: "simulated".into(),
            granularity: Granularity::Database,
            names_blocker: false,
            heartbeats_pass_saves: false,
        }
    }
    pub(crate) fn set_password(&self, _password: &str) -> Result<(), DatabaseError> {
        without()
    }
    pub(crate) async fn migrate(&self, _: &sqlx::migrate::Migrator) -> Result<(), DatabaseError> {
        without()
    }
    pub(crate) fn connections(&self) -> Connections {
        Connections { application: 1, lock_table: 1, reserve: 0, writer: 0 }
    }
    pub(crate) async fn begin(&self, wait: Wait, _label: Option<&str>) -> Result<Connection, DatabaseError> {
        Ok(Connection::new(db::Link::Simulated(Work::begin(self, wait).await?), None))
    }
    pub(crate) async fn reader(&self) -> Result<Connection, DatabaseError> {
        without()
    }
    pub(crate) async fn own_reader(&self) -> Result<Connection, DatabaseError> {
        without()
    }
    pub(crate) async fn begin_own(&self, _: Purpose) -> Result<Connection, DatabaseError> {
        without()
    }
    pub(crate) async fn together(
        &self,
        operations: &[&Operation],
        waits: bool,
    ) -> Result<Vec<Option<Answer>>, DatabaseError> {
        // A row that another transaction has locked at the moment.
        let locked: Vec<bool> = operations.iter().map(|_| !waits && self.world.random().percent(5)).collect();
        let answers = |tables: &mut Tables, now| {
            let operations = operations.iter().zip(locked);
            operations.map(|(operation, locked)| (!locked).then(|| tables.run(operation, now))).collect()
        };
        if operations.iter().all(|operation| operation.only_reads()) {
            return self.read(answers).await;
        }
        let locks = operations.iter().filter_map(|operation| match operation {
            Operation::Take(request) | Operation::TakeOver { request, .. } => Some(request.lock),
            Operation::Check(proof)
            | Operation::Keep(proof, _)
            | Operation::Extend(proof, _)
            | Operation::ExpireWithin(proof, _)
            | Operation::Release(proof)
            | Operation::ReleaseHeld(proof) => Some(proof.lock),
            Operation::UndoGrant { lock, .. } => Some(*lock),
            _ => None,
        });
        let locks: Vec<LockHash> = locks.collect();
        self.write(&locks, answers).await
    }
    pub(crate) fn answers_at_once(&self) -> usize {
        if self.world.seed.is_multiple_of(2) { 4 } else { 1 }
    }
    pub(crate) async fn count_held(&self, owner: &str) -> Result<u64, DatabaseError> {
        self.read(|tables, now| tables.held(owner, now)).await
    }
    pub(crate) async fn close(&self) {}
}

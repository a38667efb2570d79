//! The connections of one process to the simulated database: every request and every answer takes time, and may get lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use super::tables::Tables;
use super::world::{World, locked};
use crate::db::patience;
use crate::error::DatabaseError;
use crate::lease::operations::LockHash;

#[derive(Clone)]
pub(crate) struct Link {
    pub(super) world: Arc<World>,
    pub(super) process: usize,
    dead: Arc<AtomicBool>,
    /// The turn to write, while a transaction of this process has it.
    turn: Arc<Mutex<Option<OwnedMutexGuard<()>>>>,
}

/// The turn to write, until this is dropped or the process is killed.
pub(super) struct Turn(Arc<Mutex<Option<OwnedMutexGuard<()>>>>);

impl Drop for Turn {
    fn drop(&mut self) {
        *locked(&self.0) = None;
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Link({})", self.process)
    }
}

impl Link {
    pub(super) fn new(world: &Arc<World>, process: usize) -> Self {
        Link { world: Arc::clone(world), process, dead: Arc::default(), turn: Arc::default() }
    }

    /// The process is killed: nothing that it has not sent yet arrives, and no answer comes back.
    pub(super) fn kill(&self) {
        self.dead.store(true, Ordering::Relaxed);
        *locked(&self.turn) = None;
        let mut tables = self.world.tables();
        let requested = tables.log.requested.remove(&self.process).unwrap_or_default();
        tables.log.excused.extend(requested);
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    pub(super) fn holds(&self, turn: OwnedMutexGuard<()>) -> Turn {
        *locked(&self.turn) = Some(turn);
        Turn(Arc::clone(&self.turn))
    }

    async fn alive(&self) {
        if self.is_dead() {
            std::future::pending::<()>().await;
        }
    }

    /// A message travels.
    pub(super) async fn travel(&self) {
        let latency = self.world.latency();
        tokio::time::sleep(latency).await;
        self.alive().await;
    }

    /// Sends a request that reads.
    pub(super) async fn read<T>(&self, work: impl FnOnce(&mut Tables, i64) -> T) -> Result<T, DatabaseError> {
        let request = async {
            self.alive().await;
            self.travel().await;
            if self.world.fails(20) {
                return Err(lost());
            }
            let answer = work(&mut self.world.tables(), self.world.now());
            self.travel().await;
            Ok(answer)
        };
        let late = || Err(DatabaseError::Busy("the simulated database did not answer in time"));
        tokio::time::timeout(limit(), request).await.unwrap_or_else(|_| late())
    }

    /// Sends a request that writes and commits. It may take these lock ids, or end their leases.
    pub(super) async fn write<T>(
        &self,
        locks: &[LockHash],
        work: impl FnOnce(&mut Tables, i64) -> T,
    ) -> Result<T, DatabaseError> {
        if !self.is_dead() {
            let mut tables = self.world.tables();
            tables.log.requested.entry(self.process).or_default().extend(locks.iter().map(|lock| lock.to_vec()));
        }
        let request = async {
            self.alive().await;
            self.travel().await;
            if self.world.fails(15) {
                return Err(lost());
            }
            if self.world.fails(15) {
                return Err(DatabaseError::Deadlock);
            }
            let turn = self.world.writer.lock().await;
            let answer = work(&mut self.world.tables(), self.world.now());
            drop(turn);
            if self.world.fails(25) {
                return Err(unknown());
            }
            self.travel().await;
            Ok(answer)
        };
        let answer = tokio::time::timeout(limit(), request).await.unwrap_or_else(|_| Err(unknown()));
        if answer.is_err() {
            self.world.tables().log.excused.extend(locks.iter().map(|lock| lock.to_vec()));
        }
        answer
    }
}

/// The time limit of an answer, as the databases have it.
fn limit() -> Duration {
    patience::left().max(patience::GRACE)
}

fn lost() -> DatabaseError {
    DatabaseError::ConnectionLost("the simulated connection broke".into())
}

fn unknown() -> DatabaseError {
    DatabaseError::OutcomeUnknown("the simulated answer was lost".into())
}

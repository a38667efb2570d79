//! A writing transaction on the one writer.

use async_trait::async_trait;
use sqlx::SqliteConnection;

use super::lease_rows::LeaseTables;
use crate::clock::ManualClock;
use crate::db::Connection;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockKey, NoLock};
use crate::storage::leases::{guard, key_state, release, resume};
use crate::storage::{BackendTransaction, KeyState, Proof, Resumption};
use crate::store::operation::OperationId;

/// A transaction that holds the write lock on the whole file from its first statement.
pub(super) struct SqliteTransaction {
    pub(super) db: Connection,
    clock: Option<ManualClock>,
}

impl SqliteTransaction {
    pub(super) fn new(db: Connection, clock: Option<ManualClock>) -> Self {
        SqliteTransaction { db, clock }
    }

    fn now(&self) -> i64 {
        super::now(self.clock.as_ref())
    }
}

#[async_trait]
impl BackendTransaction for SqliteTransaction {
    fn db(&mut self) -> &mut Connection {
        &mut self.db
    }

    async fn guard(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        // The write lock holds the lease: no other statement can change its row before the commit.
        let now = self.now();
        guard(&mut LeaseTables { connection: self.db.sqlite().ours_to_read().await?, now }, proof).await
    }

    async fn resume(&mut self, proof: &Proof, key: &LockKey) -> Result<Resumption, DatabaseError> {
        let now = self.now();
        let mut table = LeaseTables { connection: self.db.sqlite().ours().await?, now };
        resume(&mut table, proof, key).await
    }

    async fn key_state(&mut self, key: &LockKey) -> Result<KeyState, DatabaseError> {
        let now = self.now();
        let state =
            key_state(&mut LeaseTables { connection: self.db.sqlite().ours_to_read().await?, now }, key).await?;
        // No other session can acquire the key before this transaction ends, with or without a row.
        Ok(if matches!(state, KeyState::NoRow) { KeyState::Free } else { state })
    }

    async fn release_lock(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.now();
        release(&mut LeaseTables { connection: self.db.sqlite().ours().await?, now }, proof).await
    }

    async fn commit(self: Box<Self>, operation: Option<&OperationId>) -> Result<(), DatabaseError> {
        self.db.commit(operation).await
    }

    async fn rollback(self: Box<Self>) -> Result<(), DatabaseError> {
        self.db.rollback().await
    }

    fn as_sqlite(&mut self) -> Option<&mut SqliteConnection> {
        Some(self.db.sqlite().lend())
    }

    #[cfg(feature = "sea-orm")]
    fn as_sea_orm(&mut self) -> &mut dyn crate::storage::sea_orm::SeaOrmStatements {
        self
    }
}

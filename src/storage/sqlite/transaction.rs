//! A writing transaction on the one writer.

use async_trait::async_trait;
use sqlx::SqliteConnection;

use super::aggregate_rows::AggregateTables;
use super::connection::OpenTransaction;
use super::lease_rows::LeaseTables;
use super::{load, operation, revision};
use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Rows};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::clock::ManualClock;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockKey, NoLock};
use crate::row_lock::LockMode;
use crate::storage::aggregates;
use crate::storage::leases::{guard, key_state, release, resume};
use crate::storage::operation::OperationId;
use crate::storage::{Authorship, BackendTransaction, EndSession, KeyState, Proof, Resumption, Save, Saved};
use crate::version::conflict::Change;

/// A transaction that holds the write lock on the whole file from its first statement.
pub(super) struct SqliteTransaction {
    pub(super) open: OpenTransaction,
    clock: Option<ManualClock>,
}

impl SqliteTransaction {
    pub(super) fn new(open: OpenTransaction, clock: Option<ManualClock>) -> Self {
        SqliteTransaction { open, clock }
    }

    fn now(&self) -> i64 {
        super::now(self.clock.as_ref())
    }

    /// The tables for writing.
    async fn tables(&mut self) -> Result<AggregateTables<'_>, DatabaseError> {
        let now = self.now();
        Ok(AggregateTables { connection: self.open.ours().await?, now })
    }
}

#[async_trait]
impl BackendTransaction for SqliteTransaction {
    async fn load(
        &mut self,
        mapping: &'static Mapping,
        id: &[Value],
        _mode: LockMode,
    ) -> Result<Option<Stored>, DatabaseError> {
        // Every mode is granted already: no other session can write until this transaction ends.
        load::load(self.open.ours_to_read().await?, mapping, id).await
    }

    async fn hold_version(
        &mut self,
        mapping: &'static Mapping,
        id: &[Value],
    ) -> Result<Option<Version>, DatabaseError> {
        load::version_now(self.open.ours_to_read().await?, mapping, id).await
    }

    async fn state_at(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        at: Version,
    ) -> Result<Option<Rows>, DatabaseError> {
        revision::state(self.open.ours_to_read().await?, mapping, key, at).await
    }

    async fn latest_change(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        id: &[Value],
    ) -> Result<Option<Change>, DatabaseError> {
        Ok(revision::changes(self.open.ours_to_read().await?, mapping, key, id, 1).await?.pop())
    }

    async fn insert(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        rows: &Rows,
        author: &Authorship,
    ) -> Result<Option<Version>, DatabaseError> {
        aggregates::insert(&mut self.tables().await?, mapping, key, rows, author).await
    }

    async fn insert_generated(
        &mut self,
        mapping: &'static Mapping,
        rows: &Rows,
        author: &Authorship,
    ) -> Result<i64, DatabaseError> {
        aggregates::insert_generated(&mut self.tables().await?, mapping, rows, author).await
    }

    async fn complete_insert(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        rows: &Rows,
        author: &Authorship,
    ) -> Result<Version, DatabaseError> {
        aggregates::complete_insert(&mut self.tables().await?, mapping, key, rows, author).await
    }

    async fn save(&mut self, save: &Save<'_>) -> Result<Saved, DatabaseError> {
        aggregates::save(&mut self.tables().await?, save).await
    }

    async fn delete(&mut self, mapping: &'static Mapping, key: &LockKey, old: &Stored) -> Result<Saved, DatabaseError> {
        aggregates::delete(&mut self.tables().await?, mapping, key, old).await
    }

    async fn guard(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        // The write lock holds the lease: no other statement can change its row before the commit.
        let now = self.now();
        guard(&mut LeaseTables { connection: self.open.ours_to_read().await?, now }, proof).await
    }

    async fn resume(&mut self, proof: &Proof, key: &LockKey) -> Result<Resumption, DatabaseError> {
        let now = self.now();
        let mut table = LeaseTables { connection: self.open.ours().await?, now };
        resume(&mut table, proof, key).await
    }

    async fn key_state(&mut self, key: &LockKey) -> Result<KeyState, DatabaseError> {
        let now = self.now();
        let state = key_state(&mut LeaseTables { connection: self.open.ours_to_read().await?, now }, key).await?;
        // No other session can acquire the key before this transaction ends, with or without a row.
        Ok(if matches!(state, KeyState::NoRow) { KeyState::Free } else { state })
    }

    async fn release_lock(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.now();
        release(&mut LeaseTables { connection: self.open.ours().await?, now }, proof).await
    }

    fn session(&self) -> Box<dyn EndSession> {
        self.open.session()
    }

    async fn commit(self: Box<Self>, operation: Option<&OperationId>) -> Result<(), DatabaseError> {
        let now = self.now();
        self.open.commit(operation.map(|operation| operation::carried(operation, now))).await
    }

    async fn rollback(self: Box<Self>) -> Result<(), DatabaseError> {
        self.open.rollback().await
    }

    fn as_sqlite(&mut self) -> Option<&mut SqliteConnection> {
        Some(self.open.lend())
    }

    #[cfg(feature = "sea-orm")]
    fn as_sea_orm(&mut self) -> &mut dyn crate::storage::sea_orm::SeaOrmStatements {
        self
    }
}

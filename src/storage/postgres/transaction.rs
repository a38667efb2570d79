//! A writing transaction at READ COMMITTED. Its waits end at its deadline.

use async_trait::async_trait;
use sqlx::PgConnection;

use super::aggregate_rows::AggregateTables;
use super::connection::OpenTransaction;
use super::lease_rows::LeaseTables;
use super::statements::RowLock;
use super::{batch, load, revision};
use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Rows};
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockKey, NoLock};
use crate::row_lock::LockMode;
use crate::storage::aggregates;
use crate::storage::leases::{guard, key_state, release, resume};
use crate::storage::operation::OperationId;
use crate::storage::{Authorship, BackendTransaction, EndSession, KeyState, Proof, Resumption, RowLocked, Save, Saved};
use crate::version::conflict::Change;

use super::Time;

/// A transaction on a connection of the pool.
pub(super) struct PgTransaction {
    pub(super) open: OpenTransaction,
    time: Time,
}

impl PgTransaction {
    pub(super) fn new(open: OpenTransaction, time: Time) -> Self {
        PgTransaction { open, time }
    }
}

#[async_trait]
impl BackendTransaction for PgTransaction {
    async fn load(
        &mut self,
        mapping: &'static Mapping,
        id: &[Value],
        mode: LockMode,
    ) -> Result<Option<Stored>, DatabaseError> {
        let lock = match mode {
            LockMode::PessimisticRead => RowLock::Share,
            LockMode::PessimisticWrite | LockMode::PessimisticForceIncrement => RowLock::Update,
            _ => return self.open.run(async |connection| load::load_whole(connection, mapping, id).await).await,
        };
        self.open.wait_for(async |connection| load::load(connection, mapping, id, lock).await).await
    }

    async fn load_unlocked(
        &mut self,
        mapping: &'static Mapping,
        id: &[Value],
        _mode: LockMode,
    ) -> Result<Result<Option<Stored>, RowLocked>, DatabaseError> {
        let unlocked = async |connection: &mut PgConnection| {
            if let Some(stored) = load::load(connection, mapping, id, RowLock::SkipLocked).await? {
                return Ok(Ok(Some(stored)));
            }
            // No row: it is locked, or it does not exist.
            let there = load::load(connection, mapping, id, RowLock::None).await?.is_some();
            Ok(if there { Err(RowLocked) } else { Ok(None) })
        };
        self.open.run(unlocked).await
    }

    async fn hold_version(
        &mut self,
        mapping: &'static Mapping,
        id: &[Value],
    ) -> Result<Option<Version>, DatabaseError> {
        self.open.wait_for(async |connection| load::version_now(connection, mapping, id, RowLock::Share).await).await
    }

    async fn state_at(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        at: Version,
    ) -> Result<Option<Rows>, DatabaseError> {
        self.open.run(async |connection| revision::state(connection, mapping, key, at).await).await
    }

    async fn latest_change(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        id: &[Value],
    ) -> Result<Option<Change>, DatabaseError> {
        let changes = async |connection: &mut PgConnection| revision::changes(connection, mapping, key, id, 1).await;
        Ok(self.open.run(changes).await?.pop())
    }

    async fn insert(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        rows: &Rows,
        author: &Authorship,
    ) -> Result<Option<Version>, DatabaseError> {
        let now = self.time.given();
        let insert = async |connection: &mut PgConnection| {
            aggregates::insert(&mut AggregateTables { connection, now }, mapping, key, rows, author).await
        };
        self.open.wait_for(insert).await
    }

    async fn insert_generated(
        &mut self,
        mapping: &'static Mapping,
        rows: &Rows,
        author: &Authorship,
    ) -> Result<i64, DatabaseError> {
        let now = self.time.given();
        let insert = async |connection: &mut PgConnection| {
            aggregates::insert_generated(&mut AggregateTables { connection, now }, mapping, rows, author).await
        };
        self.open.wait_for(insert).await
    }

    async fn complete_insert(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        rows: &Rows,
        author: &Authorship,
    ) -> Result<Version, DatabaseError> {
        let now = self.time.given();
        let insert = async |connection: &mut PgConnection| {
            aggregates::complete_insert(&mut AggregateTables { connection, now }, mapping, key, rows, author).await
        };
        self.open.wait_for(insert).await
    }

    async fn save(&mut self, save: &Save<'_>) -> Result<Saved, DatabaseError> {
        let now = self.time.given();
        self.open
            .wait_for(async |connection| aggregates::save(&mut AggregateTables { connection, now }, save).await)
            .await
    }

    async fn delete(&mut self, mapping: &'static Mapping, key: &LockKey, old: &Stored) -> Result<Saved, DatabaseError> {
        let now = self.time.given();
        let delete = async |connection: &mut PgConnection| {
            aggregates::delete(&mut AggregateTables { connection, now }, mapping, key, old).await
        };
        self.open.wait_for(delete).await
    }

    async fn guard(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.time.given();
        self.open.wait_for(async |connection| guard(&mut LeaseTables { connection, now }, proof).await).await
    }

    async fn resume(&mut self, proof: &Proof, key: &LockKey) -> Result<Resumption, DatabaseError> {
        let now = self.time.given();
        self.open.wait_for(async |connection| resume(&mut LeaseTables { connection, now }, proof, key).await).await
    }

    async fn key_state(&mut self, key: &LockKey) -> Result<KeyState, DatabaseError> {
        let now = self.time.given();
        self.open.wait_for(async |connection| key_state(&mut LeaseTables { connection, now }, key).await).await
    }

    async fn release_lock(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.time.given();
        let release = async |connection: &mut PgConnection| match batch::release(connection, proof, now).await? {
            Some(holder) => Ok(Ok(holder)),
            None => release(&mut LeaseTables { connection, now }, proof).await,
        };
        self.open.wait_for(release).await
    }

    fn session(&self) -> Box<dyn EndSession> {
        self.open.session()
    }

    async fn begin_again(&mut self) -> Result<(), DatabaseError> {
        self.open.begin_again().await
    }

    async fn commit(self: Box<Self>, operation: Option<&OperationId>) -> Result<(), DatabaseError> {
        self.open.commit(operation).await
    }

    async fn rollback(self: Box<Self>) -> Result<(), DatabaseError> {
        self.open.rollback().await
    }

    fn as_postgres(&mut self) -> Option<&mut PgConnection> {
        self.open.lend()
    }

    #[cfg(feature = "sea-orm")]
    fn as_sea_orm(&mut self) -> &mut dyn crate::storage::sea_orm::SeaOrmStatements {
        self
    }
}

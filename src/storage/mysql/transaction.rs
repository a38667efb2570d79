//! A writing transaction at READ COMMITTED. Its waits end at its deadline.

use async_trait::async_trait;

use super::aggregate_rows::AggregateTables;
use super::connection::OpenTransaction;
use super::deadline::RowLock;
use super::lease_rows::LeaseTables;
use super::session::Session;
use super::{load, revision};
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
pub(super) struct MySqlTransaction {
    pub(super) open: OpenTransaction,
    time: Time,
}

impl MySqlTransaction {
    pub(super) fn new(open: OpenTransaction, time: Time) -> Self {
        MySqlTransaction { open, time }
    }
}

#[async_trait]
impl BackendTransaction for MySqlTransaction {
    async fn load(
        &mut self,
        mapping: &'static Mapping,
        id: &[Value],
        mode: LockMode,
    ) -> Result<Option<Stored>, DatabaseError> {
        let lock = match mode {
            LockMode::PessimisticRead => RowLock::Share,
            LockMode::PessimisticWrite | LockMode::PessimisticForceIncrement => RowLock::Update,
            _ => return load::load_whole(self.open.session(), mapping, id).await,
        };
        self.open.wait_for(async |session: &mut Session| load::load(session, mapping, id, lock).await).await
    }

    async fn load_unlocked(
        &mut self,
        mapping: &'static Mapping,
        id: &[Value],
        _mode: LockMode,
    ) -> Result<Result<Option<Stored>, RowLocked>, DatabaseError> {
        let session = self.open.session();
        if let Some(stored) = load::load(session, mapping, id, RowLock::SkipLocked).await? {
            return Ok(Ok(Some(stored)));
        }
        // No row: it is locked, or it does not exist.
        let there = load::load(session, mapping, id, RowLock::None).await?.is_some();
        Ok(if there { Err(RowLocked) } else { Ok(None) })
    }

    async fn hold_version(
        &mut self,
        mapping: &'static Mapping,
        id: &[Value],
    ) -> Result<Option<Version>, DatabaseError> {
        let hold = async |session: &mut Session| load::version_now(session, mapping, id, RowLock::Share).await;
        self.open.wait_for(hold).await
    }

    async fn state_at(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        at: Version,
    ) -> Result<Option<Rows>, DatabaseError> {
        revision::state(self.open.session(), mapping, key, at).await
    }

    async fn latest_change(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        id: &[Value],
    ) -> Result<Option<Change>, DatabaseError> {
        Ok(revision::changes(self.open.session(), mapping, key, id, 1).await?.pop())
    }

    async fn insert(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        rows: &Rows,
        author: &Authorship,
    ) -> Result<Option<Version>, DatabaseError> {
        let now = self.time.given();
        let insert = async |session: &mut Session| {
            aggregates::insert(&mut AggregateTables { session, now }, mapping, key, rows, author).await
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
        let insert = async |session: &mut Session| {
            aggregates::insert_generated(&mut AggregateTables { session, now }, mapping, rows, author).await
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
        let insert = async |session: &mut Session| {
            aggregates::complete_insert(&mut AggregateTables { session, now }, mapping, key, rows, author).await
        };
        self.open.wait_for(insert).await
    }

    async fn save(&mut self, save: &Save<'_>) -> Result<Saved, DatabaseError> {
        let now = self.time.given();
        self.open.wait_for(async |session| aggregates::save(&mut AggregateTables { session, now }, save).await).await
    }

    async fn delete(&mut self, mapping: &'static Mapping, key: &LockKey, old: &Stored) -> Result<Saved, DatabaseError> {
        let now = self.time.given();
        let delete = async |session: &mut Session| {
            aggregates::delete(&mut AggregateTables { session, now }, mapping, key, old).await
        };
        self.open.wait_for(delete).await
    }

    async fn guard(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.time.given();
        self.open.wait_for(async |session| guard(&mut LeaseTables { session, now }, proof).await).await
    }

    async fn resume(&mut self, proof: &Proof, key: &LockKey) -> Result<Resumption, DatabaseError> {
        let now = self.time.given();
        self.open.wait_for(async |session| resume(&mut LeaseTables { session, now }, proof, key).await).await
    }

    async fn key_state(&mut self, key: &LockKey) -> Result<KeyState, DatabaseError> {
        let now = self.time.given();
        self.open.wait_for(async |session| key_state(&mut LeaseTables { session, now }, key).await).await
    }

    async fn release_lock(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.time.given();
        self.open.wait_for(async |session| release(&mut LeaseTables { session, now }, proof).await).await
    }

    fn session(&self) -> Box<dyn EndSession> {
        self.open.outside()
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

    fn as_mysql(&mut self) -> Option<&mut sqlx::MySqlConnection> {
        self.open.session().lend()
    }

    #[cfg(feature = "sea-orm")]
    fn as_sea_orm(&mut self) -> &mut dyn crate::storage::sea_orm::SeaOrmStatements {
        self
    }
}

//! A writing transaction at READ COMMITTED. Its waits end at its deadline.

use async_trait::async_trait;
use sqlx::PgConnection;

use super::batch;
use super::lease_rows::LeaseTables;
use crate::db::Connection;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockKey, NoLock};
use crate::storage::leases::{guard, key_state, release, resume};
use crate::storage::{BackendTransaction, KeyState, Proof, Resumption};
use crate::store::operation::OperationId;

use super::Time;

/// A transaction on a connection of the pool.
pub(super) struct PgTransaction {
    pub(super) db: Connection,
    time: Time,
}

impl PgTransaction {
    pub(super) fn new(db: Connection, time: Time) -> Self {
        PgTransaction { db, time }
    }
}

#[async_trait]
impl BackendTransaction for PgTransaction {
    fn db(&mut self) -> &mut Connection {
        &mut self.db
    }

    async fn guard(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.time.given();
        self.db.postgres().wait_for(async |connection| guard(&mut LeaseTables { connection, now }, proof).await).await
    }

    async fn resume(&mut self, proof: &Proof, key: &LockKey) -> Result<Resumption, DatabaseError> {
        let now = self.time.given();
        self.db
            .postgres()
            .wait_for(async |connection| resume(&mut LeaseTables { connection, now }, proof, key).await)
            .await
    }

    async fn key_state(&mut self, key: &LockKey) -> Result<KeyState, DatabaseError> {
        let now = self.time.given();
        self.db.postgres().wait_for(async |connection| key_state(&mut LeaseTables { connection, now }, key).await).await
    }

    async fn release_lock(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.time.given();
        let release = async |connection: &mut PgConnection| match batch::release(connection, proof, now).await? {
            Some(holder) => Ok(Ok(holder)),
            None => release(&mut LeaseTables { connection, now }, proof).await,
        };
        self.db.postgres().wait_for(release).await
    }

    async fn commit(self: Box<Self>, operation: Option<&OperationId>) -> Result<(), DatabaseError> {
        self.db.commit(operation).await
    }

    async fn rollback(self: Box<Self>) -> Result<(), DatabaseError> {
        self.db.rollback().await
    }

    fn as_postgres(&mut self) -> Option<&mut PgConnection> {
        self.db.postgres().lend()
    }

    #[cfg(feature = "sea-orm")]
    fn as_sea_orm(&mut self) -> &mut dyn crate::storage::sea_orm::SeaOrmStatements {
        self
    }
}

//! A writing transaction on the one writer.

use async_trait::async_trait;
use sqlx::SqliteConnection;

use super::connection::OpenTransaction;
use super::{leases, lock, revision, rows};
use crate::backend::{Authorship, BackendTransaction, Proof, Saved, Stored};
use crate::clock::ManualClock;
use crate::conflict::Change;
use crate::diff::Diff;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockKey, NoLock};
use crate::lock_mode::LockMode;
use crate::mapping::{Mapping, Rows};
use crate::value::Value;
use crate::version::Version;

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
}

#[async_trait]
impl BackendTransaction for SqliteTransaction {
    async fn load(
        &mut self,
        mapping: &Mapping,
        id: &[Value],
        _mode: LockMode,
    ) -> Result<Option<Stored>, DatabaseError> {
        // Every mode is granted already: nobody else can write until this transaction ends.
        rows::load(self.open.connection(), mapping, id).await
    }

    async fn revisions(
        &mut self,
        mapping: &Mapping,
        key: &LockKey,
        at: Version,
    ) -> Result<(Option<Rows>, Option<Change>), DatabaseError> {
        let connection = self.open.connection();
        let state = revision::state(connection, mapping, key, at).await?;
        Ok((state, revision::changes(connection, key, 1).await?.pop()))
    }

    async fn insert(
        &mut self,
        mapping: &Mapping,
        key: &LockKey,
        rows: &Rows,
        author: &Authorship,
    ) -> Result<bool, DatabaseError> {
        let now = self.now();
        let connection = self.open.connection();
        let inserted = rows::insert(connection, mapping, rows).await?;
        if inserted {
            revision::keep(connection, mapping, key, Version::FIRST, rows, author, now).await?;
        }
        Ok(inserted)
    }

    async fn save(
        &mut self,
        mapping: &Mapping,
        key: &LockKey,
        from: Version,
        diff: &Diff<'_>,
        new: &Rows,
        author: &Authorship,
    ) -> Result<Saved, DatabaseError> {
        let now = self.now();
        let connection = self.open.connection();
        let saved = rows::save(connection, mapping, from, diff, new).await?;
        if let Saved::Done = saved {
            revision::keep(connection, mapping, key, from.next(), new, author, now).await?;
        }
        Ok(saved)
    }

    async fn delete(&mut self, mapping: &Mapping, key: &LockKey, old: &Stored) -> Result<Saved, DatabaseError> {
        let connection = self.open.connection();
        let deleted = rows::delete(connection, mapping, old).await?;
        if let Saved::Done = deleted {
            revision::forget(connection, key).await?;
        }
        Ok(deleted)
    }

    async fn guard(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        // Holding the write lock is holding the lease: no other statement can touch its row before the commit.
        let now = self.now();
        leases::check(self.open.connection(), proof, now).await
    }

    async fn holder(&mut self, key: &LockKey) -> Result<Option<Holder>, DatabaseError> {
        let now = self.now();
        Ok(leases::exclusive(self.open.connection(), key, now).await?.map(|lease| lease.holder))
    }

    async fn release_lock(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.now();
        lock::release(self.open.connection(), proof, now).await
    }

    async fn commit(self: Box<Self>) -> Result<(), DatabaseError> {
        self.open.commit().await
    }

    async fn rollback(self: Box<Self>) -> Result<(), DatabaseError> {
        self.open.rollback().await
    }

    fn as_sqlite(&mut self) -> Option<&mut SqliteConnection> {
        Some(self.open.connection())
    }

    #[cfg(feature = "sea-orm")]
    fn as_sea_orm(&mut self) -> &mut dyn crate::backend::sea_orm::SeaOrmStatements {
        self
    }
}

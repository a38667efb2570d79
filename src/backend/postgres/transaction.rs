//! A writing transaction at READ COMMITTED. Its waits end at the deadline it was begun with.

use async_trait::async_trait;

use super::connection::OpenTransaction;
use super::statements::RowLock;
use super::{leases, lock, revision, rows};
use crate::backend::{Authorship, BackendTransaction, Proof, Saved, Stored};
use crate::conflict::Change;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockKey, NoLock};
use crate::lock_mode::LockMode;
use crate::mapping::{Mapping, Rows};
use crate::value::Value;
use crate::version::Version;

use super::Time;

/// A transaction on a connection of the pool.
pub(super) struct PgTransaction {
    open: OpenTransaction,
    time: Time,
}

impl PgTransaction {
    pub(super) fn new(open: OpenTransaction, time: Time) -> Self {
        PgTransaction { open, time }
    }
}

#[async_trait]
impl BackendTransaction for PgTransaction {
    async fn load(&mut self, mapping: &Mapping, id: &[Value], mode: LockMode) -> Result<Option<Stored>, DatabaseError> {
        let loaded = match mode {
            LockMode::PessimisticRead => rows::load(self.open.waiting().await?, mapping, id, RowLock::Share).await,
            LockMode::PessimisticWrite | LockMode::PessimisticForceIncrement => {
                rows::load(self.open.waiting().await?, mapping, id, RowLock::Update).await
            }
            _ => rows::load_whole(self.open.connection(), mapping, id).await,
        };
        self.open.timed(loaded)
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
        let now = self.time.given();
        let connection = self.open.waiting().await?;
        let inserted = rows::insert(connection, mapping, rows).await;
        if let Ok(true) = inserted {
            revision::keep(connection, mapping, key, Version::FIRST, rows, author, now).await?;
        }
        self.open.timed(inserted)
    }

    async fn save(
        &mut self,
        mapping: &Mapping,
        key: &LockKey,
        old: &Stored,
        new: &Rows,
        author: &Authorship,
    ) -> Result<Saved, DatabaseError> {
        let now = self.time.given();
        let connection = self.open.waiting().await?;
        let saved = rows::save(connection, mapping, old, new).await;
        if let Ok(Saved::Done) = saved {
            revision::keep(connection, mapping, key, old.version.next(), new, author, now).await?;
        }
        self.open.timed(saved)
    }

    async fn delete(&mut self, mapping: &Mapping, key: &LockKey, old: &Stored) -> Result<Saved, DatabaseError> {
        let connection = self.open.waiting().await?;
        let deleted = rows::delete(connection, mapping, old).await;
        if let Ok(Saved::Done) = deleted {
            revision::forget(connection, key).await?;
        }
        self.open.timed(deleted)
    }

    async fn guard(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.time.given();
        let held = leases::hold(self.open.waiting().await?, proof, now).await;
        self.open.timed(held)
    }

    async fn holder(&mut self, key: &LockKey) -> Result<Option<Holder>, DatabaseError> {
        let now = self.time.given();
        let held = leases::hold_exclusive(self.open.waiting().await?, key, now).await;
        Ok(self.open.timed(held)?.map(|lease| lease.holder))
    }

    async fn release_lock(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.time.given();
        let released = lock::release(self.open.waiting().await?, proof, now).await;
        self.open.timed(released)
    }

    async fn commit(self: Box<Self>) -> Result<(), DatabaseError> {
        self.open.commit().await
    }

    async fn rollback(self: Box<Self>) -> Result<(), DatabaseError> {
        self.open.rollback().await
    }

    fn as_postgres(&mut self) -> Option<&mut sqlx::PgConnection> {
        Some(self.open.connection())
    }
}

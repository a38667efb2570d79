//! A writing transaction at READ COMMITTED. Its waits end at the deadline it was begun with.

use async_trait::async_trait;

use super::connection::OpenTransaction;
use super::deadline::RowLock;
use super::session::Session;
use super::{leases, lock, revision, rows};
use crate::backend::{Authorship, BackendTransaction, Proof, RowLocked, Saved, Stored};
use crate::conflict::Change;
use crate::diff::Diff;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockKey, NoLock};
use crate::lock_mode::LockMode;
use crate::mapping::{Mapping, Rows};
use crate::value::Value;
use crate::version::Version;

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
    async fn load(&mut self, mapping: &Mapping, id: &[Value], mode: LockMode) -> Result<Option<Stored>, DatabaseError> {
        let lock = match mode {
            LockMode::PessimisticRead => RowLock::Share,
            LockMode::PessimisticWrite | LockMode::PessimisticForceIncrement => RowLock::Update,
            _ => return rows::load_whole(self.open.session(), mapping, id).await,
        };
        self.open.wait_for(async |session| rows::load(session, mapping, id, lock).await).await
    }

    async fn load_unlocked(
        &mut self,
        mapping: &Mapping,
        id: &[Value],
        _mode: LockMode,
    ) -> Result<Result<Option<Stored>, RowLocked>, DatabaseError> {
        let session = self.open.session();
        if let Some(stored) = rows::load(session, mapping, id, RowLock::SkipLocked).await? {
            return Ok(Ok(Some(stored)));
        }
        // Nothing came back: it is locked, or it is not there.
        let there = rows::load(session, mapping, id, RowLock::None).await?.is_some();
        Ok(if there { Err(RowLocked) } else { Ok(None) })
    }

    async fn revisions(
        &mut self,
        mapping: &Mapping,
        key: &LockKey,
        at: Version,
    ) -> Result<(Option<Rows>, Option<Change>), DatabaseError> {
        let session = self.open.session();
        let state = revision::state(session, mapping, key, at).await?;
        Ok((state, revision::changes(session, key, 1).await?.pop()))
    }

    async fn insert(
        &mut self,
        mapping: &Mapping,
        key: &LockKey,
        rows: &Rows,
        author: &Authorship,
    ) -> Result<bool, DatabaseError> {
        let now = self.time.given();
        let insert = async |session: &mut Session| {
            let inserted = rows::insert(session, mapping, rows).await?;
            if inserted {
                revision::keep(session, mapping, key, Version::FIRST, rows, author, now).await?;
            }
            Ok(inserted)
        };
        self.open.wait_for(insert).await
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
        let now = self.time.given();
        let save = async |session: &mut Session| {
            let saved = rows::save(session, mapping, from, diff, new).await?;
            if let Saved::Done = saved {
                revision::keep(session, mapping, key, from.next(), new, author, now).await?;
            }
            Ok(saved)
        };
        self.open.wait_for(save).await
    }

    async fn delete(&mut self, mapping: &Mapping, key: &LockKey, old: &Stored) -> Result<Saved, DatabaseError> {
        let delete = async |session: &mut Session| {
            let deleted = rows::delete(session, mapping, old).await?;
            if let Saved::Done = deleted {
                revision::forget(session, key).await?;
            }
            Ok(deleted)
        };
        self.open.wait_for(delete).await
    }

    async fn guard(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.time.given();
        self.open.wait_for(async |session| leases::hold(session, proof, now).await).await
    }

    async fn holder(&mut self, key: &LockKey) -> Result<Option<Holder>, DatabaseError> {
        let now = self.time.given();
        let hold = async |session: &mut Session| leases::exclusive(session, key, RowLock::Share, now).await;
        Ok(self.open.wait_for(hold).await?.map(leases::StoredLease::into_holder))
    }

    async fn release_lock(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.time.given();
        self.open.wait_for(async |session| lock::release(session, proof, now).await).await
    }

    async fn commit(self: Box<Self>) -> Result<(), DatabaseError> {
        self.open.commit().await
    }

    async fn rollback(self: Box<Self>) -> Result<(), DatabaseError> {
        self.open.rollback().await
    }

    fn as_mysql(&mut self) -> Option<&mut sqlx::MySqlConnection> {
        self.open.session().lend()
    }

    #[cfg(feature = "sea-orm")]
    fn as_sea_orm(&mut self) -> &mut dyn crate::backend::sea_orm::SeaOrmStatements {
        self
    }
}

//! PostgreSQL: row locks, READ COMMITTED, the server's clock.
//!
//! Leases are held to the end of a saving transaction by a `FOR KEY SHARE` lock on their row: heartbeats pass, takeovers
//! wait. Waits end through `lock_timeout`, set for the transaction only and shrunk from lock to lock.

mod batch;
mod connect;
mod connection;
mod errors;
mod leases;
mod list;
mod load;
mod lock;
mod operation;
mod pools;
mod requests;
mod resume;
mod revision;
mod rows;
#[cfg(feature = "sea-orm")]
pub(super) mod sea_orm;
mod sets;
mod slots;
mod statements;
mod sweep;
mod takeover;
mod transaction;
mod values;
mod watch;

use std::time::Duration;

use async_trait::async_trait;
use sqlx::{PgConnection, PgPool};

use crate::backend::{
    Asked, Asking, Attempt, AttemptAll, Backend, BackendTransaction, LockAnswer, LockHash, LockOp, LockRequest, Proof,
    RowPlace, Slice, Stored, SweptRows, TakenOver, migration,
};
use crate::capabilities::{Capabilities, Granularity};
use crate::clock::ManualClock;
use crate::conflict::Change;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockKey, NoLock, Owner};
use crate::listing::{HistoryQuery, ListQuery, Listed, PastRow};
use crate::lock_mode::Wait;
use crate::manager::HeldByType;
use crate::mapping::Mapping;
use crate::operation::OperationId;
use crate::request::{Answer, Request};
use crate::value::Value;

pub(crate) use connect::diagnose;
use connection::OpenTransaction;
use pools::Pools;
use transaction::PgTransaction;

/// A PostgreSQL database.
#[derive(Debug)]
pub(crate) struct Postgres {
    pool: PgPool,
    /// For the lock manager.
    leases: Pools,
    time: Time,
    version: String,
}

/// The server's own clock, or that of a test.
#[derive(Debug, Clone)]
struct Time(Option<ManualClock>);

impl Time {
    /// What statements are given as the time: nothing, so that they ask the server.
    fn given(&self) -> Option<i64> {
        self.0.as_ref().map(ManualClock::millis)
    }
}

impl Postgres {
    /// The pool, for the user's own queries.
    pub(crate) fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Applies the application's own migrations.
    pub(crate) async fn migrate(&self, migrator: &sqlx::migrate::Migrator) -> Result<(), DatabaseError> {
        migrator.run(&self.pool).await.map_err(|error| migration::failed(error, errors::classify))
    }

    async fn write(&self) -> Result<OpenTransaction, DatabaseError> {
        OpenTransaction::begin_for_leases(&self.leases).await
    }
}

/// How often a set of locks is tried that deadlocked.
const ATTEMPTS: u32 = 3;

fn capabilities(version: &str) -> Capabilities {
    Capabilities {
        database: format!("PostgreSQL {version}"),
        granularity: Granularity::Row,
        shared_locks: true,
        skip_locked: true,
        names_blocker: true,
        heartbeats_pass_saves: true,
        compares_decimals: true,
    }
}

#[async_trait]
impl Backend for Postgres {
    fn capabilities(&self) -> Capabilities {
        capabilities(&self.version)
    }

    async fn begin(&self, wait: Wait, label: Option<&str>) -> Result<Box<dyn BackendTransaction>, DatabaseError> {
        let open = OpenTransaction::begin(&self.leases, wait, label).await?;
        Ok(Box::new(PgTransaction::new(open, self.pool.clone(), self.time.clone())))
    }

    async fn load(&self, mapping: &'static Mapping, id: &[Value]) -> Result<Option<Stored>, DatabaseError> {
        load::load_whole(&mut *self.pool.acquire().await.map_err(errors::classify)?, mapping, id).await
    }

    async fn changes(
        &self,
        mapping: &'static Mapping,
        key: &LockKey,
        id: &[Value],
        limit: u32,
    ) -> Result<Vec<Change>, DatabaseError> {
        revision::changes(&mut *self.pool.acquire().await.map_err(errors::classify)?, mapping, key, id, limit).await
    }

    async fn settle(&self, operation: &OperationId) -> Result<bool, DatabaseError> {
        let mut transaction = self.write().await?;
        let committed = operation::settle(transaction.connection(), operation).await?;
        transaction.commit(None).await?;
        Ok(committed)
    }

    async fn forget_operations(&self, older_than: Duration) -> Result<u64, DatabaseError> {
        let mut transaction = self.write().await?;
        let forgotten = operation::forget(transaction.connection(), older_than).await?;
        transaction.commit(None).await?;
        Ok(forgotten)
    }

    async fn lock_batch(&self, ops: &[LockOp]) -> Result<Vec<Option<LockAnswer>>, DatabaseError> {
        batch::run(&self.leases, ops, self.time.given()).await
    }

    async fn try_lock(&self, request: &LockRequest) -> Result<Attempt, DatabaseError> {
        if request.policy.exclusive {
            // Read first: the upsert locks the row before it looks at it, so a refusal would wait for somebody's save.
            let mut reader = self.leases.for_one().await?;
            if let Some(refusal) = leases::held_by_other(&mut reader, request, self.time.given()).await? {
                return Ok(refusal);
            }
        }
        let mut transaction = self.write().await?;
        let now = self.time.given();
        let take = async |connection: &mut PgConnection| lock::take(connection, request, now).await;
        let attempt = transaction.wait_for(&self.pool, take).await?;
        match attempt {
            Attempt::Granted(_) => transaction.commit(None).await?,
            _ => transaction.rollback().await?,
        }
        Ok(attempt)
    }

    async fn try_lock_all(&self, requests: &[LockRequest]) -> Result<AttemptAll, DatabaseError> {
        let now = self.time.given();
        // Read first: a refusal must neither wait for somebody's save nor write.
        let mut reader = self.pool.acquire().await.map_err(errors::classify)?;
        let refused = sets::in_the_way(&mut reader, requests, now).await?;
        drop(reader);
        if !refused.is_empty() {
            return Ok(AttemptAll::Refused(refused));
        }
        let mut attempt = 1;
        loop {
            let mut transaction = self.write().await?;
            let take = async |connection: &mut PgConnection| sets::take_all(connection, requests, now).await;
            match transaction.wait_for(&self.pool, take).await {
                Ok(granted @ AttemptAll::Granted(_)) => {
                    transaction.commit(None).await?;
                    return Ok(granted);
                }
                Ok(AttemptAll::Refused(found)) => {
                    transaction.rollback().await?;
                    let mut reader = self.pool.acquire().await.map_err(errors::classify)?;
                    return sets::refused(&mut reader, requests, found, now).await;
                }
                // Nothing of it is left. Sets take turns by the order of their keys, so this takes somebody else's rows,
                // made between the two statements.
                Err(DatabaseError::Deadlock) if attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }

    async fn check_lock(&self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        leases::check(&mut *self.leases.for_one().await?, proof, self.time.given()).await
    }

    async fn keep_alive(&self, proofs: &[(Proof, Duration)]) -> Result<Vec<Result<Holder, NoLock>>, DatabaseError> {
        let mut transaction = self.write().await?;
        let mut answers: Vec<Option<Result<Holder, NoLock>>> = vec![None; proofs.len()];
        // In one order for all callers, or two sets of heartbeats could deadlock.
        let mut order: Vec<usize> = (0..proofs.len()).collect();
        order.sort_by_key(|&at| proofs[at].0.lock);
        for at in order {
            let (proof, idle) = &proofs[at];
            answers[at] = Some(lock::keep_alive(transaction.connection(), proof, *idle, self.time.given()).await?);
        }
        transaction.commit(None).await?;
        Ok(answers.into_iter().flatten().collect())
    }

    async fn extend(&self, proof: &Proof, by: Duration) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let mut transaction = self.write().await?;
        let answer = lock::extend(transaction.connection(), proof, by, self.time.given()).await?;
        transaction.commit(None).await?;
        Ok(answer)
    }

    async fn expire_within(&self, proof: &Proof, within: Duration) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let mut transaction = self.write().await?;
        let answer = lock::expire_within(transaction.connection(), proof, within, self.time.given()).await?;
        transaction.commit(None).await?;
        Ok(answer)
    }

    async fn release_lock(&self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let mut transaction = self.write().await?;
        let answer = lock::release(transaction.connection(), proof, self.time.given()).await?;
        transaction.commit(None).await?;
        Ok(answer)
    }

    async fn break_lock(
        &self,
        key: &LockKey,
        generation: i64,
        by: &Owner,
        reason: &str,
    ) -> Result<Option<Holder>, DatabaseError> {
        let mut transaction = self.write().await?;
        let now = self.time.given();
        let end =
            async |connection: &mut PgConnection| lock::break_lock(connection, key, generation, by, reason, now).await;
        let broken = transaction.wait_for(&self.pool, end).await?;
        transaction.commit(None).await?;
        Ok(broken)
    }

    async fn take_over(
        &self,
        request: &LockRequest,
        generation: i64,
        reason: &str,
    ) -> Result<TakenOver, DatabaseError> {
        let mut transaction = self.write().await?;
        let now = self.time.given();
        let take = async |connection: &mut PgConnection| {
            takeover::take_over(connection, request, generation, reason, now).await
        };
        let taken = transaction.wait_for(&self.pool, take).await?;
        match taken {
            TakenOver::Granted(_) => transaction.commit(None).await?,
            _ => transaction.rollback().await?,
        }
        Ok(taken)
    }

    async fn release_all(&self, owner: &str) -> Result<Vec<Holder>, DatabaseError> {
        let mut transaction = self.write().await?;
        let now = self.time.given();
        let release = async |connection: &mut PgConnection| takeover::release_all(connection, owner, now).await;
        let released = transaction.wait_for(&self.pool, release).await?;
        transaction.commit(None).await?;
        Ok(released)
    }

    async fn request(&self, asking: &Asking<'_>) -> Result<Asked, DatabaseError> {
        let mut transaction = self.write().await?;
        let asked = requests::ask(transaction.connection(), asking, self.time.given()).await?;
        transaction.commit(None).await?;
        Ok(asked)
    }

    async fn requests(&self, proof: &Proof) -> Result<Result<Vec<Request>, NoLock>, DatabaseError> {
        requests::requests(&mut *self.leases.for_one().await?, proof, self.time.given()).await
    }

    async fn answer_request(
        &self,
        proof: &Proof,
        asker: &str,
        answer: &Answer,
    ) -> Result<Result<Option<Request>, NoLock>, DatabaseError> {
        let mut transaction = self.write().await?;
        let answered = requests::answer(transaction.connection(), proof, asker, answer, self.time.given()).await?;
        transaction.commit(None).await?;
        Ok(answered)
    }

    async fn hand_over(
        &self,
        proof: &Proof,
        to: &str,
        reservation: LockHash,
    ) -> Result<Result<Option<Holder>, NoLock>, DatabaseError> {
        let mut transaction = self.write().await?;
        let now = self.time.given();
        let hand =
            async |connection: &mut PgConnection| requests::hand_over(connection, proof, to, reservation, now).await;
        let handed = transaction.wait_for(&self.pool, hand).await?;
        transaction.commit(None).await?;
        Ok(handed)
    }

    async fn holders(&self, key: &LockKey) -> Result<Vec<Holder>, DatabaseError> {
        leases::holders(&mut *self.leases.for_one().await?, key, self.time.given()).await
    }

    async fn list(&self, query: &ListQuery) -> Result<Vec<Listed>, DatabaseError> {
        list::held(&mut *self.pool.acquire().await.map_err(errors::classify)?, query, self.time.given()).await
    }

    async fn history(&self, query: &HistoryQuery) -> Result<Vec<PastRow>, DatabaseError> {
        list::past(&mut *self.pool.acquire().await.map_err(errors::classify)?, query).await
    }

    async fn sweep_history(&self, slice: &Slice<'_>) -> Result<u64, DatabaseError> {
        sweep::history(&mut *self.pool.acquire().await.map_err(errors::classify)?, slice, self.time.given()).await
    }

    async fn sweep_requests(&self, slice: &Slice<'_>) -> Result<u64, DatabaseError> {
        sweep::requests(&mut *self.pool.acquire().await.map_err(errors::classify)?, slice, self.time.given()).await
    }

    async fn sweep_rows(&self, slice: &Slice<'_>, after: &RowPlace) -> Result<SweptRows, DatabaseError> {
        let mut transaction = self.write().await?;
        let swept = sweep::rows(transaction.connection(), slice, after, self.time.given()).await?;
        transaction.commit(None).await?;
        Ok(swept)
    }

    async fn count_held(&self, owner: &str) -> Result<u64, DatabaseError> {
        leases::count(&mut *self.leases.for_one().await?, owner, self.time.given()).await
    }

    async fn held_by_type(&self) -> Result<Vec<HeldByType>, DatabaseError> {
        leases::held_by_type(&mut *self.leases.for_one().await?, self.time.given()).await
    }

    async fn close(&self) {
        self.leases.close().await;
    }

    fn as_postgres(&self) -> Option<&Postgres> {
        Some(self)
    }
}

//! PostgreSQL: row locks, READ COMMITTED, the server's clock.
//!
//! A saving transaction holds its lease by a `FOR KEY SHARE` lock on the row: heartbeats succeed, takeovers wait. `lock_timeout` limits
//! waits; it is set for the transaction only, and reduced from lock to lock.

mod batch;
mod checkout;
mod connect;
mod connection;
pub(in crate::storage) mod errors;
mod leases;
mod list;
mod live;
mod load;
mod lock;
mod operation;
mod overdue;
mod pools;
mod removed;
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

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::{PgConnection, PgPool};

use crate::aggregate::Stored;
use crate::aggregate::condition::Test;
use crate::aggregate::mapping::{Mapping, Row, Rows, Table};
use crate::aggregate::schema::LiveTable;
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::clock::ManualClock;
use crate::error::DatabaseError;
use crate::lease::listing::{HistoryQuery, ListQuery, Listed, PastRow};
use crate::lease::transfer::{TransferReply, TransferRequest};
use crate::lease::{HeldByType, Holder, LockKey, NoLock, Owner};
use crate::row_lock::mode::Wait;
use crate::storage::capabilities::{Capabilities, Granularity};
use crate::storage::operation::OperationId;
use crate::storage::{
    Asked, Asking, Attempt, AttemptAll, Backend, BackendTransaction, Connections, LockAnswer, LockHash, LockOp,
    LockRequest, Proof, RowPlace, Slice, SweptRows, TakenOver, migration,
};
use crate::version::conflict::Change;

pub(crate) use connect::{diagnose, script};
use connection::OpenTransaction;
use pools::Pools;
use transaction::PgTransaction;

/// A PostgreSQL database.
#[derive(Debug)]
pub(crate) struct Postgres {
    pool: PgPool,
    /// That pool, and those of the lock manager.
    pools: Arc<Pools>,
    time: Time,
    version: String,
    /// The maximum number of connections of the pool.
    count: u32,
}

/// The server's own clock, or a test's.
#[derive(Debug, Clone)]
struct Time(Option<ManualClock>);

impl Time {
    /// The time for statements: `None`, so that they read the server's clock.
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

    /// Runs an operation in a transaction of its own, and commits it.
    async fn alone<T>(
        &self,
        operation: impl AsyncFnOnce(&mut PgConnection) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let mut transaction = self.write().await?;
        let answer = transaction.wait_for(operation).await?;
        transaction.commit(None).await?;
        Ok(answer)
    }

    async fn write(&self) -> Result<OpenTransaction, DatabaseError> {
        OpenTransaction::begin_for_leases(&self.pools).await
    }
}

fn capabilities(version: &str) -> Capabilities {
    Capabilities {
        database: format!("PostgreSQL {version}"),
        granularity: Granularity::Row,
        several_writers: false,
        shared_locks: true,
        skip_locked: true,
        names_blocker: true,
        heartbeats_pass_saves: true,
        compares_decimals: true,
    }
}

#[async_trait]
impl Backend for Postgres {
    fn connections(&self) -> Connections {
        connect::connections(self.count)
    }

    fn set_password(&self, password: &str) -> Result<(), DatabaseError> {
        for pool in [&self.pools.main, &self.pools.batches, &self.pools.alone] {
            pool.set_connect_options((*pool.connect_options()).clone().password(password));
        }
        Ok(())
    }

    fn capabilities(&self) -> Capabilities {
        capabilities(&self.version)
    }

    async fn begin(&self, wait: Wait, label: Option<&str>) -> Result<Box<dyn BackendTransaction>, DatabaseError> {
        let open = OpenTransaction::begin(&self.pools, wait, label).await?;
        Ok(Box::new(PgTransaction::new(open, self.time.clone())))
    }

    async fn load(&self, mapping: &'static Mapping, id: &[Value]) -> Result<Option<Stored>, DatabaseError> {
        self.pools.load(async |connection| load::load_whole(connection, mapping, id).await).await
    }

    async fn changes(
        &self,
        mapping: &'static Mapping,
        key: &LockKey,
        id: &[Value],
        limit: u32,
    ) -> Result<Vec<Change>, DatabaseError> {
        self.pools.load(async |connection| revision::changes(connection, mapping, key, id, limit).await).await
    }

    async fn load_many(&self, mapping: &'static Mapping, ids: &[Row]) -> Result<Vec<Stored>, DatabaseError> {
        self.pools.load(async |connection| load::load_many(connection, mapping, ids).await).await
    }

    async fn stored_id(&self, mapping: &'static Mapping, id: &[Value]) -> Result<Option<Row>, DatabaseError> {
        self.pools.load(async |connection| load::stored_id(connection, mapping, id).await).await
    }

    async fn ids_after(
        &self,
        mapping: &'static Mapping,
        after: Option<&[Value]>,
        limit: u32,
    ) -> Result<Vec<Row>, DatabaseError> {
        self.pools.load(async |connection| load::ids_after(connection, mapping, after, limit).await).await
    }

    async fn count(&self, mapping: &'static Mapping, when: &Test) -> Result<u64, DatabaseError> {
        self.pools.load(async |connection| load::count(connection, mapping, when).await).await
    }

    async fn state_at(
        &self,
        mapping: &'static Mapping,
        key: &LockKey,
        at: Version,
    ) -> Result<Option<Rows>, DatabaseError> {
        self.pools.load(async |connection| revision::state(connection, mapping, key, at).await).await
    }

    async fn live_table(&self, table: &Table) -> Result<Option<LiveTable>, DatabaseError> {
        let name = table.quoted('"');
        self.pools.load(async |connection| live::table(connection, &name).await).await
    }

    async fn settle(&self, operation: &OperationId) -> Result<bool, DatabaseError> {
        self.alone(async |connection| operation::settle(connection, operation).await).await
    }

    async fn forget_operations(&self, older_than: Duration) -> Result<u64, DatabaseError> {
        self.alone(async |connection| operation::forget(connection, older_than).await).await
    }

    async fn lock_batch(&self, ops: &[LockOp]) -> Result<Vec<Option<LockAnswer>>, DatabaseError> {
        batch::run(&self.pools, ops, self.time.given()).await
    }

    async fn try_lock(&self, request: &LockRequest) -> Result<Attempt, DatabaseError> {
        if request.policy.exclusive {
            // Read first: the upsert locks the row before it evaluates it, so a refusal would wait for another session's save.
            let now = self.time.given();
            let refusal =
                self.pools.ask(async |connection| leases::held_by_other(connection, request, now).await).await?;
            if let Some(refusal) = refusal {
                return Ok(refusal);
            }
        }
        let mut transaction = self.write().await?;
        let now = self.time.given();
        let take = async |connection: &mut PgConnection| lock::take(connection, request, now).await;
        let attempt = transaction.wait_for(take).await?;
        match attempt {
            Attempt::Granted(_) => transaction.commit(None).await?,
            _ => transaction.rollback().await?,
        }
        Ok(attempt)
    }

    async fn try_lock_all(&self, requests: &[LockRequest]) -> Result<AttemptAll, DatabaseError> {
        sets::try_all(self, requests).await
    }

    async fn make_row(&self, key: &LockKey) -> Result<(), DatabaseError> {
        self.pools.ask(async |connection| slots::make_anchor(connection, key).await).await
    }

    async fn check_lock(&self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.time.given();
        self.pools.ask(async |connection| leases::check(connection, proof, now).await).await
    }

    async fn keep_alive(&self, proofs: &[(Proof, Duration)]) -> Result<Vec<Result<Holder, NoLock>>, DatabaseError> {
        let now = self.time.given();
        self.alone(async |connection| lock::keep_all_alive(connection, proofs, now).await).await
    }

    async fn extend(&self, proof: &Proof, by: Duration) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.time.given();
        self.alone(async |connection| lock::extend(connection, proof, by, now).await).await
    }

    async fn expire_within(&self, proof: &Proof, within: Duration) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.time.given();
        self.alone(async |connection| lock::expire_within(connection, proof, within, now).await).await
    }

    async fn release_lock(&self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        let now = self.time.given();
        self.alone(async |connection| lock::release(connection, proof, now).await).await
    }

    async fn give_back(&self, lock: &LockHash, generation: i64) -> Result<bool, DatabaseError> {
        let now = self.time.given();
        self.alone(async |connection| lock::give_back(connection, lock, generation, now).await).await
    }

    async fn break_lock(
        &self,
        key: &LockKey,
        generation: i64,
        by: &Owner,
        reason: &str,
    ) -> Result<Option<Holder>, DatabaseError> {
        let now = self.time.given();
        let end =
            async |connection: &mut PgConnection| lock::break_lock(connection, key, generation, by, reason, now).await;
        self.alone(end).await
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
        let taken = transaction.wait_for(take).await?;
        match taken {
            TakenOver::Granted(_) => transaction.commit(None).await?,
            _ => transaction.rollback().await?,
        }
        Ok(taken)
    }

    async fn release_all(&self, owner: &str) -> Result<Vec<Holder>, DatabaseError> {
        let now = self.time.given();
        let mut attempt = 1;
        loop {
            let release = async |connection: &mut PgConnection| takeover::release_all(connection, owner, now).await;
            match self.alone(release).await {
                // A deadlock has rolled it back. Heartbeats lock several rows in one order, but sets in that of their keys.
                Err(DatabaseError::Deadlock) if attempt < sets::ATTEMPTS => attempt += 1,
                released => return released,
            }
        }
    }

    async fn request(&self, asking: &Asking<'_>) -> Result<Asked, DatabaseError> {
        let now = self.time.given();
        self.alone(async |connection| requests::ask(connection, asking, now).await).await
    }

    async fn requests(&self, proof: &Proof) -> Result<Result<Vec<TransferRequest>, NoLock>, DatabaseError> {
        let now = self.time.given();
        self.pools.ask(async |connection| requests::requests(connection, proof, now).await).await
    }

    async fn answer_request(
        &self,
        proof: &Proof,
        asker: &str,
        answer: &TransferReply,
    ) -> Result<Result<Option<TransferRequest>, NoLock>, DatabaseError> {
        let now = self.time.given();
        let give = async |connection: &mut PgConnection| requests::answer(connection, proof, asker, answer, now).await;
        self.alone(give).await
    }

    async fn hand_over(
        &self,
        proof: &Proof,
        to: &str,
        reservation: LockHash,
    ) -> Result<Result<Option<Holder>, NoLock>, DatabaseError> {
        let now = self.time.given();
        let hand =
            async |connection: &mut PgConnection| requests::hand_over(connection, proof, to, reservation, now).await;
        self.alone(hand).await
    }

    async fn holders(&self, key: &LockKey) -> Result<Vec<Holder>, DatabaseError> {
        let now = self.time.given();
        self.pools.ask(async |connection| leases::holders(connection, key, now).await).await
    }

    async fn list(&self, query: &ListQuery) -> Result<Vec<Listed>, DatabaseError> {
        let now = self.time.given();
        self.pools.load(async |connection| list::held(connection, query, now).await).await
    }

    async fn history(&self, query: &HistoryQuery) -> Result<Vec<PastRow>, DatabaseError> {
        self.pools.load(async |connection| list::past(connection, query).await).await
    }

    async fn sweep_history(&self, slice: &Slice<'_>) -> Result<u64, DatabaseError> {
        let now = self.time.given();
        self.pools.tell(async |connection| sweep::history(connection, slice, now).await).await
    }

    async fn sweep_requests(&self, slice: &Slice<'_>) -> Result<u64, DatabaseError> {
        let now = self.time.given();
        self.pools.tell(async |connection| sweep::requests(connection, slice, now).await).await
    }

    async fn sweep_rows(&self, slice: &Slice<'_>, after: &RowPlace) -> Result<SweptRows, DatabaseError> {
        self.alone(async |connection| sweep::rows(connection, slice, after, self.time.given()).await).await
    }

    async fn count_held(&self, owner: &str) -> Result<u64, DatabaseError> {
        let now = self.time.given();
        self.pools.ask(async |connection| leases::count(connection, owner, now).await).await
    }

    async fn held_by_type(&self) -> Result<Vec<HeldByType>, DatabaseError> {
        let now = self.time.given();
        self.pools.ask(async |connection| leases::held_by_type(connection, now).await).await
    }

    async fn close(&self) {
        self.pools.close().await;
    }

    fn as_postgres(&self) -> Option<&Postgres> {
        Some(self)
    }
}

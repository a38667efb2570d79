//! Operations that have a connection or a transaction of their own.

use std::time::Duration;

use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Row, Rows, Table};
use crate::aggregate::schema::LiveTable;
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::db::{Backend, RowLock, erased};
use crate::error::DatabaseError;
use crate::lease::engine::{Answer, Operation, Place};
use crate::lease::listing::{HistoryQuery, ListQuery, Listed, PastRow};
use crate::lease::operations::{Attempt, LockAnswer, LockHash, LockOp, LockRequest, Proof, TakenOver};
use crate::lease::{HeldByType, Holder, LockKey, NoLock, Owner};
use crate::store::leases::{batch, operate};
use crate::store::operation::OperationId;
use crate::store::{Slice, SweptRows};
use crate::store::{counts, leases, lists, live, load, operation, revisions, sweep};
use crate::version::conflict::Change;

/// Runs an operation of the lock manager again if the database aborted it in a deadlock, or another session was first: nothing was changed.
/// The budget of the operation may end it earlier. (The application's units of work are not repeated: only the application knows whether they
/// may be.)
macro_rules! again {
    ($work:expr) => {{
        let mut attempt = 1;
        loop {
            match $work.await {
                Err(DatabaseError::Deadlock | DatabaseError::SerializationFailure)
                    if attempt < $crate::store::ATTEMPTS =>
                {
                    tokio::time::sleep($crate::db::patience::jitter() * attempt).await;
                    attempt += 1;
                }
                done => break done,
            }
        }
    }};
}
pub(super) use again;

/// Runs an operation in a transaction of its own, and commits it.
macro_rules! alone {
    ($backend:expr, $db:ident => $operation:expr) => {
        again!(erased(async {
            let mut $db = $backend.begin_own(false).await?;
            let answer = $operation.await?;
            $db.commit(None).await?;
            Ok(answer)
        }))
    };
}

/// Aggregates, without a lock.
impl Backend {
    /// Loads a consistent state of an aggregate.
    pub(crate) async fn load(&self, mapping: &'static Mapping, id: &[Value]) -> Result<Option<Stored>, DatabaseError> {
        erased(load::load(&mut self.reader().await?, mapping, id, RowLock::None)).await
    }

    /// Loads those of these aggregates that exist, in no particular order, each in a consistent state.
    pub(crate) async fn load_many(&self, mapping: &'static Mapping, ids: &[Row]) -> Result<Vec<Stored>, DatabaseError> {
        erased(load::load_many(&mut self.reader().await?, mapping, ids)).await
    }

    /// The recorded changes of an aggregate, newest first: from its revisions, or its audit columns.
    pub(crate) async fn changes(
        &self,
        mapping: &'static Mapping,
        key: &LockKey,
        id: &[Value],
        limit: u32,
    ) -> Result<Vec<Change>, DatabaseError> {
        erased(revisions::changes(&mut self.reader().await?, mapping, key, id, limit)).await
    }

    /// The state of an aggregate at a version; `None` if it is not stored.
    pub(crate) async fn state_at(
        &self,
        mapping: &'static Mapping,
        key: &LockKey,
        at: Version,
    ) -> Result<Option<Rows>, DatabaseError> {
        erased(revisions::state(&mut self.reader().await?, mapping, key, at)).await
    }

    /// Describes a table of the application; `None` if it does not exist.
    pub(crate) async fn live_table(&self, table: &Table) -> Result<Option<LiveTable>, DatabaseError> {
        erased(live::table(&mut self.reader().await?, &table.name)).await
    }

    /// Whether the transaction with this operation id was committed. If it was not, it never will be: this call reserves the id.
    pub(crate) async fn settle(&self, operation: &OperationId) -> Result<bool, DatabaseError> {
        alone!(self, db => operation::settle(&mut db, operation))
    }

    /// Deletes operation ids that are older than this; returns their number.
    pub(crate) async fn forget_operations(&self, older_than: Duration) -> Result<u64, DatabaseError> {
        alone!(self, db => operation::forget(&mut db, older_than))
    }
}

/// The answer to an operation on leases.
macro_rules! answer {
    ($backend:expr, $operation:expr, $answer:path) => {
        match erased(operate($backend, &$operation)).await? {
            $answer(answer) => Ok(answer),
            other => unreachable!("the engine has one kind of answer per operation, and this is {other:?}"),
        }
    };
}

/// Leases.
impl Backend {
    /// Acquires a lock if it is free or expired.
    pub(crate) async fn try_lock(&self, request: &LockRequest) -> Result<Attempt, DatabaseError> {
        answer!(self, Operation::Take(request), Answer::Taken)
    }

    /// Answers many requests in as few round trips and commits as possible, without waiting for other sessions. `None`: that request has to
    /// be sent alone, because it has to wait, or its answer needs an explanation. All requests have different keys and different lock ids.
    pub(crate) async fn lock_batch(&self, ops: &[LockOp]) -> Result<Vec<Option<LockAnswer>>, DatabaseError> {
        erased(async {
            match self {
                #[cfg(feature = "sqlite")]
                Backend::Sqlite(db) => batch::sqlite::run(db, ops).await,
                #[cfg(feature = "postgres")]
                Backend::Postgres(db) => batch::postgres::run(db, ops).await,
                #[cfg(feature = "mysql")]
                Backend::MySql(db) => batch::mysql::run(db, ops).await,
                #[cfg(test)]
                Backend::Simulated(link) => link.lock_batch(ops).await,
            }
        })
        .await
    }

    /// The number of concurrent single requests that cost the database less than a batch.
    pub(crate) fn answers_at_once(&self) -> usize {
        match self {
            // There is one writer.
            #[cfg(feature = "sqlite")]
            Backend::Sqlite(_) => 1,
            #[cfg(test)]
            Backend::Simulated(link) => link.answers_at_once(),
            #[allow(unreachable_patterns, reason = "a build may have SQLite only")]
            _ => 4,
        }
    }

    /// Makes sure that the key has a row, in a transaction of its own.
    pub(crate) async fn make_row(&self, key: &LockKey) -> Result<(), DatabaseError> {
        alone!(self, db => leases::make(&mut db, key))
    }

    /// The holder of this lease, if it is alive.
    pub(crate) async fn check_lock(&self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        answer!(self, Operation::Check(proof), Answer::Lease)
    }

    /// Sets the expiry of each lease that is alive to now + its ttl, within its absolute limit, and its idle limit after the last input,
    /// which was so long ago.
    pub(crate) async fn keep_alive(
        &self,
        proofs: &[(Proof, Duration)],
    ) -> Result<Vec<Result<Holder, NoLock>>, DatabaseError> {
        answer!(self, Operation::Keep(proofs), Answer::Kept)
    }

    /// Moves the expiry of a live lease by `by`, within now + ttl and the absolute limit; never backwards.
    pub(crate) async fn extend(&self, proof: &Proof, by: Duration) -> Result<Result<Holder, NoLock>, DatabaseError> {
        answer!(self, Operation::Extend(proof, by), Answer::Lease)
    }

    /// Brings the expiry of a live lease forward to now + `within`, if it is later.
    pub(crate) async fn expire_within(
        &self,
        proof: &Proof,
        within: Duration,
    ) -> Result<Result<Holder, NoLock>, DatabaseError> {
        answer!(self, Operation::ExpireWithin(proof, within), Answer::Lease)
    }

    /// Releases a live lease.
    pub(crate) async fn release_lock(&self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        answer!(self, Operation::Release(proof), Answer::Lease)
    }

    /// Releases the lease of this generation if it is alive and had no heartbeat or repeated request since its grant; its lock id can be
    /// used again. Returns whether it did.
    pub(crate) async fn undo_grant(&self, lock: &LockHash, generation: i64) -> Result<bool, DatabaseError> {
        answer!(self, Operation::UndoGrant { lock, generation }, Answer::GrantUndone)
    }

    /// Ends the lease of this generation, independent of its owner. `None`: that generation is not alive (any more).
    pub(crate) async fn break_lock(
        &self,
        key: &LockKey,
        generation: i64,
        by: &Owner,
        reason: &str,
    ) -> Result<Option<Holder>, DatabaseError> {
        answer!(self, Operation::Break { key, generation, by, reason }, Answer::Broken)
    }

    /// Ends the exclusive lease of this generation, independent of its owner, and grants the key to the requester.
    pub(crate) async fn take_over(
        &self,
        request: &LockRequest,
        generation: i64,
        reason: &str,
    ) -> Result<TakenOver, DatabaseError> {
        answer!(self, Operation::TakeOver { request, generation, reason }, Answer::TakenOver)
    }

    /// Releases every live lease of an owner.
    pub(crate) async fn release_all(&self, owner: &str) -> Result<Vec<Holder>, DatabaseError> {
        answer!(self, Operation::ReleaseAll { owner }, Answer::Released)
    }

    /// All present holders of the key, the longest-held first; with an advisory policy there may be several.
    pub(crate) async fn holders(&self, key: &LockKey) -> Result<Vec<Holder>, DatabaseError> {
        answer!(self, Operation::Holders(key), Answer::Holders)
    }

    /// The held leases, the longest-held first.
    pub(crate) async fn list(&self, query: &ListQuery) -> Result<Vec<Listed>, DatabaseError> {
        erased(lists::held(&mut self.reader().await?, query)).await
    }

    /// The ended leases of a key, the latest first.
    pub(crate) async fn history(&self, query: &HistoryQuery) -> Result<Vec<PastRow>, DatabaseError> {
        erased(lists::past_of(&mut self.reader().await?, query)).await
    }

    /// Deletes history that is older than this, in one slice; returns the number.
    pub(crate) async fn sweep_history(&self, slice: &Slice<'_>) -> Result<u64, DatabaseError> {
        alone!(self, db => sweep::history(&mut db, slice))
    }

    /// Deletes the rows of leases that ended longer ago than this, in one slice of all rows, and records their highest generations.
    pub(crate) async fn sweep_rows(&self, slice: &Slice<'_>, after: &Place) -> Result<SweptRows, DatabaseError> {
        alone!(self, db => leases::sweep(&mut db, slice, after))
    }

    /// The number of leases that an owner holds.
    pub(crate) async fn count_held(&self, owner: &str) -> Result<u64, DatabaseError> {
        #[cfg(test)]
        if let Backend::Simulated(link) = self {
            return link.count_held(owner).await;
        }
        erased(counts::held(&mut self.own_reader().await?, owner)).await
    }

    /// The number of held leases, by type.
    pub(crate) async fn held_by_type(&self) -> Result<Vec<HeldByType>, DatabaseError> {
        erased(counts::held_by_type(&mut self.own_reader().await?)).await
    }
}

//! The interface to the databases: a list of whole operations.
//!
//! A backend runs operations ("acquire this lock", "save this if it is still version 7"); its SQL stays inside. The modules of the
//! databases have the same functions in the same order, so that a comparison shows their real differences. No code outside this folder
//! depends on the kind of database. Operations on leases are in `leases`, those that write aggregates in `aggregates`, once for all of them.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;

use crate::aggregate::Stored;
use crate::aggregate::mapping::{Mapping, Row, Rows, Table};
use crate::aggregate::schema::LiveTable;
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::db::{Connection, RowLock};
use crate::error::DatabaseError;
use crate::lease::engine::{self, Answer, Operation};
use crate::lease::listing::{HistoryQuery, ListQuery, Listed, PastRow};
pub(crate) use crate::lease::operations::{
    Attempt, KeyState, LockAnswer, LockHash, LockOp, LockRequest, Proof, Resumption, TakenOver,
};
use crate::lease::{HeldByType, Holder, LockKey, NoLock, Owner};
use crate::row_lock::{LockMode, Wait};
use crate::store;
use crate::store::operation::OperationId;
use crate::version::conflict::Change;

pub(crate) mod capabilities;
mod connect_options;
mod connections;
pub(crate) mod diagnosis;
#[cfg(test)]
#[path = "../../verify/differential/mod.rs"]
mod differential;
mod driver;
pub(crate) mod leases;
#[cfg(feature = "mysql")]
pub(crate) mod mysql;
mod own_error;
pub(crate) mod patience;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
mod saves;
#[cfg(feature = "sea-orm")]
pub(crate) mod sea_orm;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod server;
pub(crate) mod sql;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;
mod sweeping;

pub use capabilities::{Capabilities, Granularity};
pub use connect_options::ConnectOptions;
pub use connections::Connections;
pub use diagnosis::{CertificateCheck, Diagnosis, Setting, Transport, Writers};
pub(crate) use driver::Address;
pub use driver::DriverOptions;
use saves::Effect;
pub(crate) use saves::{Authorship, RowLocked, Save, Saved};
#[cfg(fuzzing)]
pub(crate) use server::address::setting_names;
pub(crate) use sweeping::{Slice, SweptRows};

/// The reason that a server ended a transaction.
#[cfg(any(feature = "postgres", feature = "mysql"))]
const IDLE_TOO_LONG: &str = "the transaction was idle for longer than `ConnectOptions::idle_in_transaction` allows \
                           (60,000 ms unless it is set)";

/// The answer to an operation on leases.
macro_rules! answer {
    ($backend:expr, $operation:expr, $answer:path) => {
        match $backend.operate(&$operation).await? {
            $answer(answer) => Ok(answer),
            other => unreachable!("the engine has one kind of answer per operation, and this is {other:?}"),
        }
    };
}

/// Runs an operation of the lock manager in a transaction of its own, and commits it. If the database aborts it in a deadlock, nothing was
/// changed, and it runs again. (The application's units of work are not repeated: only the application knows whether they may be.)
macro_rules! alone {
    ($backend:expr, $db:ident => $operation:expr) => {{
        let mut attempt = 1;
        loop {
            let mut $db = $backend.begin_own().await?;
            let done = match $operation.await {
                Ok(answer) => $db.commit(None).await.map(|()| answer),
                Err(error) => Err(error),
            };
            match done {
                Err(DatabaseError::Deadlock | DatabaseError::SerializationFailure) if attempt < ATTEMPTS => {
                    tokio::time::sleep(patience::jitter() * attempt).await;
                    attempt += 1;
                }
                done => break done,
            }
        }
    }};
}

/// The number of attempts of one of our own operations.
const ATTEMPTS: u32 = 8;

/// A database, and the operations that run in their own transaction.
#[async_trait]
pub(crate) trait Backend: Debug + Send + Sync {
    /// Its capabilities.
    fn capabilities(&self) -> Capabilities;
    /// The maximum number of its connections.
    fn connections(&self) -> Connections;
    /// The password of connections that are opened from now on.
    fn set_password(&self, _password: &str) -> Result<(), DatabaseError> {
        Err(DatabaseError::Unsupported("this database has no password"))
    }
    /// Opens a writing transaction. The wait is the budget for all waits of the transaction; the label names
    /// it to the sessions that it blocks.
    async fn begin(&self, wait: Wait, label: Option<&str>) -> Result<Box<dyn BackendTransaction>, DatabaseError>;
    /// A connection for reading, which the application's reads use.
    async fn reader(&self) -> Result<Connection, DatabaseError>;
    /// As [`reader`](Self::reader), for the lock manager: also when the application uses all of its connections.
    async fn own_reader(&self) -> Result<Connection, DatabaseError>;
    /// A transaction of the lock manager's own, with the rest of the operation's time.
    async fn begin_own(&self) -> Result<Connection, DatabaseError>;
    /// Loads a consistent state of an aggregate, without locking it.
    async fn load(&self, mapping: &'static Mapping, id: &[Value]) -> Result<Option<Stored>, DatabaseError> {
        store::load::load(&mut self.reader().await?, mapping, id, RowLock::None).await
    }
    /// The recorded changes of an aggregate, newest first: from its revisions, or its audit columns.
    async fn changes(
        &self,
        mapping: &'static Mapping,
        key: &LockKey,
        id: &[Value],
        limit: u32,
    ) -> Result<Vec<Change>, DatabaseError> {
        store::revisions::changes(&mut self.reader().await?, mapping, key, id, limit).await
    }
    /// Loads those of these aggregates that exist, in no particular order, each in a consistent state.
    async fn load_many(&self, mapping: &'static Mapping, ids: &[Row]) -> Result<Vec<Stored>, DatabaseError> {
        store::load::load_many(&mut self.reader().await?, mapping, ids).await
    }
    /// The state of an aggregate at a version; `None` if it is not stored.
    async fn state_at(
        &self,
        mapping: &'static Mapping,
        key: &LockKey,
        at: Version,
    ) -> Result<Option<Rows>, DatabaseError> {
        store::revisions::state(&mut self.reader().await?, mapping, key, at).await
    }
    /// Describes a table of the application; `None` if it does not exist.
    async fn live_table(&self, table: &Table) -> Result<Option<LiveTable>, DatabaseError>;
    /// Whether the transaction with this operation id was committed. If it was not, it never will be: this call reserves the id.
    async fn settle(&self, operation: &OperationId) -> Result<bool, DatabaseError> {
        alone!(self, db => store::operation::settle(&mut db, operation))
    }
    /// Deletes operation ids that are older than this; returns their number.
    async fn forget_operations(&self, older_than: Duration) -> Result<u64, DatabaseError> {
        alone!(self, db => store::operation::forget(&mut db, older_than))
    }

    /// Answers many requests in as few round trips and commits as possible, without waiting for other sessions. `None`: that request has to
    /// be sent alone, because it has to wait, or its answer needs an explanation. All requests have different keys and different lock ids.
    async fn lock_batch(&self, ops: &[LockOp]) -> Result<Vec<Option<LockAnswer>>, DatabaseError> {
        Ok(ops.iter().map(|_| None).collect())
    }
    /// The number of concurrent single requests that cost the database less than a batch.
    fn answers_at_once(&self) -> usize {
        4
    }
    /// Runs an operation on leases in a transaction of its own, or only reads for it. The engine decides.
    async fn operate(&self, operation: &Operation<'_>) -> Result<Answer, DatabaseError>;
    /// Acquires a lock if it is free or expired.
    async fn try_lock(&self, request: &LockRequest) -> Result<Attempt, DatabaseError> {
        answer!(self, Operation::Take(request), Answer::Taken)
    }
    /// Makes sure that the key has a row, in a transaction of its own. It is the row of an ended lease, so the key stays free.
    async fn make_row(&self, key: &LockKey) -> Result<(), DatabaseError>;
    /// The holder of this lease, if it is alive.
    async fn check_lock(&self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        answer!(self, Operation::Check(proof), Answer::Lease)
    }
    /// Sets the expiry of each lease that is alive to now + its ttl, within its absolute limit, and its idle limit after the
    /// last input, which was so long ago.
    async fn keep_alive(&self, proofs: &[(Proof, Duration)]) -> Result<Vec<Result<Holder, NoLock>>, DatabaseError> {
        answer!(self, Operation::Keep(proofs), Answer::Kept)
    }
    /// Moves the expiry of a live lease by `by`, within now + ttl and the absolute limit; never backwards.
    async fn extend(&self, proof: &Proof, by: Duration) -> Result<Result<Holder, NoLock>, DatabaseError> {
        answer!(self, Operation::Extend(proof, by), Answer::Lease)
    }
    /// Brings the expiry of a live lease forward to now + `within`, if it is later.
    async fn expire_within(&self, proof: &Proof, within: Duration) -> Result<Result<Holder, NoLock>, DatabaseError> {
        answer!(self, Operation::ExpireWithin(proof, within), Answer::Lease)
    }
    /// Releases a live lease.
    async fn release_lock(&self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
        answer!(self, Operation::Release(proof), Answer::Lease)
    }
    /// Releases the lease of this generation if it is alive and had no heartbeat or repeated request since its grant; its lock id can be
    /// used again. Returns whether it did.
    async fn undo_grant(&self, lock: &LockHash, generation: i64) -> Result<bool, DatabaseError> {
        answer!(self, Operation::UndoGrant { lock, generation }, Answer::GrantUndone)
    }
    /// Ends the lease of this generation, independent of its owner. `None`: that generation is not alive (any more).
    async fn break_lock(
        &self,
        key: &LockKey,
        generation: i64,
        by: &Owner,
        reason: &str,
    ) -> Result<Option<Holder>, DatabaseError> {
        answer!(self, Operation::Break { key, generation, by, reason }, Answer::Broken)
    }
    /// Ends the exclusive lease of this generation, independent of its owner, and grants the key to the requester.
    async fn take_over(
        &self,
        request: &LockRequest,
        generation: i64,
        reason: &str,
    ) -> Result<TakenOver, DatabaseError> {
        answer!(self, Operation::TakeOver { request, generation, reason }, Answer::TakenOver)
    }
    /// Releases every live lease of an owner.
    async fn release_all(&self, owner: &str) -> Result<Vec<Holder>, DatabaseError> {
        answer!(self, Operation::ReleaseAll { owner }, Answer::Released)
    }
    /// All present holders of the key, the longest-held first; with an advisory or shared policy there may be several.
    async fn holders(&self, key: &LockKey) -> Result<Vec<Holder>, DatabaseError> {
        answer!(self, Operation::Holders(key), Answer::Holders)
    }
    /// The held leases, the longest-held first.
    async fn list(&self, query: &ListQuery) -> Result<Vec<Listed>, DatabaseError> {
        store::lists::held(&mut self.reader().await?, query).await
    }
    /// The ended leases, the latest first.
    async fn history(&self, query: &HistoryQuery) -> Result<Vec<PastRow>, DatabaseError> {
        store::lists::past_of(&mut self.reader().await?, query).await
    }

    /// Deletes history that is older than this, in one slice; returns the number.
    async fn sweep_history(&self, slice: &Slice<'_>) -> Result<u64, DatabaseError> {
        alone!(self, db => store::sweep::history(&mut db, slice))
    }
    /// Deletes the rows of leases that ended longer ago than this, in one slice of all rows, and records their highest generations.
    async fn sweep_rows(&self, slice: &Slice<'_>, after: &engine::Place) -> Result<SweptRows, DatabaseError>;

    /// The number of leases that an owner holds.
    async fn count_held(&self, owner: &str) -> Result<u64, DatabaseError> {
        store::counts::held(&mut self.own_reader().await?, owner).await
    }
    /// The number of held leases, by type.
    async fn held_by_type(&self) -> Result<Vec<HeldByType>, DatabaseError> {
        store::counts::held_by_type(&mut self.own_reader().await?).await
    }

    /// Waits for the operations in flight, and closes.
    async fn close(&self);

    /// The SQLite behind it.
    #[cfg(feature = "sqlite")]
    fn as_sqlite(&self) -> Option<&sqlite::Sqlite> {
        None
    }
    /// The PostgreSQL behind it.
    #[cfg(feature = "postgres")]
    fn as_postgres(&self) -> Option<&postgres::Postgres> {
        None
    }
    /// The MariaDB or MySQL behind it.
    #[cfg(feature = "mysql")]
    fn as_mysql(&self) -> Option<&mysql::MySql> {
        None
    }
}

/// Ends the session of a transaction from outside, at any moment of its work.
#[async_trait]
pub(crate) trait EndSession: Send + Sync {
    /// When it returns, the transaction is rolled back, or its next statement is.
    async fn end(&self) -> Result<(), DatabaseError>;
}

/// An open transaction. Dropping it rolls back.
#[async_trait]
pub(crate) trait BackendTransaction: Send {
    /// The connection that it is open on.
    fn db(&mut self) -> &mut Connection;
    /// Loads an aggregate; the mode may lock its root first.
    async fn load(
        &mut self,
        mapping: &'static Mapping,
        id: &[Value],
        mode: LockMode,
    ) -> Result<Option<Stored>, DatabaseError> {
        let lock = match mode {
            LockMode::PessimisticRead => RowLock::Share,
            LockMode::PessimisticWrite | LockMode::PessimisticForceIncrement => RowLock::Update,
            _ => RowLock::None,
        };
        store::load::load(self.db(), mapping, id, lock).await
    }
    /// As `load` with a pessimistic mode, but does not wait: the inner `Err` means that another transaction holds the row.
    async fn load_unlocked(
        &mut self,
        mapping: &'static Mapping,
        id: &[Value],
        _mode: LockMode,
    ) -> Result<Result<Option<Stored>, RowLocked>, DatabaseError> {
        store::load::load_unlocked(self.db(), mapping, id).await
    }
    /// The version of an aggregate, which cannot change until the transaction ends.
    async fn hold_version(
        &mut self,
        mapping: &'static Mapping,
        id: &[Value],
    ) -> Result<Option<Version>, DatabaseError> {
        store::load::version(self.db(), mapping, id, RowLock::Share).await
    }
    /// The state of an aggregate at a version; `None` if it is not stored.
    async fn state_at(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        at: Version,
    ) -> Result<Option<Rows>, DatabaseError> {
        store::revisions::state(self.db(), mapping, key, at).await
    }
    /// The latest change of an aggregate; `None` if neither revisions nor audit columns record it.
    async fn latest_change(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        id: &[Value],
    ) -> Result<Option<Change>, DatabaseError> {
        Ok(store::revisions::changes(self.db(), mapping, key, id, 1).await?.pop())
    }
    /// Inserts an aggregate and returns its version, which is 1 unless one was deleted under this id. `None`: the id exists already.
    async fn insert(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        rows: &Rows,
        author: &Authorship,
    ) -> Result<Option<Version>, DatabaseError> {
        store::insert::insert(self.db(), mapping, key, rows, author).await
    }
    /// Inserts the root of an aggregate whose id the database generates; returns the id. [`complete_insert`](Self::complete_insert) must
    /// write the rest next.
    async fn insert_generated(
        &mut self,
        mapping: &'static Mapping,
        rows: &Rows,
        author: &Authorship,
    ) -> Result<i64, DatabaseError> {
        store::insert::insert_generated(self.db(), mapping, rows, author).await
    }
    /// Writes the rest of an aggregate whose root was just inserted as version 1; returns the version as [`insert`](Self::insert) does.
    async fn complete_insert(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        rows: &Rows,
        author: &Authorship,
    ) -> Result<Version, DatabaseError> {
        store::insert::complete_generated(self.db(), mapping, key, rows, author).await
    }
    /// Writes the difference, root first, if the stored version is still the one that the difference is based on.
    async fn save(&mut self, save: &Save<'_>) -> Result<Saved, DatabaseError> {
        store::save::save(self.db(), save).await
    }
    /// Deletes an aggregate if the stored version is still this one.
    async fn delete(&mut self, mapping: &'static Mapping, key: &LockKey, old: &Stored) -> Result<Saved, DatabaseError> {
        store::save::delete(self.db(), mapping, key, old).await
    }

    /// Holds a lease to the end of the transaction: takeovers and breaks wait.
    async fn guard(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError>;
    /// Revives the expired lease of the presented lock id on this key, if no other owner acquired the key since; it is alive after the
    /// commit. Waits for sessions that acquire the key, or require it to be free.
    async fn resume(&mut self, proof: &Proof, key: &LockKey) -> Result<Resumption, DatabaseError>;
    /// Whether the key is held, exclusively or shared. That cannot change before the transaction ends, unless the key has no row.
    async fn key_state(&mut self, key: &LockKey) -> Result<KeyState, DatabaseError>;
    /// Releases a live lease with the commit.
    async fn release_lock(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError>;

    /// Its session. The caller ends it only while the transaction is open, and waits for that before it drops the transaction.
    fn session(&mut self) -> Option<Box<dyn EndSession>> {
        self.db().session()
    }

    /// Rolls back and begins again, on the same connection and with the rest of the same budget. Only for databases that abort transactions
    /// in deadlocks.
    async fn begin_again(&mut self) -> Result<(), DatabaseError> {
        self.db().begin_again().await
    }
    /// Commits; with an operation id, stores it in the same transaction, so that [`Backend::settle`] can report it.
    async fn commit(self: Box<Self>, operation: Option<&OperationId>) -> Result<(), DatabaseError>;
    /// Rolls back, and waits for its completion.
    async fn rollback(self: Box<Self>) -> Result<(), DatabaseError>;

    /// The SQLite connection of the transaction, for the user's own statements.
    #[cfg(feature = "sqlite")]
    fn as_sqlite(&mut self) -> Option<&mut sqlx::SqliteConnection> {
        None
    }
    /// The PostgreSQL connection of the transaction, for the user's own statements.
    #[cfg(feature = "postgres")]
    fn as_postgres(&mut self) -> Option<&mut sqlx::PgConnection> {
        None
    }
    /// The MariaDB or MySQL connection of the transaction, for the user's own statements.
    #[cfg(feature = "mysql")]
    fn as_mysql(&mut self) -> Option<&mut sqlx::MySqlConnection> {
        None
    }
    /// Its interface for SeaORM.
    #[cfg(feature = "sea-orm")]
    fn as_sea_orm(&mut self) -> &mut dyn sea_orm::SeaOrmStatements;
}

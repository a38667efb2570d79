//! The seam to the databases: a list of operations, each handed over whole.
//!
//! A backend answers questions ("may this lock be had?", "save this, if it is still version 7"), it does not lend out
//! SQL. The files below it have the same functions in the same order, so that comparing them shows what the databases
//! really differ in. Nobody asks "which database?" outside this room.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;

use crate::aggregate::Stored;
use crate::aggregate::condition::Test;
use crate::aggregate::mapping::{Mapping, Row, Rows, Table};
use crate::aggregate::schema::LiveTable;
use crate::aggregate::value::Value;
use crate::aggregate::version::Version;
use crate::error::DatabaseError;
use crate::lease::listing::{HistoryQuery, ListQuery, Listed, PastRow};
pub(crate) use crate::lease::operations::{
    Asked, Asking, Attempt, AttemptAll, KeyState, LockAnswer, LockHash, LockOp, LockRequest, Proof, Resumption,
    TakenOver,
};
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
use crate::lease::operations::{CENTURY, OpenRequest};
use crate::lease::transfer::{TransferReply, TransferRequest};
use crate::lease::{HeldByType, Holder, LockKey, NoLock, Owner};
use crate::row_lock::mode::{LockMode, Wait};
use crate::storage::operation::OperationId;
use crate::version::conflict::Change;

#[cfg(any(feature = "postgres", feature = "mysql"))]
mod address;
pub(crate) mod capabilities;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod checkout;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod condition;
mod connect_options;
mod connections;
pub(crate) mod diagnosis;
#[cfg(all(test, any(feature = "sqlite", feature = "postgres", feature = "mysql")))]
mod differential;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod driver;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod kept;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod lineage;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod migration;
#[cfg(feature = "mysql")]
pub(crate) mod mysql;
pub(crate) mod operation;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod own_error;
pub(crate) mod patience;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod reserve;
mod saves;
#[cfg(feature = "sea-orm")]
pub(crate) mod sea_orm;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;
mod sweeping;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod texts;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod transport;
pub(crate) mod watching;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod whole;

#[cfg(fuzzing)]
pub(crate) use address::setting_names;
pub use capabilities::{Capabilities, Granularity};
pub use connect_options::ConnectOptions;
pub use connections::Connections;
pub use diagnosis::{CertificateCheck, Diagnosis, Setting, Transport, Writers};
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub use driver::DriverOptions;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(crate) use driver::Place;
pub(crate) use saves::{Authorship, BulkChange, RowLocked, Save, Saved};
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
use saves::{Effect, child_found, generated};
pub(crate) use sweeping::{RowPlace, Slice, SweptRows};

/// Why a server ended a transaction.
#[cfg(any(feature = "postgres", feature = "mysql"))]
const STOOD_STILL: &str = "the transaction stood still for longer than `ConnectOptions::idle_in_transaction` allows \
                           (60,000 ms unless it is set)";

/// A database, and the operations that are transactions of their own.
#[async_trait]
pub(crate) trait Backend: watching::Watching + Debug + Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> Capabilities;
    /// How many connections it opens at most.
    fn connections(&self) -> Connections;
    /// The password of connections that are opened from now on.
    fn set_password(&self, _password: &str) -> Result<(), DatabaseError> {
        Err(DatabaseError::Unsupported("this database has no password"))
    }
    /// Opens a writing transaction. The wait is the budget for everything that has to be waited for; the label is what
    /// others are told who find it in their way.
    async fn begin(&self, wait: Wait, label: Option<&str>) -> Result<Box<dyn BackendTransaction>, DatabaseError>;
    /// Loads an aggregate as it is at one moment, without locking it.
    async fn load(&self, mapping: &'static Mapping, id: &[Value]) -> Result<Option<Stored>, DatabaseError>;
    /// The saved changes of an aggregate that are still known, newest first: its revisions, or its audit columns.
    async fn changes(
        &self,
        mapping: &'static Mapping,
        key: &LockKey,
        id: &[Value],
        limit: u32,
    ) -> Result<Vec<Change>, DatabaseError>;
    /// Loads those of these aggregates that exist, in no order, each as it is at one moment.
    async fn load_many(&self, mapping: &'static Mapping, ids: &[Row]) -> Result<Vec<Stored>, DatabaseError>;
    /// The id that is stored where this one is looked for.
    async fn stored_id(&self, mapping: &'static Mapping, id: &[Value]) -> Result<Option<Row>, DatabaseError>;
    /// The ids after this one, in the database's order, at most so many.
    async fn ids_after(
        &self,
        mapping: &'static Mapping,
        after: Option<&[Value]>,
        limit: u32,
    ) -> Result<Vec<Row>, DatabaseError>;
    /// How many roots match.
    async fn count(&self, mapping: &'static Mapping, when: &Test) -> Result<u64, DatabaseError>;
    /// The state of an aggregate at a version; `None` where that is not kept.
    async fn state_at(
        &self,
        mapping: &'static Mapping,
        key: &LockKey,
        at: Version,
    ) -> Result<Option<Rows>, DatabaseError>;
    /// Describes a table of the application; `None` if it does not exist.
    async fn live_table(&self, table: &Table) -> Result<Option<LiveTable>, DatabaseError>;
    /// Whether the transaction that carried this operation id was committed. If it was not, it never will be: from now on
    /// the id is taken.
    async fn settle(&self, operation: &OperationId) -> Result<bool, DatabaseError>;
    /// Forgets operation ids that are older than this; how many.
    async fn forget_operations(&self, older_than: Duration) -> Result<u64, DatabaseError>;

    /// Answers many questions in as few round trips and commits as can be, without waiting for anybody. `None`: that one
    /// has to be asked alone, because it has to wait, or an answer takes an explanation. No two of them are about one key
    /// or one lock id.
    async fn lock_batch(&self, ops: &[LockOp]) -> Result<Vec<Option<LockAnswer>>, DatabaseError> {
        Ok(ops.iter().map(|_| None).collect())
    }
    /// How many questions it answers at once, each alone, for less than they would cost together.
    fn answers_at_once(&self) -> usize {
        4
    }
    /// Takes a lock if it is free or expired. One statement decides.
    async fn try_lock(&self, request: &LockRequest) -> Result<Attempt, DatabaseError>;
    /// Takes all of these locks, which are in the order of their keys, or none, in one transaction.
    async fn try_lock_all(&self, requests: &[LockRequest]) -> Result<AttemptAll, DatabaseError>;
    /// Makes sure that the key has a row, by a transaction of its own. It is that of a lease that has ended, so that nobody
    /// holds it.
    async fn make_row(&self, key: &LockKey) -> Result<(), DatabaseError>;
    /// Who holds this lease, if it is alive.
    async fn check_lock(&self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError>;
    /// Sets the expiry of each lease that is alive to now + its ttl, within its absolute limit, and its idle limit after the
    /// last input, which was so long ago.
    async fn keep_alive(&self, proofs: &[(Proof, Duration)]) -> Result<Vec<Result<Holder, NoLock>>, DatabaseError>;
    /// Moves the expiry of a live lease by `by`, within now + ttl and the absolute limit; never backwards.
    async fn extend(&self, proof: &Proof, by: Duration) -> Result<Result<Holder, NoLock>, DatabaseError>;
    /// Brings the expiry of a live lease forward to now + `within`, if it is later.
    async fn expire_within(&self, proof: &Proof, within: Duration) -> Result<Result<Holder, NoLock>, DatabaseError>;
    /// Frees a live lease.
    async fn release_lock(&self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError>;
    /// Frees the lease of that generation, if it is alive and nobody was told of it but whom it was granted to at first; its
    /// lock id can be used again. Whether it did.
    async fn give_back(&self, lock: &LockHash, generation: i64) -> Result<bool, DatabaseError>;
    /// Ends the lease of that generation, whoever holds it. `None`: that generation is not alive (any more).
    async fn break_lock(
        &self,
        key: &LockKey,
        generation: i64,
        by: &Owner,
        reason: &str,
    ) -> Result<Option<Holder>, DatabaseError>;
    /// Ends the exclusive lease of that generation, whoever holds it, and grants the key to who asks.
    async fn take_over(&self, request: &LockRequest, generation: i64, reason: &str)
    -> Result<TakenOver, DatabaseError>;
    /// Frees every live lease of an owner.
    async fn release_all(&self, owner: &str) -> Result<Vec<Holder>, DatabaseError>;
    /// Asks the holder of that generation, or asks again.
    async fn request(&self, asking: &Asking<'_>) -> Result<Asked, DatabaseError>;
    /// Who asks for a live lease, the longest-waiting first.
    async fn requests(&self, proof: &Proof) -> Result<Result<Vec<TransferRequest>, NoLock>, DatabaseError>;
    /// Answers a request to a live lease. `None`: they do not ask (any more).
    async fn answer_request(
        &self,
        proof: &Proof,
        asker: &str,
        answer: &TransferReply,
    ) -> Result<Result<Option<TransferRequest>, NoLock>, DatabaseError>;
    /// Ends a live lease and keeps the key for somebody who asks for it, under a lock id that nobody has. `None`: they do
    /// not ask (any more).
    async fn hand_over(
        &self,
        proof: &Proof,
        to: &str,
        reservation: LockHash,
    ) -> Result<Result<Option<Holder>, NoLock>, DatabaseError>;
    /// Everybody who holds the key now; with an advisory policy that can be several.
    async fn holders(&self, key: &LockKey) -> Result<Vec<Holder>, DatabaseError>;
    /// What is held, the longest-held first.
    async fn list(&self, query: &ListQuery) -> Result<Vec<Listed>, DatabaseError>;
    /// How leases ended, the latest first.
    async fn history(&self, query: &HistoryQuery) -> Result<Vec<PastRow>, DatabaseError>;

    /// Deletes how leases ended that ended longer ago than this, one slice of it: how many.
    async fn sweep_history(&self, slice: &Slice<'_>) -> Result<u64, DatabaseError>;
    /// Deletes requests that ended longer ago than this, one slice of it: how many.
    async fn sweep_requests(&self, slice: &Slice<'_>) -> Result<u64, DatabaseError>;
    /// Deletes the rows of leases that ended longer ago than this, among one slice of all rows, and notes how high their
    /// generations were.
    async fn sweep_rows(&self, slice: &Slice<'_>, after: &RowPlace) -> Result<SweptRows, DatabaseError>;

    /// How many leases an owner holds now.
    async fn count_held(&self, owner: &str) -> Result<u64, DatabaseError>;
    /// How many leases are held, by type.
    async fn held_by_type(&self) -> Result<Vec<HeldByType>, DatabaseError>;

    /// Waits for what is under way and closes.
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

/// A transaction under way. Dropping it rolls back.
#[async_trait]
pub(crate) trait BackendTransaction: Send {
    /// Loads an aggregate, locking its root first as the mode asks; children by later statements.
    async fn load(
        &mut self,
        mapping: &'static Mapping,
        id: &[Value],
        mode: LockMode,
    ) -> Result<Option<Stored>, DatabaseError>;
    /// As `load` with a pessimistic mode, but does not wait: `Err` inside if somebody else holds the row.
    async fn load_unlocked(
        &mut self,
        _mapping: &'static Mapping,
        _id: &[Value],
        _mode: LockMode,
    ) -> Result<Result<Option<Stored>, RowLocked>, DatabaseError> {
        Err(DatabaseError::Unsupported("this database has no row locks that could be skipped; use `find` with no wait"))
    }
    /// The version of an aggregate, which stays what it is until the transaction ends.
    async fn hold_version(&mut self, mapping: &'static Mapping, id: &[Value])
    -> Result<Option<Version>, DatabaseError>;
    /// The state of an aggregate as it was at a version; `None` where that is not kept.
    async fn state_at(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        at: Version,
    ) -> Result<Option<Rows>, DatabaseError>;
    /// The latest change of an aggregate; `None` where neither revisions nor audit columns tell.
    async fn latest_change(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        id: &[Value],
    ) -> Result<Option<Change>, DatabaseError>;
    /// Writes a new aggregate: its version, which is 1 unless one was deleted under this id. `None`: there is one already.
    async fn insert(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        rows: &Rows,
        author: &Authorship,
    ) -> Result<Option<Version>, DatabaseError>;
    /// Writes the root of a new aggregate whose id the database makes: that id. [`complete_insert`](Self::complete_insert) writes
    /// the rest, before anything else is done.
    async fn insert_generated(
        &mut self,
        mapping: &'static Mapping,
        rows: &Rows,
        author: &Authorship,
    ) -> Result<i64, DatabaseError>;
    /// Writes the rest of an aggregate whose root was just inserted as version 1: its version, as of [`insert`](Self::insert).
    async fn complete_insert(
        &mut self,
        mapping: &'static Mapping,
        key: &LockKey,
        rows: &Rows,
        author: &Authorship,
    ) -> Result<Version, DatabaseError>;
    /// Writes what changed, root first, if the version is still the one that the difference was made from.
    async fn save(&mut self, save: &Save<'_>) -> Result<Saved, DatabaseError>;
    /// Deletes an aggregate if the version is still that one.
    async fn delete(&mut self, mapping: &'static Mapping, key: &LockKey, old: &Stored) -> Result<Saved, DatabaseError>;
    /// The ids of the aggregates whose root matches, locked, in the order of their ids.
    async fn lock_matching(&mut self, mapping: &'static Mapping, when: &Test) -> Result<Vec<Row>, DatabaseError>;
    /// Changes every root that matches and is not so already, and raises its version: how many.
    async fn update_matching(&mut self, change: &BulkChange<'_>) -> Result<u64, DatabaseError>;

    /// Holds a lease to the end of the transaction: who takes over or breaks it waits.
    async fn guard(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError>;
    /// Revives the lease on this key whose lock id is shown, if it ran out and nobody took the key since: with the commit it
    /// is alive again. Whoever takes it, or relies upon its not being held, is waited for.
    async fn resume(&mut self, proof: &Proof, key: &LockKey) -> Result<Resumption, DatabaseError>;
    /// Whether somebody holds the key, exclusively or together with others. Nobody loses or gets it before the transaction
    /// ends, unless it has no row.
    async fn key_state(&mut self, key: &LockKey) -> Result<KeyState, DatabaseError>;
    /// Frees a live lease with the commit.
    async fn release_lock(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError>;

    /// Rolls back and begins anew, on the same connection and with what is left of the same budget. Only databases that choose a
    /// transaction to give way to another are asked.
    async fn begin_again(&mut self) -> Result<(), DatabaseError> {
        Err(DatabaseError::Unsupported("here no transaction gives way to another"))
    }
    /// Commits; with an operation id, that is written along, so that [`Backend::settle`] can tell.
    async fn commit(self: Box<Self>, operation: Option<&OperationId>) -> Result<(), DatabaseError>;
    /// Rolls back, and waits until it is done.
    async fn rollback(self: Box<Self>) -> Result<(), DatabaseError>;

    /// The SQLite connection it runs on, for the user's own statements.
    #[cfg(feature = "sqlite")]
    fn as_sqlite(&mut self) -> Option<&mut sqlx::SqliteConnection> {
        None
    }
    /// The PostgreSQL connection it runs on, for the user's own statements.
    #[cfg(feature = "postgres")]
    fn as_postgres(&mut self) -> Option<&mut sqlx::PgConnection> {
        None
    }
    /// The MariaDB or MySQL connection it runs on, for the user's own statements.
    #[cfg(feature = "mysql")]
    fn as_mysql(&mut self) -> Option<&mut sqlx::MySqlConnection> {
        None
    }
    /// The side of it that SeaORM sees.
    #[cfg(feature = "sea-orm")]
    fn as_sea_orm(&mut self) -> &mut dyn sea_orm::SeaOrmStatements;
}

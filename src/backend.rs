//! The seam to the databases: a list of operations, each handed over whole.
//!
//! A backend answers questions ("may this lock be had?", "save this, if it is still version 7"), it does not lend out
//! SQL. The files below it have the same functions in the same order, so that comparing them shows what the databases
//! really differ in. Nobody asks "which database?" outside this room.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;

use crate::capabilities::Capabilities;
use crate::condition::Test;
use crate::conflict::Change;
use crate::diff::Diff;
use crate::error::DatabaseError;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
use crate::lease::Why;
use crate::lease::{Holder, LockKey, NoLock, Owner};
use crate::lock_mode::{LockMode, Wait};
use crate::mapping::{Mapping, Row, Rows};
use crate::operation::OperationId;
use crate::policy::LockPolicy;
use crate::request::{Answer, Request};
use crate::value::{Kind, Value};
use crate::version::Version;

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod condition;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod migration;
#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sea-orm")]
pub(crate) mod sea_orm;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

/// SHA-256 of a lock id: all that the database ever sees of it.
pub(crate) type LockHash = [u8; 32];

/// An aggregate as stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stored {
    pub version: Version,
    pub rows: Rows,
}

/// Who shows which lock id. Without an owner the id alone decides.
#[derive(Debug, Clone)]
pub(crate) struct Proof {
    pub lock: LockHash,
    pub owner: Option<String>,
}

/// A request for a lock.
#[derive(Debug, Clone)]
pub(crate) struct LockRequest {
    pub key: LockKey,
    pub lock: LockHash,
    pub owner: Owner,
    pub policy: LockPolicy,
}

/// The answer to it.
#[derive(Debug)]
pub(crate) enum Attempt {
    /// Yours; also when the same lock id asks again.
    Granted(Holder),
    /// Somebody held it before the question was asked.
    Held(Holder),
    /// It was handed over to this one, who is not the one who asks, and has not taken it yet.
    Reserved(Holder),
    /// It was free when the question was asked, and somebody else was faster.
    Lost,
    /// The lock id had its lease already, and that has ended.
    Used(NoLock),
}

/// A request to the holder of a generation.
#[derive(Debug)]
pub(crate) struct Asking<'a> {
    pub key: &'a LockKey,
    pub generation: i64,
    pub by: &'a Owner,
    pub note: &'a str,
}

/// The answer to a takeover.
#[derive(Debug)]
pub(crate) enum TakenOver {
    /// Yours.
    Granted(Holder),
    /// That generation is not held (any more).
    Changed,
    /// The lock id had its lease already, or holds another one.
    Used(NoLock),
}

/// The answer to a lock id whose lease ran out and that wants it back.
#[derive(Debug)]
pub(crate) enum Resumption {
    /// It is alive again, same generation, if the transaction is committed.
    Resumed(Holder),
    /// Somebody took the key meanwhile and holds it.
    Held(Holder),
    /// It ended for good.
    Ended(NoLock),
}

impl Resumption {
    /// Why a lock id was not resumed, from what a check says about it.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    fn refused(key: &LockKey, checked: Result<Holder, NoLock>) -> Self {
        match checked {
            Err(NoLock { why: Why::Expired { .. }, key: Some(of), held_now: Some(holder) }) if of == *key => {
                Resumption::Held(holder)
            }
            Err(no_lock) if matches!(no_lock.why, Why::Unknown | Why::NotYours) => Resumption::Ended(no_lock),
            Err(no_lock) if no_lock.key.as_ref() == Some(key) => Resumption::Ended(no_lock),
            Err(NoLock { key, .. }) => Self::of_another(key),
            Ok(holder) => Self::of_another(Some(holder.key)),
        }
    }

    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    fn of_another(key: Option<LockKey>) -> Self {
        Resumption::Ended(NoLock { key, why: Why::OtherAggregate, held_now: None })
    }
}

/// One question to the lock table, which may share a round trip with others.
#[derive(Debug, Clone)]
pub(crate) enum LockOp {
    Take(LockRequest),
    Check(Proof),
    KeepAlive(Proof),
    Extend(Proof, Duration),
    ExpireWithin(Proof, Duration),
    Release(Proof),
}

/// The answer to it, where it can be given at once.
#[derive(Debug, Clone)]
pub(crate) enum LockAnswer {
    /// The lease of whoever asked, as it is now.
    Yours(Holder),
    /// Asked for, and held by this lock.
    Held { holder: Holder, lock: Vec<u8> },
}

/// Who changes an aggregate, and what for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Authorship {
    pub by: Option<Owner>,
    pub command: Option<String>,
}

impl Authorship {
    /// What the audit columns are filled with, in their order; `at` is the time as the backend writes it.
    pub(crate) fn audit(&self, at: Value) -> [Value; 4] {
        let text = |text: Option<&String>| text.cloned().map_or(Value::Null(Kind::Text), Value::Text);
        let by = self.by.as_ref();
        [text(by.map(|by| &by.id)), text(by.map(|by| &by.name)), at, text(self.command.as_ref())]
    }

    /// What others are told who find the transaction in their way: `kim: start shipping`.
    pub(crate) fn label(&self) -> Option<String> {
        match (&self.by, &self.command) {
            (Some(by), Some(command)) => Some(format!("{}: {command}", by.id)),
            (Some(by), None) => Some(by.id.clone()),
            (None, command) => command.clone(),
        }
    }
}

/// What an error did to the transaction that it happened in. [`Transaction`](crate::Transaction) lets none of them be
/// committed: an operation is several statements, and half of one must not be. At COMMIT it makes the difference between
/// "was not saved" and "nobody knows".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "no database does all of them")]
pub(crate) enum Effect {
    /// Only the statement was undone; the transaction is still there, with its locks.
    StatementUndone,
    /// Nothing but a rollback is accepted any more.
    Aborted,
    /// The server has rolled it back; what is sent next runs outside of it.
    Gone,
    /// There was no answer, or one that does not tell.
    Unknown,
}

/// Somebody else holds the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowLocked;

/// What a save writes.
#[derive(Debug)]
pub(crate) struct Save<'a> {
    pub mapping: &'static Mapping,
    pub key: &'a LockKey,
    /// The version that has to be stored now.
    pub from: Version,
    /// The version that is stored afterwards: the next one, or the same if this transaction has raised it already.
    pub to: Version,
    pub diff: &'a Diff<'a>,
    pub rows: &'a Rows,
    pub author: &'a Authorship,
}

/// A change of some columns of all roots that match.
#[derive(Debug)]
pub(crate) struct BulkChange<'a> {
    pub mapping: &'static Mapping,
    /// Columns of the root, by index, and their new values.
    pub set: &'a [(usize, Value)],
    pub when: &'a Test,
    pub author: &'a Authorship,
}

/// What became of a save or a delete.
#[derive(Debug)]
pub(crate) enum Saved {
    /// Done.
    Done,
    /// The version is not the expected one; nothing was written. What is stored now, read with a lock.
    Stale(Option<Stored>),
}

/// A database, and the operations that are transactions of their own.
#[async_trait]
pub(crate) trait Backend: Debug + Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> Capabilities;
    /// Opens a writing transaction. The wait is the budget for everything that has to be waited for; the label is what
    /// others are told who find it in their way.
    async fn begin(&self, wait: Wait, label: Option<&str>) -> Result<Box<dyn BackendTransaction>, DatabaseError>;
    /// Loads an aggregate as it is at one moment, without locking it.
    async fn load(&self, mapping: &Mapping, id: &[Value]) -> Result<Option<Stored>, DatabaseError>;
    /// The saved changes of an aggregate that are still known, newest first: its revisions, or its audit columns.
    async fn changes(
        &self,
        mapping: &Mapping,
        key: &LockKey,
        id: &[Value],
        limit: u32,
    ) -> Result<Vec<Change>, DatabaseError>;
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
    /// Takes a lock if it is free or expired. One statement decides.
    async fn try_lock(&self, request: &LockRequest) -> Result<Attempt, DatabaseError>;
    /// Who holds this lease, if it is alive.
    async fn check_lock(&self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError>;
    /// Sets the expiry of each lease that is alive to now + its ttl, within its absolute limit.
    async fn keep_alive(&self, proofs: &[Proof]) -> Result<Vec<Result<Holder, NoLock>>, DatabaseError>;
    /// Moves the expiry of a live lease by `by`, within now + ttl and the absolute limit; never backwards.
    async fn extend(&self, proof: &Proof, by: Duration) -> Result<Result<Holder, NoLock>, DatabaseError>;
    /// Brings the expiry of a live lease forward to now + `within`, if it is later.
    async fn expire_within(&self, proof: &Proof, within: Duration) -> Result<Result<Holder, NoLock>, DatabaseError>;
    /// Frees a live lease.
    async fn release_lock(&self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError>;
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
    /// Asks the holder of that generation, or asks again. `None`: it is not held (any more).
    async fn request(&self, asking: &Asking<'_>) -> Result<Option<Request>, DatabaseError>;
    /// Who asks for a live lease, the longest-waiting first.
    async fn requests(&self, proof: &Proof) -> Result<Result<Vec<Request>, NoLock>, DatabaseError>;
    /// Answers a request to a live lease. `None`: they do not ask (any more).
    async fn answer_request(
        &self,
        proof: &Proof,
        asker: &str,
        answer: &Answer,
    ) -> Result<Result<Option<Request>, NoLock>, DatabaseError>;
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
    /// Everything that is held, of one type or of all, the longest-held first.
    async fn held(&self, kind: Option<&str>, limit: u32) -> Result<Vec<Holder>, DatabaseError>;

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
    async fn load(&mut self, mapping: &Mapping, id: &[Value], mode: LockMode) -> Result<Option<Stored>, DatabaseError>;
    /// As `load` with a pessimistic mode, but does not wait: `Err` inside if somebody else holds the row.
    async fn load_unlocked(
        &mut self,
        _mapping: &Mapping,
        _id: &[Value],
        _mode: LockMode,
    ) -> Result<Result<Option<Stored>, RowLocked>, DatabaseError> {
        Err(DatabaseError::Unsupported("this database has no row locks that could be skipped; use `find` with no wait"))
    }
    /// The version of an aggregate, which stays what it is until the transaction ends.
    async fn hold_version(&mut self, mapping: &Mapping, id: &[Value]) -> Result<Option<Version>, DatabaseError>;
    /// The state of an aggregate as it was at a version; `None` where that is not kept.
    async fn state_at(&mut self, mapping: &Mapping, key: &LockKey, at: Version) -> Result<Option<Rows>, DatabaseError>;
    /// The latest change of an aggregate; `None` where neither revisions nor audit columns tell.
    async fn latest_change(
        &mut self,
        mapping: &Mapping,
        key: &LockKey,
        id: &[Value],
    ) -> Result<Option<Change>, DatabaseError>;
    /// Writes a new aggregate as version 1. `false`: there is one with this id already.
    async fn insert(
        &mut self,
        mapping: &Mapping,
        key: &LockKey,
        rows: &Rows,
        author: &Authorship,
    ) -> Result<bool, DatabaseError>;
    /// Writes what changed, root first, if the version is still the one that the difference was made from.
    async fn save(&mut self, save: &Save<'_>) -> Result<Saved, DatabaseError>;
    /// Deletes an aggregate if the version is still that one.
    async fn delete(&mut self, mapping: &Mapping, key: &LockKey, old: &Stored) -> Result<Saved, DatabaseError>;
    /// The ids of the aggregates whose root matches, locked, in the order of their ids.
    async fn lock_matching(&mut self, mapping: &Mapping, when: &Test) -> Result<Vec<Row>, DatabaseError>;
    /// Changes every root that matches and is not so already, and raises its version: how many.
    async fn update_matching(&mut self, change: &BulkChange<'_>) -> Result<u64, DatabaseError>;

    /// Holds a lease to the end of the transaction: who takes over or breaks it waits.
    async fn guard(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError>;
    /// Revives the lease on this key whose lock id is shown, if it ran out and nobody took the key since: with the commit it
    /// is alive again. Whoever takes it, or relies upon its not being held, is waited for.
    async fn resume(&mut self, proof: &Proof, key: &LockKey) -> Result<Resumption, DatabaseError>;
    /// Who holds the exclusive lock on the key, and cannot lose or get it before the transaction ends.
    async fn holder(&mut self, key: &LockKey) -> Result<Option<Holder>, DatabaseError>;
    /// Frees a live lease with the commit.
    async fn release_lock(&mut self, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError>;

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

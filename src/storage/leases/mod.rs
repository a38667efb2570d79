//! Operations on leases, once for all databases: load and lock the rows that the operation depends on, let the engine decide, write its
//! changes.
//!
//! A database implements [`LeaseRows`]: the statements that lock and read rows, return the time after the wait, and write rows. Only the most
//! frequent operations have statements of their own beside this.

mod load;
mod read;
mod sweep;
mod write;

use std::time::Duration;

use async_trait::async_trait;

use crate::error::DatabaseError;
use crate::lease::engine::{Answer, LeaseRow, Operation, Place, conflict, decide};
use crate::lease::{Holder, LockKey, NoLock};
use crate::storage::{Attempt, KeyState, LockAnswer, LockHash, LockRequest, Proof, Resumption, Slice};
use load::Loader;
pub(super) use read::{Trace, place};
pub(crate) use read::{lease, past};
pub(super) use sweep::sweep;
pub(super) use write::Writes;
#[cfg(feature = "sqlite")]
pub(super) use write::hex;
#[cfg(feature = "mysql")]
pub(super) use write::push_hex;

/// The rows of the lock table that a statement selects.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which<'w> {
    /// The row of the exclusive lease on a key.
    Exclusive(&'w LockKey),
    /// The row of the exclusive lease on a key. It need not be locked unless it has this generation.
    #[cfg_attr(
        not(feature = "postgres"),
        allow(dead_code, reason = "only PostgreSQL evaluates it before it locks the row")
    )]
    ExclusiveOf(&'w LockKey, i64),
    /// The rows of a key that have this generation.
    Generation(&'w LockKey, i64),
    /// The rows of the advisory leases on a key.
    Slots(&'w LockKey),
    /// As [`Slots`](Self::Slots), those whose leases have ended or expired; rows that another session has locked are skipped.
    EndedSlots(&'w LockKey),
    /// Rows of a slice, in the order of their places, whose expiry is this long ago; rows that another session has locked are skipped.
    Old { slice: &'w Slice<'w>, after: &'w Place, upto: Option<&'w Place> },
    /// All rows of a key.
    Key(&'w LockKey),
    /// The row of a lock id.
    Lock(&'w LockHash),
    /// The rows of an owner, locked in the order in which heartbeats lock several rows.
    Owner(&'w str),
}

/// The lock of the selected rows, to the end of the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// None: the rows are only read.
    No,
    /// For a live lease that must not end before the transaction does. Its heartbeats go on, where the database can tell them apart.
    Guard,
    /// For a change that does not wait for a save under the lease, where the database can tell them apart.
    Change,
    /// For a change that waits for a save under the lease, also if the lease has ended since; or for a key that nobody may acquire before
    /// the transaction ends.
    Replace,
}

/// Rows of the lock table, and the time after the last of them was locked; `None` if the database tells it only with a row.
#[derive(Debug, Default)]
pub(super) struct Found<T> {
    pub rows: Vec<T>,
    pub clock: Option<i64>,
}

/// The tables of leases in one database, inside a transaction, or on a connection that only reads.
///
/// Rows are locked by their primary key, so that sessions that find them by different indexes cannot deadlock. A statement that waits for a
/// row sees only that row as it is after the wait: everything else has to be read by a later statement.
#[async_trait]
pub(super) trait LeaseRows: Send {
    /// Selects rows of the lock table.
    async fn leases(&mut self, which: Which<'_>, hold: Hold) -> Result<Found<LeaseRow>, DatabaseError>;
    /// What is stored of a lock id: its row, its entry in the history, and the floor of the generations of this type. Takes no lock.
    async fn trace(&mut self, lock: &LockHash, kind: &str) -> Result<Found<Trace>, DatabaseError>;
    /// The last place of the slice that begins after this one; `None`: it is the last slice.
    async fn end_of_slice(&mut self, slice: &Slice<'_>, after: &Place) -> Result<Option<Place>, DatabaseError>;
    /// Writes rows. Returns false if another session inserted one of them first; then the transaction must be rolled back.
    async fn write(&mut self, writes: &Writes) -> Result<bool, DatabaseError>;
}

/// An operation in one transaction.
#[derive(Debug)]
pub(super) enum Ran {
    /// Decided, and nothing was written.
    Decided(Answer),
    /// Decided and written: the transaction has to be committed.
    Written(Answer),
    /// Another session was first. The transaction has to be rolled back, and the operation run again.
    Raced,
}

/// Runs an operation in an open transaction.
pub(super) async fn run(table: &mut dyn LeaseRows, operation: &Operation<'_>) -> Result<Ran, DatabaseError> {
    let mut loader = Loader::new(table, true);
    if !loader.load(operation).await? {
        return Ok(Ran::Raced);
    }
    let (rows, now) = loader.into_rows();
    let (answer, changes) = decide(operation, &rows, now).map_err(DatabaseError::other)?;
    let writes = Writes::of(changes, &rows);
    if writes.is_empty() {
        return Ok(Ran::Decided(answer));
    }
    Ok(if table.write(&writes).await? { Ran::Written(answer) } else { Ran::Raced })
}

/// Revives an expired lease, in a transaction of the application, which decides about its commit.
pub(super) async fn resume(
    table: &mut dyn LeaseRows,
    proof: &Proof,
    key: &LockKey,
) -> Result<Resumption, DatabaseError> {
    match run(table, &Operation::Resume { proof, key }).await? {
        Ran::Decided(Answer::Resumed(resumed)) | Ran::Written(Answer::Resumed(resumed)) => Ok(resumed),
        other => unreachable!("a resumption inserts no row, and has an answer of its own: {other:?}"),
    }
}

/// Releases a lease, in a transaction of the application.
pub(super) async fn release(table: &mut dyn LeaseRows, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
    match run(table, &Operation::Release(proof)).await? {
        Ran::Decided(Answer::Lease(released)) | Ran::Written(Answer::Lease(released)) => Ok(released),
        other => unreachable!("a release inserts no row, and has an answer of its own: {other:?}"),
    }
}

/// Checks a lease, and holds it until the transaction of the application ends.
pub(super) async fn guard(table: &mut dyn LeaseRows, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
    match run(table, &Operation::Check(proof)).await? {
        Ran::Decided(Answer::Lease(checked)) => Ok(checked),
        other => unreachable!("a check writes nothing, and has an answer of its own: {other:?}"),
    }
}

/// Whether a key is held. If it has a row, it stays so until the transaction of the application ends.
pub(super) async fn key_state(table: &mut dyn LeaseRows, key: &LockKey) -> Result<KeyState, DatabaseError> {
    match run(table, &Operation::KeyState(key)).await? {
        Ran::Decided(Answer::KeyState(state)) => Ok(state),
        other => unreachable!("it writes nothing, and has an answer of its own: {other:?}"),
    }
}

/// Answers an operation without locking rows, if it only reads or is refused because of a live lease.
pub(super) async fn read(
    table: &mut dyn LeaseRows,
    operation: &Operation<'_>,
) -> Result<Option<Answer>, DatabaseError> {
    let mut loader = Loader::new(table, false);
    loader.load(operation).await?;
    let (rows, now) = loader.into_rows();
    if !operation.only_reads() {
        return Ok(conflict(operation, &rows, now));
    }
    let (answer, _) = decide(operation, &rows, now).map_err(DatabaseError::other)?;
    Ok(Some(answer))
}

/// A database that runs operations on leases.
#[async_trait]
pub(super) trait LeaseDatabase: Sync {
    /// As [`read`], on a connection of its own.
    async fn read(&self, operation: &Operation<'_>) -> Result<Option<Answer>, DatabaseError>;
    /// As [`run`], in a transaction of its own, which is committed if something was written.
    async fn attempt(&self, operation: &Operation<'_>) -> Result<Ran, DatabaseError>;
    /// The pause before the next attempt.
    fn pause(&self, _attempt: u32) -> Duration {
        Duration::ZERO
    }
}

/// The refusal of an exclusive request by a live lease of another lock id. `None`: the key is free.
pub(super) fn refusal(request: &LockRequest, row: &LeaseRow, now: i64) -> Option<LockAnswer> {
    let held = row.alive(now) && row.lock != request.lock;
    held.then(|| LockAnswer::Held { holder: row.holder(now), lock: row.lock.clone() })
}

/// The number of attempts of an operation that deadlocked or lost a race. The budget of the operation may end it earlier.
const ATTEMPTS: u32 = 8;

/// Runs an operation, again if another session was first. A deadlock has rolled its transaction back, so it has changed nothing.
pub(super) async fn operate(database: &impl LeaseDatabase, operation: &Operation<'_>) -> Result<Answer, DatabaseError> {
    // Read first: a refusal must neither wait for another session's save nor write.
    let may_conflict = matches!(operation, Operation::Take(request) if request.policy.exclusive);
    if (operation.only_reads() || may_conflict)
        && let Some(answer) = database.read(operation).await?
    {
        return Ok(answer);
    }
    let mut attempt = 1;
    loop {
        match database.attempt(operation).await {
            Ok(Ran::Decided(answer) | Ran::Written(answer)) => return Ok(lost(answer, operation)),
            Ok(Ran::Raced) | Err(DatabaseError::Deadlock | DatabaseError::SerializationFailure)
                if attempt < ATTEMPTS =>
            {
                tokio::time::sleep(database.pause(attempt)).await;
                attempt += 1;
            }
            Ok(Ran::Raced) => return Err(DatabaseError::SerializationFailure),
            Err(error) => return Err(error),
        }
    }
}

/// The key was free when it was read first, and another session acquired it before its row was locked.
fn lost(answer: Answer, operation: &Operation<'_>) -> Answer {
    match (answer, operation) {
        (Answer::Taken(Attempt::Held(_)), Operation::Take(request)) if request.policy.exclusive => {
            Answer::Taken(Attempt::Lost)
        }
        (answer, _) => answer,
    }
}

//! Operations on leases, once for all databases: load and lock the rows that the operation depends on, let the engine decide, write its
//! changes.
//!
//! Only the most frequent operations have statements of their own beside this.

pub(crate) mod batch;
mod load;
mod read;
mod rows;
mod sweep;
mod write;

use crate::db::{Backend, Connection};
use crate::error::DatabaseError;
use crate::lease::engine::{Answer, LeaseRow, Operation, Place, conflict, decide};
use crate::lease::operations::{Attempt, KeyState, LockAnswer, LockHash, LockRequest, Proof, Resumption};
use crate::lease::{Holder, LockKey, NoLock};
use crate::store::Slice;
use crate::store::own::again;
use load::Loader;
pub(crate) use read::{lease, past};
pub(crate) use rows::make;
pub(crate) use sweep::sweep;
pub(crate) use write::Writes;
#[cfg(feature = "sqlite")]
pub(crate) use write::hex;
#[cfg(feature = "mysql")]
pub(crate) use write::push_hex;

/// The rows of the lock table that a statement selects.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Which<'w> {
    /// The row of the exclusive lease on a key.
    Exclusive(&'w LockKey),
    /// The row of the exclusive lease on a key. It need not be locked unless it has this generation.
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
pub(crate) enum Hold {
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
pub(crate) struct Found<T> {
    pub rows: Vec<T>,
    pub clock: Option<i64>,
}

/// An operation in one transaction.
#[derive(Debug)]
pub(crate) enum Ran {
    /// Decided, and nothing was written.
    Decided(Answer),
    /// Decided and written: the transaction has to be committed.
    Written(Answer),
    /// Another session was first. The transaction has to be rolled back, and the operation run again.
    Raced,
}

/// Runs an operation in an open transaction.
async fn run(db: &mut Connection, operation: &Operation<'_>) -> Result<Ran, DatabaseError> {
    #[cfg(test)]
    if let Some(work) = db.simulated() {
        return work.run(operation).await.map(Ran::Written);
    }
    let mut loader = Loader::new(db, true);
    if !loader.load(operation).await? {
        return Ok(Ran::Raced);
    }
    let (rows, now) = loader.into_rows();
    let (answer, changes) = decide(operation, &rows, now).map_err(DatabaseError::other)?;
    let writes = Writes::of(changes, &rows);
    if writes.is_empty() {
        return Ok(Ran::Decided(answer));
    }
    Ok(if rows::write(db, &writes).await? { Ran::Written(answer) } else { Ran::Raced })
}

/// Revives an expired lease, in a transaction of the application, which decides about its commit.
pub(crate) async fn resume(db: &mut Connection, proof: &Proof, key: &LockKey) -> Result<Resumption, DatabaseError> {
    match run(db, &Operation::Resume { proof, key }).await? {
        Ran::Decided(Answer::Resumed(resumed)) | Ran::Written(Answer::Resumed(resumed)) => Ok(resumed),
        other => unreachable!("a resumption inserts no row, and has an answer of its own: {other:?}"),
    }
}

/// Releases a lease, in a transaction of the application.
pub(crate) async fn release(db: &mut Connection, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
    match run(db, &Operation::Release(proof)).await? {
        Ran::Decided(Answer::Lease(released)) | Ran::Written(Answer::Lease(released)) => Ok(released),
        other => unreachable!("a release inserts no row, and has an answer of its own: {other:?}"),
    }
}

/// Checks a lease, and holds it until the transaction of the application ends.
pub(crate) async fn guard(db: &mut Connection, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
    match run(db, &Operation::Check(proof)).await? {
        Ran::Decided(Answer::Lease(checked)) | Ran::Written(Answer::Lease(checked)) => Ok(checked),
        other => unreachable!("a check writes nothing, and has an answer of its own: {other:?}"),
    }
}

/// Whether a key is held. If it has a row, it stays so until the transaction of the application ends.
pub(crate) async fn key_state(db: &mut Connection, key: &LockKey) -> Result<KeyState, DatabaseError> {
    match run(db, &Operation::KeyState(key)).await? {
        // Without locks of rows the transaction has locked keys that have no row, too.
        Ran::Decided(Answer::KeyState(KeyState::NoRow)) if db.sheet().row_locks.is_none() => Ok(KeyState::Free),
        Ran::Decided(Answer::KeyState(state)) | Ran::Written(Answer::KeyState(state)) => Ok(state),
        other => unreachable!("it writes nothing, and has an answer of its own: {other:?}"),
    }
}

/// Answers an operation without locking rows, if it only reads or is refused because of a live lease.
pub(crate) async fn read(db: &mut Connection, operation: &Operation<'_>) -> Result<Option<Answer>, DatabaseError> {
    let mut loader = Loader::new(db, false);
    loader.load(operation).await?;
    let (rows, now) = loader.into_rows();
    if !operation.only_reads() {
        return Ok(conflict(operation, &rows, now));
    }
    let (answer, _) = decide(operation, &rows, now).map_err(DatabaseError::other)?;
    Ok(Some(answer))
}

/// The refusal of an exclusive request by a live lease of another lock id. `None`: the key is free.
pub(crate) fn refusal(request: &LockRequest, row: &LeaseRow, now: i64) -> Option<LockAnswer> {
    let held = row.alive(now) && row.lock != request.lock;
    held.then(|| LockAnswer::Held { holder: row.holder(now), lock: row.lock.clone() })
}

/// Runs an operation, again if another session was first. A deadlock has rolled its transaction back, so it has changed nothing.
pub(crate) async fn operate(database: &Backend, operation: &Operation<'_>) -> Result<Answer, DatabaseError> {
    #[cfg(test)]
    if let Backend::Simulated(link) = database {
        return link.operate(operation).await;
    }
    // Read first: a refusal must neither wait for another session's save nor write.
    let may_conflict = matches!(operation, Operation::Take(request) if request.policy.exclusive);
    if (operation.only_reads() || may_conflict)
        && let Some(answer) = read(&mut database.own_reader().await?, operation).await?
    {
        return Ok(answer);
    }
    let answer = again!(attempt(database, operation))?;
    Ok(lost(answer, operation))
}

/// As [`run`], in a transaction of its own, which is committed if something was written.
async fn attempt(database: &Backend, operation: &Operation<'_>) -> Result<Answer, DatabaseError> {
    let heartbeat = matches!(operation, Operation::Keep(_) | Operation::Extend(..));
    let mut db = database.begin_own(heartbeat).await?;
    match run(&mut db, operation).await? {
        Ran::Written(answer) => db.commit(None).await.map(|()| answer),
        Ran::Decided(answer) => db.rollback().await.map(|()| answer),
        Ran::Raced => {
            db.rollback().await?;
            Err(DatabaseError::SerializationFailure)
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

//! Operations on leases, once for all databases, in three steps: **look** at the rows that an operation depends on, let the engine
//! **decide**, and **write** what it changed, in the transaction that has locked those rows.
//!
//! One operation alone and many together go the same way. Many share each statement and the commit, and do not wait for other sessions:
//! what would have to wait is left to be sent alone.

mod found;
mod list;
mod read;
mod rows;
mod sweep;
mod write;

use crate::db::{Backend, Connection, Purpose, erased, patience};
use crate::error::DatabaseError;
use crate::lease::engine::{Answer, Changes, LeaseRow, Operation, Place, decide};
use crate::lease::operations::{Attempt, KeyState, Proof, Resumption};
use crate::lease::{Holder, LockId, LockKey, NoLock};
use crate::store::ATTEMPTS;
use crate::store::own::again;
use found::Found;
pub(crate) use read::{lease, past};
pub(in crate::store) use rows::{LEASE, PAST};
pub(crate) use sweep::sweep;
use write::Writes;

/// Answers an operation in a transaction of its own, which may wait for other sessions.
pub(crate) async fn operate(database: &Backend, operation: &Operation) -> Result<Answer, DatabaseError> {
    let answers = together(database, &[operation], true).await?;
    answers.into_iter().flatten().next().ok_or(DatabaseError::SerializationFailure)
}

/// Answers operations in one transaction. If they must not wait for other sessions, `None` is an operation that has to be sent alone.
pub(crate) async fn together(
    database: &Backend,
    operations: &[&Operation],
    waits: bool,
) -> Result<Vec<Option<Answer>>, DatabaseError> {
    #[cfg(test)]
    if let Backend::Simulated(link) = database {
        return link.together(operations, waits).await;
    }
    again!(erased(attempt(database, operations, waits)))
}

async fn attempt(
    database: &Backend,
    operations: &[&Operation],
    waits: bool,
) -> Result<Vec<Option<Answer>>, DatabaseError> {
    let (mut answers, seen) = look_first(database, operations).await?;
    let open: Vec<usize> = (0..operations.len()).filter(|&at| answers[at].is_none()).collect();
    if open.is_empty() {
        return Ok(answers);
    }
    let asked: Vec<&Operation> = open.iter().map(|&at| operations[at]).collect();
    let beats = asked.iter().any(|operation| matches!(operation, Operation::Keep(..) | Operation::Extend(..)));
    let mut db = database.begin_own(Purpose { beats, waits }).await?;
    let Decided { answers: decided, changes, found } = match (waits, &asked[..]) {
        (true, [alone]) => decide_waiting(&mut db, alone, seen).await?,
        _ => decide_in(&mut db, &asked, seen, waits).await?,
    };
    if waits && decided.iter().any(Option::is_none) {
        db.rollback().await?;
        return Err(DatabaseError::SerializationFailure);
    }
    match changes.are_none() {
        true => db.rollback().await?,
        false => {
            rows::write(&mut db, &Writes::of(changes, &found.locked)).await?;
            db.commit(None).await.map_err(|error| match error {
                // The request can be repeated, which tells what became of it.
                DatabaseError::CommitUnknown(what) => DatabaseError::OutcomeUnknown(what),
                error => error,
            })?;
        }
    }
    for (at, decided) in open.into_iter().zip(decided) {
        answers[at] = decided;
    }
    Ok(answers)
}

/// Looks at the rows of operations that may be answered by that: a refusal must neither write nor wait for another session's save.
async fn look_first(
    database: &Backend,
    operations: &[&Operation],
) -> Result<(Vec<Option<Answer>>, Found), DatabaseError> {
    let first: Vec<&Operation> = operations.iter().copied().filter(|operation| is_looked_at_first(operation)).collect();
    let mut seen = Found::default();
    if !first.is_empty() {
        seen.look(&mut database.own_reader().await?, &first).await?;
    }
    let answer = |operation: &&Operation| {
        let decided = is_looked_at_first(operation).then(|| decide(operation, &seen.rows, seen.now))?;
        decided.ok().filter(|(_, changes)| changes.are_none()).map(|(answer, _)| answer)
    };
    Ok((operations.iter().map(answer).collect(), seen))
}

/// Whether it may be answered by a look without a lock: it only reads, or it may be refused because of the lease of another.
fn is_looked_at_first(operation: &Operation) -> bool {
    operation.only_reads()
        || matches!(
            operation,
            Operation::Take(_) | Operation::TakeOver { .. } | Operation::Break { .. } | Operation::ReleaseAll { .. }
        )
}

/// Operations that were decided on rows that cannot change.
struct Decided {
    /// `None`: another session has changed or locked a row.
    answers: Vec<Option<Answer>>,
    changes: Changes,
    found: Found,
}

/// Decides operations in an open transaction, one after the other, on the rows that it locks.
async fn decide_in(
    db: &mut Connection,
    operations: &[&Operation],
    seen: Found,
    waits: bool,
) -> Result<Decided, DatabaseError> {
    let mut decided =
        Decided { answers: Vec::with_capacity(operations.len()), changes: Changes::default(), found: seen };
    let Decided { answers, changes, found } = &mut decided;
    found.lock(db, operations, waits).await?;
    for operation in operations {
        let (answer, changed) = match decide(operation, &found.rows, found.now) {
            Ok(decided) => decided,
            Err(error) if waits => return Err(DatabaseError::other(error)),
            // Sent alone, the request gets the error.
            Err(_) => {
                answers.push(None);
                continue;
            }
        };
        if !found.are_held(operation, &answer, &changed) {
            answers.push(None);
            continue;
        }
        answers.push(Some(lost(answer, operation, changes)));
        changed.apply(&mut found.rows);
        changes.and_then(changed);
    }
    Ok(decided)
}

/// As [`decide_in`], for one operation that waits for other sessions if it has to: what will be refused must not wait for another session's save.
async fn decide_waiting(db: &mut Connection, operation: &Operation, seen: Found) -> Result<Decided, DatabaseError> {
    let decided = decide_in(db, &[operation], seen, false).await?;
    match decided.answers[..] {
        // Nothing was changed, so what was found is what it was looked at.
        [None] => decide_in(db, &[operation], decided.found, true).await,
        _ => Ok(decided),
    }
}

/// As an operation that is sent alone, with something that happens after it was looked at. Nothing is written.
#[cfg(test)]
pub(in crate::store) async fn looked_at_before(
    database: &Backend,
    operation: &Operation,
    happens: impl Future<Output = ()>,
) -> Result<Option<Answer>, DatabaseError> {
    let (_, seen) = look_first(database, &[operation]).await?;
    happens.await;
    let mut db = database.begin_own(Purpose { beats: false, waits: true }).await?;
    let mut decided = decide_waiting(&mut db, operation, seen).await?;
    db.rollback().await?;
    Ok(decided.answers.pop().flatten())
}

/// The key was free when it was looked at first, and another session acquired it before its row was locked. (One that acquired it in the
/// same transaction holds it.)
fn lost(answer: Answer, operation: &Operation, changes: &Changes) -> Answer {
    match (answer, operation) {
        (Answer::Taken(Attempt::Held(_)), Operation::Take(request))
            if !changes.leases.contains_key(&Place::exclusive(&request.key)) =>
        {
            Answer::Taken(Attempt::Lost)
        }
        (answer, _) => answer,
    }
}

/// Runs an operation in a transaction of the application, which decides about its commit.
async fn within(db: &mut Connection, operation: &Operation) -> Result<Answer, DatabaseError> {
    #[cfg(test)]
    if let Some(work) = db.simulated() {
        return work.run(operation).await;
    }
    for _ in 0..ATTEMPTS {
        let Decided { mut answers, changes, found } = decide_waiting(db, operation, Found::default()).await?;
        if let Some(answer) = answers.pop().flatten() {
            if !changes.are_none() {
                rows::write(db, &Writes::of(changes, &found.locked)).await?;
            }
            return Ok(answer);
        }
        // A row changed hands between two statements; nothing was written.
        tokio::time::sleep(patience::jitter()).await;
    }
    Err(DatabaseError::SerializationFailure)
}

/// Revives an expired lease.
pub(crate) async fn resume(db: &mut Connection, proof: &Proof, key: &LockKey) -> Result<Resumption, DatabaseError> {
    Ok(within(db, &Operation::Resume { proof: proof.clone(), key: key.clone() }).await?.resumed())
}

/// Releases a lease that this transaction has held since it was alive, also if it has expired since.
pub(crate) async fn release_held(db: &mut Connection, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
    Ok(within(db, &Operation::ReleaseHeld(proof.clone())).await?.lease())
}

/// Releases a lease.
pub(crate) async fn release(db: &mut Connection, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
    Ok(within(db, &Operation::Release(proof.clone())).await?.lease())
}

/// Checks a lease, and holds it until the transaction ends.
pub(crate) async fn guard(db: &mut Connection, proof: &Proof) -> Result<Result<Holder, NoLock>, DatabaseError> {
    Ok(within(db, &Operation::Check(proof.clone())).await?.lease())
}

/// Whether a key is held. If it has a row, it stays so until the transaction ends.
pub(crate) async fn key_state(db: &mut Connection, key: &LockKey) -> Result<KeyState, DatabaseError> {
    let state = within(db, &Operation::KeyState(key.clone())).await?.key_state();
    Ok(match state {
        // Without locks of rows the transaction has locked keys that have no row, too.
        KeyState::NoRow if db.sheet().row_locks.is_none() => KeyState::Free,
        state => state,
    })
}

/// Makes sure that the key has a row, which every acquisition or change of the key locks first. It is the row of an ended lease, so the key
/// stays free. Transactions that require that nobody holds the key lock it.
///
/// If there is none, the floor of the type is that of the same moment: the generations of a swept key continue.
pub(crate) async fn make(db: &mut Connection, key: &LockKey) -> Result<(), DatabaseError> {
    let mut found = Found::default();
    found.look(db, &[&Operation::KeyState(key.clone())]).await?;
    if found.rows.exclusive(key).is_some() {
        return Ok(());
    }
    let lock = LockId::random().hash().to_vec();
    let row = LeaseRow::anchor(key, found.rows.floor(key), lock, found.now);
    let changes = Changes { leases: [(row.place.clone(), Some(row))].into(), ..Changes::default() };
    rows::write(db, &Writes::of(changes, &found.locked)).await
}

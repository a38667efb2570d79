//! Many questions to the lock table in two round trips and one flush: rows are locked and read, what is to become of them
//! is decided here, and written. Keys that are held, or that nobody ever locked, take a third. A question that comes alone takes
//! one, see [`lone`].
//!
//! Only what needs no waiting is answered. Rows that somebody has locked (a save under a lease) are skipped, and so is
//! whatever calls for an explanation; those are asked alone, as in [`lock`](super::lock). Rows are locked by their primary
//! key, and new ones are made in the order of their keys, so that two batches cannot wait for each other in a circle.

mod changes;
mod found;
mod lone;
pub(super) mod texts;

use changes::Changes;
use found::Found;

use super::connection::Connections;
use super::deadline::Flavour;
use super::errors::{classify, classify_commit};
use crate::error::DatabaseError;
use crate::storage::{LockAnswer, LockOp, LockRequest, Proof};

/// The answers to all of a batch, in their order.
type Answers = Vec<Option<LockAnswer>>;

/// As many questions as one statement is good for: MariaDB turns longer lists into tables.
const MOST: usize = 500;

/// Answers what can be answered at once.
pub(super) async fn run(connections: &Connections, ops: &[LockOp], now: Option<i64>) -> Result<Answers, DatabaseError> {
    let answers = ask(connections, ops, now).await;
    match ops.iter().all(|op| matches!(op, LockOp::Check(_))) {
        true => answers,
        // Most of it commits by itself.
        false => answers.map_err(DatabaseError::after_sending),
    }
}

async fn ask(connections: &Connections, ops: &[LockOp], now: Option<i64>) -> Result<Answers, DatabaseError> {
    if let ([op], Flavour::MariaDb) = (ops, connections.flavour) {
        match unless_in_the_way(lone::run(connections, op, now).await)? {
            // Its key may be held by a lease that ran out.
            Some(None) if matches!(op, LockOp::Take(_)) => {}
            answer => return Ok(vec![answer.flatten()]),
        }
    }
    let mut answers = Vec::with_capacity(ops.len());
    for ops in ops.chunks(MOST) {
        let batch = Batch::of(ops);
        let mut answered = unless_in_the_way(batch.run(connections, now).await)?;
        // One that is alone is asked again outside of a batch, where it may wait.
        if answered.is_none() && ops.len() > 1 {
            answered = unless_in_the_way(batch.run(connections, now).await)?;
        }
        answers.extend(answered.unwrap_or_else(|| nothing(ops.len())));
    }
    Ok(answers)
}

fn nothing(count: usize) -> Answers {
    (0..count).map(|_| None).collect()
}

/// `None`: another transaction was in the way, and nothing was changed.
fn unless_in_the_way<T>(outcome: Result<T, DatabaseError>) -> Result<Option<T>, DatabaseError> {
    match outcome {
        Err(DatabaseError::Deadlock | DatabaseError::SerializationFailure | DatabaseError::LockTimeout { .. }) => {
            Ok(None)
        }
        outcome => outcome.map(Some),
    }
}

/// Questions by what they need, each with its place among all.
#[derive(Default)]
struct Batch<'o> {
    count: usize,
    /// Leases to take, in the order of their keys.
    takes: Vec<(usize, &'o LockRequest)>,
    /// Live leases to keep, to shorten or to end.
    changes: Vec<(usize, &'o Proof, &'o LockOp)>,
    checks: Vec<(usize, &'o Proof)>,
}

impl<'o> Batch<'o> {
    fn of(ops: &'o [LockOp]) -> Self {
        let mut batch = Batch { count: ops.len(), ..Self::default() };
        for (at, op) in ops.iter().enumerate() {
            match op {
                // Those beside each other get their generations one after the other.
                LockOp::Take(request) if request.is_alone() => batch.takes.push((at, request)),
                LockOp::Take(_) => {}
                LockOp::Check(proof) => batch.checks.push((at, proof)),
                LockOp::KeepAlive(proof, _)
                | LockOp::Extend(proof, _)
                | LockOp::ExpireWithin(proof, _)
                | LockOp::Release(proof) => batch.changes.push((at, proof, op)),
            }
        }
        batch.takes.sort_by_key(|(_, request)| &request.key);
        batch
    }

    async fn run(&self, connections: &Connections, now: Option<i64>) -> Result<Answers, DatabaseError> {
        let mut answers = nothing(self.count);
        let mut session = connections.acquire_for_leases().await?;
        if !self.checks.is_empty() {
            let checked: Vec<_> = self.checks.iter().map(|(_, proof)| &proof.lock).collect();
            let rows = session.read(texts::seen_locks(&checked, now)).await.map_err(classify)?;
            self.check(&Found::read(&rows)?, &mut answers);
        }
        if self.takes.is_empty() && self.changes.is_empty() {
            return Ok(answers);
        }
        let keys: Vec<_> = self.takes.iter().map(|(_, request)| &request.key).collect();
        let asked: Vec<_> = self.takes.iter().map(|(_, request)| &request.lock).collect();
        let shown: Vec<_> = self.changes.iter().map(|(_, proof, _)| &proof.lock).collect();
        let rows = session.open(texts::look(&keys, &asked, &shown, now)).await.map_err(classify)?;
        let mut found = Found::read(&rows)?;
        let missing: Vec<_> = keys.into_iter().filter(|key| found.locked.of_key(key).is_none()).collect();
        if !missing.is_empty() {
            let rows = session.read(texts::look_again(&missing, now)).await.map_err(classify)?;
            found.add(&rows)?;
        }
        let mut changes = Changes::default();
        for &(at, request) in &self.takes {
            answers[at] = changes.take(&found, at, request);
        }
        for &(at, proof, op) in &self.changes {
            answers[at] = changes.change(&mut found, proof, op);
        }
        if changes.are_none() {
            // Nothing is locked. The transaction ends when the session is dropped, and nobody waits for that.
            return Ok(answers);
        }
        match session.close(changes.text(&found, connections.flavour, now)).await {
            Ok(rows) => changes.won(&Found::read(&rows)?, &mut answers),
            Err(error) => {
                // Before it is done again, or its own locks would be in its way. If this fails, dropping the session does it.
                let _ = session.close(connections.flavour.roll_back().to_owned()).await;
                return Err(classify_commit(error, connections.flavour));
            }
        }
        Ok(answers)
    }

    fn check(&self, found: &Found, answers: &mut Answers) {
        for &(at, proof) in &self.checks {
            let lease = found.seen.of_lock(&proof.lock).filter(|lease| lease.alive() && lease.is_proven_by(proof));
            answers[at] = lease.map(|lease| LockAnswer::Yours(lease.clone().into_holder()));
        }
    }
}

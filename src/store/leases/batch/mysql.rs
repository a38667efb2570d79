//! Many requests to the lock table in two round trips and one flush: one reads and locks the rows, this code decides, and the second
//! writes. Keys that are held, or that have no row, need a third. A single request takes one, see [`lone`].
//!
//! It answers only requests that need not wait. It skips rows that another transaction has locked (a save under a lease), and requests
//! whose answer needs an explanation; those are sent alone, as in [`leases`](crate::store::leases). Rows are locked by their primary key, and new ones
//! are inserted in the order of their keys, so that two batches cannot deadlock.

mod changes;
mod columns;
mod found;
mod lone;
pub(super) mod texts;

use changes::Changes;
use found::Found;

use crate::clock::ManualClock;
use crate::db::mysql::MySql;
use crate::db::mysql::connection::Connections;
use crate::db::mysql::deadline::Flavour;
use crate::db::mysql::errors::{classify, classify_commit};
use crate::error::DatabaseError;
use crate::lease::operations::{LockAnswer, LockOp, LockRequest, Proof};

/// The answers of a batch, in the order of its requests.
type Answers = Vec<Option<LockAnswer>>;

/// The maximum number of requests per statement: MariaDB turns longer lists into tables.
const MOST: usize = 500;

/// Answers the requests that need not wait.
pub(crate) async fn run(db: &MySql, ops: &[LockOp]) -> Result<Answers, DatabaseError> {
    let answers = ask(&db.connections, ops, db.clock.as_ref().map(ManualClock::millis)).await;
    match ops.iter().all(|op| matches!(op, LockOp::Check(_))) {
        true => answers,
        // Most of it commits by itself.
        false => answers.map_err(DatabaseError::after_sending),
    }
}

async fn ask(connections: &Connections, ops: &[LockOp], now: Option<i64>) -> Result<Answers, DatabaseError> {
    if let ([op], Flavour::MariaDb) = (ops, connections.flavour) {
        match unless_blocked(lone::run(connections, op, now).await)? {
            // An expired lease may hold its key.
            Some(None) if matches!(op, LockOp::Take(_)) => {}
            answer => return Ok(vec![answer.flatten()]),
        }
    }
    let mut answers = Vec::with_capacity(ops.len());
    for ops in ops.chunks(MOST) {
        let batch = Batch::of(ops);
        let mut answered = unless_blocked(batch.run(connections, now).await)?;
        // A request that is alone is sent again outside a batch, where it may wait.
        if answered.is_none() && ops.len() > 1 {
            answered = unless_blocked(batch.run(connections, now).await)?;
        }
        answers.extend(answered.unwrap_or_else(|| nothing(ops.len())));
    }
    Ok(answers)
}

fn nothing(count: usize) -> Answers {
    (0..count).map(|_| None).collect()
}

/// `None`: another transaction holds a row, and nothing was changed.
fn unless_blocked<T>(outcome: Result<T, DatabaseError>) -> Result<Option<T>, DatabaseError> {
    match outcome {
        Err(DatabaseError::Deadlock | DatabaseError::SerializationFailure | DatabaseError::LockTimeout { .. }) => {
            Ok(None)
        }
        outcome => outcome.map(Some),
    }
}

/// Requests by their kind, each with its index.
#[derive(Default)]
struct Batch<'o> {
    count: usize,
    /// Leases to acquire, in the order of their keys.
    takes: Vec<(usize, &'o LockRequest)>,
    /// Live leases to keep alive, to shorten or to end.
    changes: Vec<(usize, &'o LockOp)>,
    checks: Vec<(usize, &'o Proof)>,
}

impl<'o> Batch<'o> {
    fn of(ops: &'o [LockOp]) -> Self {
        let mut batch = Batch { count: ops.len(), ..Self::default() };
        for (at, op) in ops.iter().enumerate() {
            match op {
                // Shared and advisory leases get their generations one after the other.
                LockOp::Take(request) if request.policy.exclusive => batch.takes.push((at, request)),
                LockOp::Take(_) => {}
                LockOp::Check(proof) => batch.checks.push((at, proof)),
                LockOp::KeepAlive(..) | LockOp::Extend(..) | LockOp::ExpireWithin(..) | LockOp::Release(_) => {
                    batch.changes.push((at, op));
                }
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
        let shown: Vec<_> = self.changes.iter().map(|(_, op)| op.lock()).collect();
        let rows = session.open(texts::look(&keys, &asked, &shown, now)).await.map_err(classify)?;
        let mut found = Found::read(&rows)?;
        let missing: Vec<_> = keys.into_iter().filter(|key| found.locked.of_key(key).is_none()).collect();
        if !missing.is_empty() {
            let rows = session.read(texts::look_again(&missing, now)).await.map_err(classify)?;
            found.add(&rows)?;
        }
        let mut changes = Changes::default();
        for &(at, request) in &self.takes {
            answers[at] = changes.take(&mut found, at, request);
        }
        for &(at, op) in &self.changes {
            answers[at] = changes.change(&mut found, op);
        }
        if changes.are_none() {
            // Nothing is locked. The transaction ends when the session is dropped; no session waits for it.
            return Ok(answers);
        }
        match session.close(changes.text(&found, connections.flavour, now)).await {
            Ok(rows) => changes.won(&Found::read(&rows)?, &mut answers),
            Err(error) => {
                // Before a retry, which its own locks would block. If this fails, dropping the session rolls back.
                let _ = session.close(connections.flavour.roll_back().to_owned()).await;
                return Err(classify_commit(error, connections.flavour));
            }
        }
        Ok(answers)
    }

    fn check(&self, found: &Found, answers: &mut Answers) {
        for &(at, proof) in &self.checks {
            let live = found.seen.of_lock(&proof.lock).filter(|seen| seen.alive() && proof.is_by(&seen.row.owner.id));
            answers[at] = live.map(|seen| LockAnswer::Yours(seen.holder()));
        }
    }
}

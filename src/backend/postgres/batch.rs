//! Many questions to the lock table in one statement: one round trip, one flush, one moment.
//!
//! Only what needs no waiting is answered here. Rows that somebody has locked (a save under a lease) are skipped, and so is
//! whatever calls for an explanation; those are asked alone, as in [`lock`](super::lock).

mod lone;
mod texts;

use std::collections::HashMap;

use sqlx::Row;
use sqlx::postgres::PgRow;

use super::errors::classify;
use super::leases::{StoredLease, lease};
use super::pools::Pools;
use crate::backend::{LockAnswer, LockOp, LockRequest, Proof};
use crate::clock::millis;
use crate::error::DatabaseError;
use texts::{BOTH, CHANGE, TAKE};

/// Leases to take, as columns.
#[derive(Default)]
struct Asked<'o> {
    op: Vec<i64>,
    kind: Vec<&'o str>,
    id: Vec<&'o str>,
    lock: Vec<&'o [u8]>,
    owner_id: Vec<&'o str>,
    owner_name: Vec<&'o str>,
    ttl: Vec<i64>,
    most: Vec<i64>,
    role: Vec<Option<&'o str>>,
    shown: Vec<i64>,
    idle: Vec<Option<i64>>,
}

impl<'o> Asked<'o> {
    fn push(&mut self, op: i64, request: &'o LockRequest) {
        self.op.push(op);
        self.kind.push(request.key.kind());
        self.id.push(request.key.id());
        self.lock.push(&request.lock);
        self.owner_id.push(&request.owner.id);
        self.owner_name.push(&request.owner.name);
        self.ttl.push(millis(request.policy.ttl));
        self.most.push(millis(request.policy.limit));
        self.role.push(request.owner.role.as_deref());
        self.shown.push(request.policy.shown.stored());
        self.idle.push(request.policy.idle.map(millis));
    }
}

/// Lock ids that are shown, as columns.
#[derive(Default)]
struct Shown<'o> {
    op: Vec<i64>,
    lock: Vec<&'o [u8]>,
    owner: Vec<Option<&'o str>>,
    verb: Vec<i32>,
    by: Vec<i64>,
}

impl<'o> Shown<'o> {
    fn push(&mut self, op: i64, proof: &'o Proof, verb: i32, by: i64) {
        self.op.push(op);
        self.lock.push(&proof.lock);
        self.owner.push(proof.owner.as_deref());
        self.verb.push(verb);
        self.by.push(by);
    }
}

/// Answers what can be answered at once.
pub(super) async fn run(
    pools: &Pools,
    ops: &[LockOp],
    now: Option<i64>,
) -> Result<Vec<Option<LockAnswer>>, DatabaseError> {
    let mut connection = pools.batches.acquire().await.map_err(classify)?;
    if let [op] = ops {
        let answer = lone::run(&mut connection, op, now).await?;
        if answer.is_some() || !matches!(op, LockOp::Take(_)) {
            return Ok(vec![answer]);
        }
    }
    let (mut asked, mut shown) = (Asked::default(), Shown::default());
    let mut asked_by: HashMap<&[u8], usize> = HashMap::new();
    for (index, (op, at)) in ops.iter().zip(0..).enumerate() {
        match op {
            // Those beside each other get their generations one after the other.
            LockOp::Take(request) if request.is_alone() => {
                asked_by.insert(&request.lock, index);
                asked.push(at, request);
            }
            LockOp::Take(_) => {}
            LockOp::Check(proof) => shown.push(at, proof, 0, 0),
            changing => {
                if let Some((proof, verb, by)) = changing.change() {
                    shown.push(at, proof, verb, by);
                }
            }
        }
    }
    let (some_asked, some_shown) = (!asked.op.is_empty(), !shown.op.is_empty());
    let mut query = sqlx::query(match (some_asked, some_shown) {
        (true, true) => BOTH,
        (true, false) => TAKE,
        (false, true) => CHANGE,
        (false, false) => return Ok(ops.iter().map(|_| None).collect()),
    });
    query = query.bind(now);
    if some_asked {
        let Asked { op, kind, id, lock, owner_id, owner_name, ttl, most, role, shown, idle } = asked;
        query = query.bind(op).bind(kind).bind(id).bind(lock).bind(owner_id).bind(owner_name).bind(ttl).bind(most);
        query = query.bind(role).bind(shown).bind(idle);
    }
    if some_shown {
        let Shown { op, lock, owner, verb, by } = shown;
        query = query.bind(op).bind(lock).bind(owner).bind(verb).bind(by);
    }
    let rows = query.fetch_all(&mut *connection).await.map_err(classify)?;
    let mut answers: Vec<Option<LockAnswer>> = ops.iter().map(|_| None).collect();
    for row in &rows {
        let at = match row.try_get::<Option<i64>, _>("op").map_err(classify)? {
            Some(op) => usize::try_from(op).ok(),
            None => asked_by.get(row.try_get::<&[u8], _>("lock_hash").map_err(classify)?).copied(),
        };
        if let Some((op, answer)) = at.and_then(|at| ops.get(at).zip(answers.get_mut(at))) {
            *answer = answer_to(op, row)?;
        }
    }
    Ok(answers)
}

fn answer_to(op: &LockOp, row: &PgRow) -> Result<Option<LockAnswer>, DatabaseError> {
    let StoredLease { holder, lock, reserved, .. } = lease(row)?;
    Ok(Some(match op {
        // It calls for an explanation, or is for whoever asks: they ask alone.
        LockOp::Take(_) if reserved => return Ok(None),
        LockOp::Take(request) if lock != request.lock => LockAnswer::Held { holder, lock },
        _ => LockAnswer::Yours(holder),
    }))
}

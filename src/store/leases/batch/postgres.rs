//! Many requests to the lock table in one statement: one round trip, one flush, one time. Keys without a row, held keys and keys with an
//! expired lease need a second one.
//!
//! It answers only requests that need not wait. It skips rows that another transaction has locked (a save under a lease), and requests
//! whose answer needs an explanation; those are sent alone, as in [`leases`](crate::store::leases).

mod lone;
mod texts;

use std::collections::HashMap;

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{PgConnection, Postgres, Row};

use crate::clock::{ManualClock, millis};
use crate::db::patience;
use crate::db::postgres::{self, errors::classify};
use crate::error::DatabaseError;
use crate::lease::operations::{LockAnswer, LockOp, LockRequest, Proof};
use crate::store::leases::{lease, refusal};
use texts::{BOTH, CHANGE, CHECK, TAKE, TAKE_ANY, Text};

/// Leases to acquire, as columns.
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

/// Presented lock ids, as columns.
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

type Statement<'o> = Query<'o, Postgres, PgArguments>;

impl<'o> Asked<'o> {
    fn bind(self, statement: Statement<'o>) -> Statement<'o> {
        let Asked { op, kind, id, lock, owner_id, owner_name, ttl, most, role, shown, idle } = self;
        let statement = statement.bind(op).bind(kind).bind(id).bind(lock).bind(owner_id).bind(owner_name);
        statement.bind(ttl).bind(most).bind(role).bind(shown).bind(idle)
    }
}

impl<'o> Shown<'o> {
    fn bind(self, statement: Statement<'o>) -> Statement<'o> {
        let Shown { op, lock, owner, verb, by } = self;
        statement.bind(op).bind(lock).bind(owner).bind(verb).bind(by)
    }
}

/// Answers the requests that need not wait.
pub(crate) async fn run(db: &postgres::Postgres, ops: &[LockOp]) -> Result<Vec<Option<LockAnswer>>, DatabaseError> {
    let (pools, now) = (&db.pools, db.clock.as_ref().map(ManualClock::millis));
    let mut connection = pools.checkout(&pools.batches, patience::left()).await?;
    let ask = async |connection: &mut PgConnection| {
        let mut round = Round { ops, answers: ops.iter().map(|_| None).collect(), now };
        if let [op] = ops {
            round.answers = vec![lone::run(connection, op, now).await?];
        } else {
            round.check(connection).await?;
            round.change(connection).await?;
        }
        round.take_any(connection).await?;
        Ok(round.answers)
    };
    let answers = connection.answer(patience::limit(patience::left()), ask).await;
    match ops.iter().all(|op| matches!(op, LockOp::Check(_))) {
        true => answers,
        // Each statement commits by itself.
        false => answers.map_err(DatabaseError::after_sending),
    }
}

/// Requests, and the answers so far.
struct Round<'o> {
    ops: &'o [LockOp],
    answers: Vec<Option<LockAnswer>>,
    now: Option<i64>,
}

impl<'o> Round<'o> {
    /// The requests without an answer yet, with their indexes.
    fn open(&self) -> impl Iterator<Item = (i64, &'o LockOp)> {
        let all = (0..).zip(self.ops).zip(&self.answers);
        all.filter_map(|(asked, answer)| answer.is_none().then_some(asked))
    }

    fn answer(&mut self, at: i64, answer: LockAnswer) {
        if let Some(place) = usize::try_from(at).ok().and_then(|at| self.answers.get_mut(at)) {
            *place = Some(answer);
        }
    }

    async fn check(&mut self, connection: &mut PgConnection) -> Result<(), DatabaseError> {
        let (mut ops, mut locks, mut owners) = (Vec::new(), Vec::new(), Vec::new());
        for (at, op) in self.open() {
            if let LockOp::Check(proof) = op {
                ops.push(at);
                locks.push(&proof.lock[..]);
                owners.push(proof.owner.as_deref());
            }
        }
        if ops.is_empty() {
            return Ok(());
        }
        let check = sqlx::query(CHECK.sql()).bind(self.now).bind(ops).bind(locks).bind(owners);
        self.ask(connection, check).await
    }

    /// Changes leases, and acquires keys whose leases were ended before.
    async fn change(&mut self, connection: &mut PgConnection) -> Result<(), DatabaseError> {
        let (mut asked, mut shown) = (Asked::default(), Shown::default());
        for (at, op) in self.open() {
            match op {
                // Shared and advisory leases get their generations one after the other.
                LockOp::Take(request) if request.policy.exclusive => asked.push(at, request),
                _ => {
                    if let Some((proof, verb, by)) = op.change() {
                        shown.push(at, proof, verb, by);
                    }
                }
            }
        }
        let query = |text: &'static Text| sqlx::query(text.sql()).bind(self.now);
        let statement = match (asked.op.is_empty(), shown.op.is_empty()) {
            (true, true) => return Ok(()),
            (false, true) => asked.bind(query(&TAKE)),
            (true, false) => shown.bind(query(&CHANGE)),
            (false, false) => shown.bind(asked.bind(query(&BOTH))),
        };
        self.ask(connection, statement).await
    }

    async fn ask(&mut self, connection: &mut PgConnection, statement: Statement<'_>) -> Result<(), DatabaseError> {
        for row in statement.fetch_all(connection).await.map_err(classify)? {
            let at = row.try_get("op").map_err(classify)?;
            if let Some(op) = usize::try_from(at).ok().and_then(|at| self.ops.get(at)) {
                self.answer(at, yours(op, &row)?);
            }
        }
        Ok(())
    }

    /// Acquires the remaining keys, or finds their holders.
    async fn take_any(&mut self, connection: &mut PgConnection) -> Result<(), DatabaseError> {
        let (mut asked, mut asked_by) = (Asked::default(), HashMap::new());
        for (at, op) in self.open() {
            if let LockOp::Take(request) = op
                && request.policy.exclusive
            {
                asked_by.insert(&request.lock[..], at);
                asked.push(at, request);
            }
        }
        if asked.op.is_empty() {
            return Ok(());
        }
        let statement = asked.bind(sqlx::query(TAKE_ANY.sql()).bind(self.now));
        for row in statement.fetch_all(connection).await.map_err(classify)? {
            let (lease, now) = (lease(&row).map_err(classify)?, row.try_get("now").map_err(classify)?);
            match (row.try_get("op").map_err(classify)?, asked_by.get(&lease.lock[..])) {
                (None, Some(&at)) => self.answer(at, LockAnswer::Yours(lease.holder(now))),
                (Some(at), _) => {
                    if let Some(LockOp::Take(request)) = usize::try_from(at).ok().and_then(|at| self.ops.get(at))
                        && let Some(refusal) = refusal(request, &lease, now)
                    {
                        self.answer(at, refusal);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The answer in a row of the usual statements.
fn yours(op: &LockOp, row: &PgRow) -> Result<LockAnswer, DatabaseError> {
    let number = |column| row.try_get(column).map_err(classify);
    Ok(LockAnswer::Yours(match op {
        LockOp::Take(request) => request.granted(number("granted")?, number("now")?),
        _ => lease(row).map_err(classify)?.holder(number("now")?),
    }))
}

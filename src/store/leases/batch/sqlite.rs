//! Many requests to the lock table in two calls to a connection's thread, and one flush.
//!
//! First a reader finds the holders: a refusal and a check write nothing and wait for no writer. The rest goes to the writer, in one
//! transaction. A call to a connection's thread costs more than the work there, and each returned row is another call: so all requests are
//! one JSON text, all statements run together, and the answers are one JSON text too.

mod columns;
mod texts;

use crate::clock::millis;
use crate::db::patience;
use crate::db::sqlite::Sqlite;
use crate::db::sqlite::connection::{self, OpenTransaction};
use crate::db::sqlite::errors::{classify, is_busy};
use crate::db::sqlite::turns::Priority;
use crate::error::DatabaseError;
use crate::lease::operations::{LockAnswer, LockOp, LockRequest, Proof};
use crate::store::leases::{hex, refusal};
use columns::Columns;
use texts::Change;

/// Answers the requests that need not wait.
pub(crate) async fn run(db: &Sqlite, ops: &[LockOp]) -> Result<Vec<Option<LockAnswer>>, DatabaseError> {
    let mut round = Round { ops, answers: ops.iter().map(|_| None).collect() };
    if !round.take_at_once(db).await? {
        let ran_out = round.read(db).await?;
        round.write(db, ran_out).await?;
    }
    Ok(round.answers)
}

/// Requests, and the answers so far.
struct Round<'o> {
    ops: &'o [LockOp],
    answers: Vec<Option<LockAnswer>>,
}

impl<'o> Round<'o> {
    /// Reads without the writer: answers refusals and checks. Returns whether any requested key has an expired lease.
    async fn read(&mut self, db: &Sqlite) -> Result<bool, DatabaseError> {
        let asked: Vec<_> = self.asked().map(|(at, asked)| (at, asked.key.kind(), asked.key.id())).collect();
        let shown: Vec<_> = self.checks().map(|(at, proof)| (at, hex(&proof.lock))).collect();
        if asked.is_empty() && shown.is_empty() {
            return Ok(false);
        }
        let (asked, shown) = (json(&asked)?, json(&shown)?);
        db.file.check_lately()?;
        let mut reader = connection::reader(&db.readers).await?;
        let found = texts::look(&mut reader, &asked, &shown).await?;
        drop(reader);
        let (now, mut ran_out) = (db.now(), false);
        for (at, columns) in found {
            let (Some(op), lease) = (self.ops.get(at), columns.into_row()) else { continue };
            match op {
                LockOp::Take(request) => {
                    ran_out |= !lease.alive(now) && !lease.ended;
                    if let Some(refusal) = refusal(request, &lease, now) {
                        self.answers[at] = Some(refusal);
                    }
                }
                LockOp::Check(proof) if lease.alive(now) && proof.is_by(&lease.owner.id) => {
                    self.answers[at] = Some(LockAnswer::Yours(lease.holder(now)));
                }
                _ => {}
            }
        }
        Ok(ran_out)
    }

    /// A single request for a free key, while no session writes: one call. Returns whether it was answered.
    async fn take_at_once(&mut self, db: &Sqlite) -> Result<bool, DatabaseError> {
        let [LockOp::Take(request)] = self.ops else { return Ok(false) };
        let Some(open) = OpenTransaction::at_once(&db.writer).await?.filter(|_| request.policy.exclusive) else {
            return Ok(false);
        };
        self.change(open, db, Change::Take).await?;
        Ok(self.answers[0].is_some())
    }

    /// Acquires and changes the rest, in one transaction.
    async fn write(&mut self, db: &Sqlite, ran_out: bool) -> Result<(), DatabaseError> {
        let take = self.asked().any(|(at, _)| self.answers[at].is_none());
        let releases = self.ops.iter().any(|op| matches!(op, LockOp::Release(_)));
        let changes = self.ops.iter().enumerate().any(|changing| changed(changing).is_some());
        let change = match (take, changes) {
            (false, false) => return Ok(()),
            (false, true) if releases => Change::Release,
            (false, true) => Change::Keep,
            (true, _) if ran_out => Change::TakeOver,
            (true, false) => Change::Take,
            (true, true) => Change::Both,
        };
        let beats = self.ops.iter().any(|op| matches!(op, LockOp::KeepAlive(..) | LockOp::Extend(..)));
        let priority = if beats { Priority::Heartbeat } else { Priority::Normal };
        let open = OpenTransaction::of_one_trip(&db.writer, patience::wait(), priority).await?;
        if !self.change(open, db, change).await? {
            let mut open = OpenTransaction::immediate(&db.writer, patience::wait(), priority).await?;
            let (taking, changing, now) = (self.taking()?, self.changing()?, db.now());
            let changed = change.run(open.connection(), true, now, &taking, &changing).await.map_err(classify)?;
            open.commit(None).await?;
            self.confirm(&changed, now)?;
        }
        Ok(())
    }

    /// In one call, which waits for no other session: so the time that was read before it is the time of the change. Returns whether it was
    /// done, and no other process blocked it.
    async fn change(&mut self, mut open: OpenTransaction, db: &Sqlite, change: Change) -> Result<bool, DatabaseError> {
        let (taking, changing, now) = (self.taking()?, self.changing()?, db.now());
        match change.run(open.connection(), false, now, &taking, &changing).await {
            Ok(changed) => {
                open.has_ended()?;
                self.confirm(&changed, now)?;
                Ok(true)
            }
            Err(error) if is_busy(&error) => {
                open.met_others();
                let _ = open.rollback().await;
                Ok(false)
            }
            Err(error) => Err(classify(error)),
        }
    }

    /// Reads the result: leases as of now, and the generations of granted ones.
    fn confirm(&mut self, changed: &[(String, String)], now: i64) -> Result<(), DatabaseError> {
        for (what, rows) in changed {
            if what == "taken" {
                for (at, generation) in parse::<Vec<(usize, i64)>>(rows)? {
                    if let Some(LockOp::Take(request)) = self.ops.get(at) {
                        self.answers[at] = Some(LockAnswer::Yours(request.granted(generation, now)));
                    }
                }
            } else {
                for (at, columns) in parse::<Vec<(usize, Columns)>>(rows)? {
                    if let Some(answer) = self.answers.get_mut(at) {
                        *answer = Some(LockAnswer::Yours(columns.into_row().holder(now)));
                    }
                }
            }
        }
        Ok(())
    }

    fn taking(&self) -> Result<String, DatabaseError> {
        json(&self.asked().filter(|(at, _)| self.answers[*at].is_none()).map(taken).collect::<Vec<_>>())
    }

    fn changing(&self) -> Result<String, DatabaseError> {
        json(&self.ops.iter().enumerate().filter_map(changed).collect::<Vec<_>>())
    }

    /// The requested exclusive leases. (Shared and advisory leases get their generations one after the other.)
    fn asked(&self) -> impl Iterator<Item = (usize, &'o LockRequest)> + use<'o> {
        self.ops.iter().enumerate().filter_map(|(at, op)| match op {
            LockOp::Take(request) if request.policy.exclusive => Some((at, request)),
            _ => None,
        })
    }

    fn checks(&self) -> impl Iterator<Item = (usize, &'o Proof)> + use<'o> {
        self.ops.iter().enumerate().filter_map(|(at, op)| match op {
            LockOp::Check(proof) => Some((at, proof)),
            _ => None,
        })
    }
}

/// A lease to acquire, as JSON.
fn taken((at, request): (usize, &LockRequest)) -> impl serde::Serialize + use<'_> {
    let LockRequest { key, lock, owner, policy, .. } = request;
    let (ttl, most, idle) = (millis(policy.ttl), millis(policy.limit), policy.idle.map(millis));
    let (role, shown) = (owner.role.as_deref(), policy.shown.stored());
    (at, key.kind(), key.id(), hex(lock), &*owner.id, &*owner.name, ttl, most, role, shown, idle)
}

/// A lease to change, as JSON.
fn changed((at, op): (usize, &LockOp)) -> Option<(usize, String, Option<&str>, i32, i64)> {
    let (proof, verb, by) = op.change()?;
    Some((at, hex(&proof.lock), proof.owner.as_deref(), verb, by))
}

fn json(of: &impl serde::Serialize) -> Result<String, DatabaseError> {
    serde_json::to_string(of).map_err(|error| classify(sqlx::Error::Encode(error.into())))
}

/// Parses rows from a JSON text of the database. After an edit by hand they may contain anything.
fn parse<T: serde::de::DeserializeOwned>(rows: &str) -> Result<T, DatabaseError> {
    serde_json::from_str(rows).map_err(|error| classify(sqlx::Error::Decode(error.into())))
}

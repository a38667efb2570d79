//! A single request: a small statement costs the server a third of a batch statement.

use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use super::texts::{CHANGE_ONE, CHECK_ONE, RELEASE_ONE, TAKE_ONE, Text};
use super::{Statement, yours};
use crate::clock::millis;
use crate::db::postgres::errors::classify;
use crate::error::DatabaseError;
use crate::lease::operations::{LockAnswer, LockOp, LockRequest, Proof};

/// The answer, if it is a simple one. A key without a row, a held key, or one with an expired lease needs the batch
/// statement.
pub(super) async fn run(
    connection: &mut PgConnection,
    op: &LockOp,
    now: Option<i64>,
) -> Result<Option<LockAnswer>, DatabaseError> {
    let query = match op {
        LockOp::Take(request) if request.policy.exclusive => take(request, now),
        LockOp::Take(_) => return Ok(None),
        LockOp::Check(proof) => of(&CHECK_ONE, proof, now),
        LockOp::Release(proof) => of(&RELEASE_ONE, proof, now),
        changing => {
            let Some((proof, verb, by)) = changing.change() else { return Ok(None) };
            of(&CHANGE_ONE, proof, now).bind(verb).bind(by)
        }
    };
    let row: Option<PgRow> = query.fetch_optional(connection).await.map_err(classify)?;
    row.map(|row| yours(op, &row)).transpose()
}

fn of<'o>(text: &'static Text, proof: &'o Proof, now: Option<i64>) -> Statement<'o> {
    sqlx::query(text.sql()).bind(now).bind(&proof.lock[..]).bind(&proof.owner)
}

fn take(request: &LockRequest, now: Option<i64>) -> Statement<'_> {
    let LockRequest { key, lock, owner, policy, .. } = request;
    sqlx::query(TAKE_ONE.sql())
        .bind(now)
        .bind(key.kind())
        .bind(key.id())
        .bind(&lock[..])
        .bind(&owner.id)
        .bind(&owner.name)
        .bind(&owner.role)
        .bind(policy.shown.stored())
        .bind(millis(policy.ttl))
        .bind(policy.idle.map(millis))
        .bind(millis(policy.limit))
}

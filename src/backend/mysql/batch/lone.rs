//! One question in one round trip, on MariaDB: a statement that decides by itself and gives up at once where it would have
//! to wait, and one that reads what has become of it.

use std::time::Duration;

use sqlx::Row;
use sqlx::mysql::MySqlRow;

use super::changes::to;
use super::texts::{LEASE, clock, hex};
use crate::backend::mysql::connection::Connections;
use crate::backend::mysql::deadline::RowLock;
use crate::backend::mysql::errors::classify;
use crate::backend::mysql::leases::{self, clock, lease};
use crate::backend::mysql::lock::CENTURY;
use crate::backend::mysql::session::Statement;
use crate::backend::{LockAnswer, LockOp, LockRequest, Proof};
use crate::clock::millis;
use crate::error::DatabaseError;

/// The answer, unless it takes more than this.
pub(super) async fn run(
    connections: &Connections,
    op: &LockOp,
    now: Option<i64>,
) -> Result<Option<LockAnswer>, DatabaseError> {
    let text = match op {
        LockOp::Take(request) if request.is_alone() => return take(connections, request, now).await,
        LockOp::Take(_) => return Ok(None),
        LockOp::Check(proof) => return check(connections, proof, now).await,
        LockOp::KeepAlive(proof, idle) => change(proof, &keep("", *idle, now), now),
        LockOp::Extend(proof, by) => {
            let sooner = format!("expires_at + {}, ", millis((*by).min(CENTURY)));
            change(proof, &keep(&sooner, Duration::ZERO, now), now)
        }
        LockOp::ExpireWithin(proof, within) => {
            let at = format!("{} + {}", clock(now), millis((*within).min(CENTURY)));
            change(proof, &format!("expires_at = least(expires_at, {at})"), now)
        }
        LockOp::Release(proof) => release(proof, now),
    };
    let mut session = connections.acquire_for_leases().await?;
    let rows = session.close(text).await.map_err(classify)?;
    let done = |row: &&MySqlRow| row.try_get("done").is_ok_and(|done: i64| done > 0);
    Ok(rows.first().filter(done).map(lease).transpose()?.map(|lease| LockAnswer::Yours(lease.into_holder())))
}

async fn check(
    connections: &Connections,
    proof: &Proof,
    now: Option<i64>,
) -> Result<Option<LockAnswer>, DatabaseError> {
    let found = leases::of_lock(&mut connections.acquire_for_leases().await?, proof, now).await?;
    let lease = found.filter(|lease| lease.alive() && lease.is_proven_by(proof));
    Ok(lease.map(|lease| LockAnswer::Yours(lease.into_holder())))
}

/// Makes the row of a key, or takes it over if its lease has ended. What looks at it first takes no lock, so that a refusal
/// neither locks nor writes. A lease that ran out has to be recorded as well: that takes more than one statement.
const TAKE: &str = concat!(
    "set statement innodb_lock_wait_timeout = 0 for
     insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name, owner_role, shown_as,
                              since, last_active, active_at, expires_at, ttl, idle_limit, hard_until)
     select asked.kind, asked.id, '',
            1 + greatest(coalesce((select max(other.generation) from tenure_lock as other
                                    where other.kind = asked.kind and other.id = asked.id), 0),
                         coalesce((select swept.generation from tenure_lock_floor as swept
                                    where swept.kind = asked.kind), 0)),
            asked.lock_hash, asked.owner_id, asked.owner_name, asked.owner_role, asked.shown_as, asked.now, asked.now,
            asked.now, asked.now + asked.ttl, asked.ttl, asked.idle_limit, asked.now + asked.most
       from (select ",
    clock!("?"),
    " as now, cast(? as binary) as kind, cast(? as binary) as id, cast(? as binary) as lock_hash,
                    convert(? using utf8mb4) as owner_id, convert(? using utf8mb4) as owner_name,
                    cast(? as signed) as ttl, cast(? as signed) as most, convert(? using utf8mb4) as owner_role,
                    cast(? as signed) as shown_as, cast(? as signed) as idle_limit) as asked
      where not exists (select 1 from tenure_lock as held
                         where held.kind = asked.kind and held.id = asked.id and held.slot = '' and not held.ended)
        and not exists (select 1 from tenure_lock_history as past where past.lock_hash = asked.lock_hash)
         on duplicate key update
            tenure_lock.verdict     = tenure_lock.ended and not tenure_lock.shared
                                      and tenure_lock.lock_hash <> asked.lock_hash,
            tenure_lock.generation  = tenure_lock.generation + tenure_lock.verdict,
            tenure_lock.lock_hash   = if(tenure_lock.verdict, asked.lock_hash, tenure_lock.lock_hash),
            tenure_lock.owner_id    = if(tenure_lock.verdict, asked.owner_id, tenure_lock.owner_id),
            tenure_lock.owner_name  = if(tenure_lock.verdict, asked.owner_name, tenure_lock.owner_name),
            tenure_lock.owner_role  = if(tenure_lock.verdict, asked.owner_role, tenure_lock.owner_role),
            tenure_lock.shown_as    = if(tenure_lock.verdict, asked.shown_as, tenure_lock.shown_as),
            tenure_lock.active_at   = if(tenure_lock.verdict, asked.now, tenure_lock.active_at),
            tenure_lock.idle_limit  = if(tenure_lock.verdict, asked.idle_limit, tenure_lock.idle_limit),
            tenure_lock.since       = if(tenure_lock.verdict, asked.now, tenure_lock.since),
            tenure_lock.last_active = if(tenure_lock.verdict, asked.now, tenure_lock.last_active),
            tenure_lock.expires_at  = if(tenure_lock.verdict, asked.now + asked.ttl, tenure_lock.expires_at),
            tenure_lock.ttl         = if(tenure_lock.verdict, asked.ttl, tenure_lock.ttl),
            tenure_lock.hard_until  = if(tenure_lock.verdict, asked.now + asked.most, tenure_lock.hard_until),
            tenure_lock.ended       = tenure_lock.ended and not tenure_lock.verdict
     returning ",
    clock!("?"),
    " as clock, convert(kind using utf8mb4) as kind, convert(id using utf8mb4) as id, slot, generation, lock_hash,
               owner_id, owner_name, owner_role, shown_as, since, last_active, active_at, expires_at, ttl, idle_limit,
               hard_until, shared, ended"
);

async fn take(
    connections: &Connections,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<Option<LockAnswer>, DatabaseError> {
    let take = Statement::new(TAKE)
        .bind(now)
        .bind(request.key.kind().as_bytes())
        .bind(request.key.id().as_bytes())
        .bind(&request.lock[..])
        .bind(request.owner.id.as_str())
        .bind(request.owner.name.as_str())
        .bind(millis(request.policy.ttl))
        .bind(millis(request.policy.limit))
        .bind(request.owner.role.as_deref())
        .bind(request.policy.shown.stored())
        .bind(request.policy.idle.map(millis))
        .bind(now);
    let mut session = connections.acquire_for_leases().await?;
    if let Some(row) = session.fetch_optional(take).await.map_err(classify)? {
        // Lock ids are unique over all keys: this may be the row of another that it holds.
        let taken = lease(&row)?;
        return Ok(if taken.holder.key == request.key { to(request, &taken) } else { None });
    }
    let held = leases::exclusive(&mut session, &request.key, RowLock::None, now).await?;
    Ok(held.filter(|held| held.lock != request.lock).and_then(|held| to(request, &held)))
}

/// Sets the expiry to now + ttl, or to `sooner`, within the idle and the absolute limit; never backwards. Assignments are
/// made from left to right.
fn keep(sooner: &str, idle: Duration, now: Option<i64>) -> String {
    let (now, idle) = (clock(now), millis(idle.min(CENTURY)));
    format!(
        "last_active = {now}, active_at = greatest(active_at, {now} - {idle}), \
         expires_at = greatest(expires_at, least({sooner}{now} + ttl, hard_until, \
                                                 coalesce(active_at + idle_limit, hard_until)))"
    )
}

/// Changes the lease of a lock id, if it is alive and nobody has locked it.
fn update(proof: &Proof, set: &str, now: Option<i64>) -> String {
    let theirs = proof.owner.as_ref().map(|owner| format!(" and cast(owner_id as binary) = {}", hex(owner.as_bytes())));
    format!(
        "set statement innodb_lock_wait_timeout = 0 for update tenure_lock set {set} \
         where lock_hash = {} and not ended and expires_at > {}{}",
        hex(&proof.lock),
        clock(now),
        theirs.unwrap_or_default()
    )
}

fn change(proof: &Proof, set: &str, now: Option<i64>) -> String {
    format!("{}; {}", update(proof, set, now), outcome(proof, now))
}

/// Ends the lease and records it, or does neither.
fn release(proof: &Proof, now: Option<i64>) -> String {
    format!(
        "start transaction; {}; \
         insert into tenure_lock_history \
                (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, ended_at, how) \
         select l.lock_hash, l.kind, l.id, l.generation, l.owner_id, l.owner_name, l.owner_role, l.shown_as, l.since, {}, \
                'released' \
           from tenure_lock as l where l.lock_hash = {} and row_count() > 0; {}; commit",
        update(proof, "ended = 1", now),
        clock(now),
        hex(&proof.lock),
        outcome(proof, now)
    )
}

/// What the statement before it has done.
fn outcome(proof: &Proof, now: Option<i64>) -> String {
    let (clock, lock) = (clock(now), hex(&proof.lock));
    format!("select row_count() as done, {clock} as clock, {LEASE} from tenure_lock as l where l.lock_hash = {lock}")
}

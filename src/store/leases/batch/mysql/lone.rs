//! One request in one round trip, on MariaDB: a compound statement that decides by itself and gives up at once instead of waiting.
//!
//! It locks the row first, and reads the clock then. Otherwise, on a busy server, a lease could be kept alive by a clock that was read before
//! it expired, after a save had found it expired; and a lease could begin before its predecessor was released.

use sqlx::Row;

use super::changes::to;
use super::found::Seen;
use crate::clock::millis;
use crate::db::mysql::connection::Connections;
use crate::db::mysql::deadline::Flavour;
use crate::db::mysql::errors::{classify, classify_commit};
use crate::db::mysql::session::Statement;
use crate::error::DatabaseError;
use crate::lease::operations::{LockAnswer, LockOp, LockRequest, Proof};
use crate::store::leases::batch::mysql::columns::{clock, lease_columns, select_lease};

const BY_LOCK_ID: &str = select_lease!("where lock_hash = ?");

/// The meaning of an error of a statement that commits.
fn committing(error: sqlx::Error) -> DatabaseError {
    classify_commit(error, Flavour::MariaDb)
}

/// The answer, if it is a simple one. A key with an expired lease needs the batch statements.
pub(super) async fn run(
    connections: &Connections,
    op: &LockOp,
    now: Option<i64>,
) -> Result<Option<LockAnswer>, DatabaseError> {
    match op {
        LockOp::Take(request) if request.policy.exclusive => return take(connections, request, now).await,
        LockOp::Check(proof) => return check(connections, proof, now).await,
        _ => {}
    }
    let Some((proof, verb, by)) = op.change() else { return Ok(None) };
    let change =
        Statement::new(CHANGE).bind(&proof.lock[..]).bind(proof.owner.as_deref()).bind(verb).bind(by).bind(now);
    let rows = connections.acquire_for_leases().await?.close_with(change).await.map_err(committing)?;
    Ok(rows.first().map(Seen::read).transpose()?.map(|seen| LockAnswer::Yours(seen.holder())))
}

async fn check(
    connections: &Connections,
    proof: &Proof,
    now: Option<i64>,
) -> Result<Option<LockAnswer>, DatabaseError> {
    let select = Statement::new(BY_LOCK_ID).bind(now).bind(&proof.lock[..]);
    let row = connections.acquire_for_leases().await?.fetch_optional(select).await.map_err(classify)?;
    let live = row.as_ref().map(Seen::read).transpose()?.filter(|seen| seen.alive() && proof.is_by(&seen.row.owner.id));
    Ok(live.map(|seen| LockAnswer::Yours(seen.holder())))
}

/// Keeps a live lease alive (verb 1), extends it (2), lets it expire (3) or releases it (4), by a number of milliseconds; a release and its
/// history entry are written together. No sum overflows, even if a time to live was edited by hand. Assignments may be evaluated from left
/// to right or all at once.
const CHANGE: &str = concat!(
    "begin not atomic
         declare moment bigint;
         declare locked binary(32);
         declare shown binary(32) default ?;
         declare theirs longtext character set utf8mb4 default ?;
         declare verb int default ?;
         declare length bigint default ?;
         start transaction;
         select lock_hash into locked from tenure_lock where lock_hash = shown for update;
         set moment = ",
    clock!("?"),
    ";
         update tenure_lock
            set last_active = if(verb < 3, moment + (moment = since), last_active),
                active_at = case verb when 1 then greatest(active_at, moment - length)
                                      when 2 then greatest(active_at, moment)
                                      else active_at end,
                expires_at = case verb
                    when 1 then greatest(expires_at,
                                         least(moment + least(ttl, 100000000000000), hard_until,
                                               coalesce(least(greatest(active_at, moment - length), 4000000000000000000)
                                                        + greatest(least(idle_limit, 100000000000000), -100000000000000), hard_until)))
                    when 2 then greatest(expires_at,
                                         least(least(expires_at, moment + least(ttl, 100000000000000)) + length,
                                               moment + least(ttl, 100000000000000), hard_until,
                                               coalesce(least(greatest(active_at, moment), 4000000000000000000)
                                                        + greatest(least(idle_limit, 100000000000000), -100000000000000), hard_until)))
                    when 3 then least(expires_at, moment + length)
                    else expires_at end,
                ended = verb = 4
          where lock_hash = shown and not ended and expires_at > moment
            and (theirs is null or cast(owner_id as binary) = cast(theirs as binary));
         if row_count() = 1 then
             if verb = 4 then
                 insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                                  since, ended_at, how)
                 select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, moment, 'released'
                   from tenure_lock where lock_hash = shown;
             end if;
             select moment as clock, ",
    lease_columns!(),
    " from tenure_lock where lock_hash = shown;
         end if;
         commit;
     end"
);

/// Acquires a key whose lease was ended before, or inserts its row, or returns its holder. An expired lease also needs a history entry:
/// that needs the batch statements.
const TAKE: &str = concat!(
    "begin not atomic
         declare moment bigint;
         declare locked binary(32);
         declare asked_kind varbinary(255) default ?;
         declare asked_id varbinary(1024) default ?;
         declare asked_lock binary(32) default ?;
         declare length bigint default ?;
         -- Another session was first.
         declare continue handler for 1062 begin end;
         start transaction;
         select lock_hash into locked from tenure_lock
          where kind = asked_kind and id = asked_id and slot = '' for update;
         set moment = ",
    clock!("?"),
    ";
         update tenure_lock
            set generation = last_insert_id(generation + 1), lock_hash = asked_lock, owner_id = ?, owner_name = ?,
                owner_role = ?, shown_as = ?, since = moment, last_active = moment, active_at = moment,
                expires_at = moment + length, ttl = length, idle_limit = ?, hard_until = moment + ?, ended = 0
          where kind = asked_kind and id = asked_id and slot = '' and ended and lock_hash <> asked_lock
            and not exists (select 1 from tenure_lock_history as past where past.lock_hash = asked_lock);
         if row_count() = 1 then
             select cast(last_insert_id() as signed) as taken, moment as clock;
         else
             insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name, owner_role, shown_as,
                                      since, last_active, active_at, expires_at, ttl, idle_limit, hard_until)
             select asked_kind, asked_id, '',
                    1 + greatest(coalesce((select max(generation) from tenure_lock
                                            where kind = asked_kind and id = asked_id), 0),
                                 coalesce((select generation from tenure_lock_floor where kind = asked_kind), 0)),
                    asked_lock, ?, ?, ?, ?, moment, moment, moment, moment + length, length, ?, moment + ?
               from dual
              where not exists (select 1 from tenure_lock where kind = asked_kind and id = asked_id and slot = '')
                and not exists (select 1 from tenure_lock_history where lock_hash = asked_lock);
             select if(row_count() = 1 and lock_hash = asked_lock, generation, null) as taken, moment as clock, ",
    lease_columns!(),
    " from tenure_lock where kind = asked_kind and id = asked_id and slot = '';
         end if;
         commit;
     end"
);

async fn take(
    connections: &Connections,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<Option<LockAnswer>, DatabaseError> {
    let LockRequest { key, lock, owner, policy, .. } = request;
    let mut take = Statement::new(TAKE).bind(key.kind().as_bytes()).bind(key.id().as_bytes());
    take = take.bind(&lock[..]).bind(millis(policy.ttl)).bind(now);
    for _ in ["update", "insert"] {
        take = take.bind(&*owner.id).bind(&*owner.name).bind(owner.role.as_deref());
        take = take.bind(policy.shown.stored()).bind(policy.idle.map(millis)).bind(millis(policy.limit));
    }
    let rows = connections.acquire_for_leases().await?.close_with(take).await.map_err(committing)?;
    let Some(row) = rows.first() else { return Ok(None) };
    match row.try_get("taken").map_err(classify)? {
        Some(generation) => {
            let moment = row.try_get("clock").map_err(classify)?;
            Ok(Some(LockAnswer::Yours(request.granted(generation, moment))))
        }
        // A repeated request with the same lock id also counts as a heartbeat.
        None => Ok(to(request, &Seen::read(row)?).filter(|answer| matches!(answer, LockAnswer::Held { .. }))),
    }
}

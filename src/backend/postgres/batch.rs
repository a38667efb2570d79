//! Many questions to the lock table in one statement: one round trip, one flush, one moment.
//!
//! Only what needs no waiting is answered here. Rows that somebody has locked (a save under a lease) are skipped, and so is
//! whatever calls for an explanation; those are asked alone, as in [`lock`](super::lock). The time is read once, so a
//! row is either alive, and changed, or not, and taken: never both.

use std::collections::HashMap;

use sqlx::Row;
use sqlx::postgres::PgRow;

use super::errors::classify;
use super::leases::{StoredLease, lease};
use super::pools::Pools;
use crate::backend::{LockAnswer, LockOp, LockRequest, Proof};
use crate::clock::millis;
use crate::error::DatabaseError;

/// The time, read once; and the longest wait, for this statement alone: whoever has made a row and not committed it yet does
/// so in a moment, unless they stand still.
macro_rules! clock {
    () => {
        "with clock as materialized (select tenure_now($1) as now, set_config('lock_timeout', '1000', true) as patience)"
    };
}

/// Leases to take. Each row is looked for once and then found by its place, and nothing is joined to the questions again:
/// without an index, that would take the square of their number. New rows are made in the order of their keys, so that two
/// batches cannot wait for each other in a circle.
macro_rules! take {
    () => {
        ", asked as materialized (
            select * from unnest($2::bigint[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::text[], $8::bigint[],
                                 $9::bigint[], $10::text[], $11::bigint[], $12::bigint[])
                   as asked (op, kind, id, lock_hash, owner_id, owner_name, ttl, most, owner_role, shown_as, idle_limit)
             where (select true from tenure_lock_history past where past.lock_hash = asked.lock_hash) is null
        ), known as materialized (
            select asked.*, l.ctid as place, not l.ended and l.expires_at > clock.now as alive, l.shared
              from clock, asked left join tenure_lock l on l.kind = asked.kind and l.id = asked.id and l.slot = ''
        ), free as (
            select l.*, known.place, known.lock_hash as to_hash, known.owner_id as to_id, known.owner_name as to_name,
                   known.owner_role as to_role, known.shown_as as to_shown, known.ttl as to_ttl,
                   known.idle_limit as to_idle, known.most
              from known join tenure_lock l on l.ctid = known.place, clock
             where not known.alive and not l.shared and (l.ended or l.expires_at <= clock.now)
               and l.lock_hash <> known.lock_hash
               for update of l skip locked
        ), expired as (
            insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                             since, ended_at, how, idle)
            select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, expires_at,
                   'expired', coalesce(expires_at >= active_at + idle_limit, false)
              from free where not ended
                on conflict (lock_hash) do nothing
        ), taken as (
            update tenure_lock l
               set generation = l.generation + 1, lock_hash = to_hash, owner_id = to_id, owner_name = to_name,
                   owner_role = to_role, shown_as = to_shown, since = clock.now, last_active = clock.now,
                   active_at = clock.now, expires_at = clock.now + to_ttl, ttl = to_ttl, idle_limit = to_idle,
                   hard_until = clock.now + most, ended = false
              from free, clock
             where l.ctid = free.place
            returning l.*
        ), made as (
            insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name, owner_role, shown_as,
                                     since, last_active, active_at, expires_at, ttl, idle_limit, hard_until)
            select known.kind, known.id, '',
                   1 + greatest((select max(generation) from tenure_lock l
                                  where l.kind = known.kind and l.id = known.id),
                                (select generation from tenure_lock_floor floor where floor.kind = known.kind), 0),
                   known.lock_hash, known.owner_id, known.owner_name, known.owner_role, known.shown_as,
                   clock.now, clock.now, clock.now, clock.now + known.ttl, known.ttl, known.idle_limit,
                   clock.now + known.most
              from known, clock
             where known.place is null
             order by known.kind, known.id
                on conflict do nothing
            returning *
        )"
    };
}

/// What became of them, to be told by their lock ids; also who holds a key that was not free.
macro_rules! taken {
    () => {
        "select null::bigint as op, taken.*, clock.now from taken, clock
         union all
         select null::bigint, made.*, clock.now from made, clock
         union all
         select known.op, l.*, clock.now
           from known join tenure_lock l on l.ctid = known.place, clock
          where known.alive and l.lock_hash <> known.lock_hash"
    };
}

/// Live leases to check (verb 0), keep alive (1), extend (2), let expire (3) or release (4). No sum gets too large, also
/// where somebody edited a time to live: one error would fail all of them.
macro_rules! change {
    ($op:literal, $hash:literal, $owner:literal, $verb:literal, $by:literal) => {
        concat!(
            ", shown as materialized (
            select * from unnest(",
            $op, "::bigint[], ", $hash, "::bytea[], ", $owner, "::text[], ", $verb, "::int[], ", $by, "::bigint[])
                   as shown (op, lock_hash, owner_id, verb, by)
        ), held as (
            select shown.op, shown.verb, shown.by, l.ctid as place, least(l.ttl, 100000000000000) as ttl
              from shown join tenure_lock l on l.lock_hash = shown.lock_hash, clock
             where shown.verb > 0 and not l.ended and l.expires_at > clock.now
               and (shown.owner_id is null or l.owner_id = shown.owner_id)
               for no key update of l skip locked
        ), changed as (
            update tenure_lock l
               set last_active = case when held.verb < 3 then clock.now else l.last_active end,
                   active_at = case held.verb
                       when 1 then greatest(l.active_at, clock.now - held.by)
                       when 2 then clock.now
                       else l.active_at end,
                   expires_at = case held.verb
                       when 1 then greatest(l.expires_at, least(clock.now + held.ttl, l.hard_until,
                                                                greatest(l.active_at, clock.now - held.by) + l.idle_limit))
                       when 2 then greatest(l.expires_at, least(least(l.expires_at, clock.now + held.ttl) + held.by,
                                                                clock.now + held.ttl, l.hard_until))
                       when 3 then least(l.expires_at, clock.now + held.by)
                       else l.expires_at end,
                   ended = held.verb = 4
              from held, clock
             where l.ctid = held.place
            returning held.op, l.*
        ), released as (
            insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                             since, ended_at, how)
            select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, clock.now, 'released'
              from changed, clock where ended
        )"
        )
    };
}

macro_rules! changed {
    () => {
        "select changed.*, clock.now from changed, clock
         union all
         select shown.op, l.*, clock.now
           from shown join tenure_lock l on l.lock_hash = shown.lock_hash, clock
          where shown.verb = 0 and not l.ended and l.expires_at > clock.now
            and (shown.owner_id is null or l.owner_id = shown.owner_id)"
    };
}

const TAKE: &str = concat!(clock!(), take!(), taken!());
const CHANGE: &str = concat!(clock!(), change!("$2", "$3", "$4", "$5", "$6"), changed!());
const BOTH: &str =
    concat!(clock!(), take!(), change!("$13", "$14", "$15", "$16", "$17"), taken!(), " union all ", changed!());

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
            LockOp::KeepAlive(proof, idle) => shown.push(at, proof, 1, millis((*idle).min(super::lock::CENTURY))),
            LockOp::Extend(proof, by) => shown.push(at, proof, 2, millis((*by).min(super::lock::CENTURY))),
            LockOp::ExpireWithin(proof, within) => {
                shown.push(at, proof, 3, millis((*within).min(super::lock::CENTURY)))
            }
            LockOp::Release(proof) => shown.push(at, proof, 4, 0),
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
    let mut connection = pools.for_batch().await?;
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

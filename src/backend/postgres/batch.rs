//! Many questions to the lock table in one statement: one round trip, one flush, one moment.
//!
//! Only what needs no waiting is answered here. Rows that somebody has locked (a save under a lease) are skipped, and so is
//! whatever calls for an explanation; those are asked alone, as in [`lock`](super::lock). The time is read once, so a
//! row is either alive, and changed, or not, and taken: never both.

use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row};

use super::errors::classify;
use super::leases::{StoredLease, lease};
use crate::backend::{LockAnswer, LockOp, LockRequest, Proof};
use crate::clock::millis;
use crate::error::DatabaseError;

macro_rules! clock {
    () => {
        "with clock as materialized (select tenure_now($1) as now)"
    };
}

/// Leases to take, in the order of their keys, so that two batches cannot wait for each other's new rows in a circle.
macro_rules! take {
    () => {
        ", asked as materialized (
            select * from unnest($2::bigint[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::text[], $8::bigint[],
                                 $9::bigint[])
                   as asked (op, kind, id, lock_hash, owner_id, owner_name, ttl, most)
             where not exists (select 1 from tenure_lock_history past where past.lock_hash = asked.lock_hash)
        ), free as (
            select asked.op, l.kind, l.id, l.slot, l.lock_hash, l.generation, l.owner_id, l.owner_name, l.since,
                   l.expires_at, l.ended
              from asked join tenure_lock l on l.kind = asked.kind and l.id = asked.id and l.slot = '', clock
             where (l.ended or l.expires_at <= clock.now) and l.lock_hash <> asked.lock_hash
               for update of l skip locked
        ), expired as (
            insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, since, ended_at, how)
            select lock_hash, kind, id, generation, owner_id, owner_name, since, expires_at, 'expired'
              from free where not ended
                on conflict (lock_hash) do nothing
        ), taken as (
            update tenure_lock l
               set generation = l.generation + 1, lock_hash = asked.lock_hash, owner_id = asked.owner_id,
                   owner_name = asked.owner_name, since = clock.now, last_active = clock.now,
                   expires_at = clock.now + asked.ttl, ttl = asked.ttl, hard_until = clock.now + asked.most, ended = false
              from free join asked on asked.op = free.op, clock
             where l.kind = free.kind and l.id = free.id and l.slot = free.slot
            returning asked.op, l.*
        ), made as (
            insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name,
                                     since, last_active, expires_at, ttl, hard_until)
            select asked.kind, asked.id, '',
                   1 + coalesce((select max(generation) from tenure_lock l
                                  where l.kind = asked.kind and l.id = asked.id), 0),
                   asked.lock_hash, asked.owner_id, asked.owner_name, clock.now, clock.now, clock.now + asked.ttl,
                   asked.ttl, clock.now + asked.most
              from asked, clock
             where not exists (select 1 from tenure_lock l
                                where l.kind = asked.kind and l.id = asked.id and l.slot = '')
             order by asked.kind, asked.id
                on conflict do nothing
            returning *
        )"
    };
}

/// What became of them; also who holds a key that was not free.
macro_rules! taken {
    () => {
        "select taken.*, clock.now from taken, clock
         union all
         select asked.op, made.*, clock.now from made join asked on asked.kind = made.kind and asked.id = made.id, clock
         union all
         select asked.op, l.*, clock.now
           from asked join tenure_lock l on l.kind = asked.kind and l.id = asked.id and l.slot = '', clock
          where not l.ended and l.expires_at > clock.now and l.lock_hash <> asked.lock_hash"
    };
}

/// Live leases to check (verb 0), keep alive (1), extend (2), let expire (3) or release (4).
macro_rules! change {
    ($op:literal, $hash:literal, $owner:literal, $verb:literal, $by:literal) => {
        concat!(
            ", shown as materialized (
            select * from unnest(",
            $op, "::bigint[], ", $hash, "::bytea[], ", $owner, "::text[], ", $verb, "::int[], ", $by, "::bigint[])
                   as shown (op, lock_hash, owner_id, verb, by)
        ), held as (
            select shown.op, shown.verb, shown.by, l.kind, l.id, l.slot
              from shown join tenure_lock l on l.lock_hash = shown.lock_hash, clock
             where shown.verb > 0 and not l.ended and l.expires_at > clock.now
               and (shown.owner_id is null or l.owner_id = shown.owner_id)
               for no key update of l skip locked
        ), changed as (
            update tenure_lock l
               set last_active = case when held.verb < 3 then clock.now else l.last_active end,
                   expires_at = case held.verb
                       when 1 then greatest(l.expires_at, least(clock.now + l.ttl, l.hard_until))
                       when 2 then greatest(l.expires_at, least(l.expires_at + held.by, clock.now + l.ttl, l.hard_until))
                       when 3 then least(l.expires_at, clock.now + held.by)
                       else l.expires_at end,
                   ended = held.verb = 4
              from held, clock
             where l.kind = held.kind and l.id = held.id and l.slot = held.slot
            returning held.op, l.*
        ), released as (
            insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, since, ended_at, how)
            select lock_hash, kind, id, generation, owner_id, owner_name, since, clock.now, 'released'
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
    concat!(clock!(), take!(), change!("$10", "$11", "$12", "$13", "$14"), taken!(), " union all ", changed!());

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
    pool: &PgPool,
    ops: &[LockOp],
    now: Option<i64>,
) -> Result<Vec<Option<LockAnswer>>, DatabaseError> {
    let (mut asked, mut shown) = (Asked::default(), Shown::default());
    for (op, at) in ops.iter().zip(0..) {
        match op {
            // Advisory leases get their generations one after the other.
            LockOp::Take(request) if request.policy.exclusive => asked.push(at, request),
            LockOp::Take(_) => {}
            LockOp::Check(proof) => shown.push(at, proof, 0, 0),
            LockOp::KeepAlive(proof) => shown.push(at, proof, 1, 0),
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
        let Asked { op, kind, id, lock, owner_id, owner_name, ttl, most } = asked;
        query = query.bind(op).bind(kind).bind(id).bind(lock).bind(owner_id).bind(owner_name).bind(ttl).bind(most);
    }
    if some_shown {
        let Shown { op, lock, owner, verb, by } = shown;
        query = query.bind(op).bind(lock).bind(owner).bind(verb).bind(by);
    }
    let mut connection = pool.acquire().await.map_err(classify)?;
    let rows = query.fetch_all(&mut *connection).await.map_err(classify)?;
    let mut answers: Vec<Option<LockAnswer>> = ops.iter().map(|_| None).collect();
    for row in &rows {
        let at = usize::try_from(row.try_get::<i64, _>("op").map_err(classify)?).unwrap_or(usize::MAX);
        if let (Some(op), Some(answer)) = (ops.get(at), answers.get_mut(at)) {
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

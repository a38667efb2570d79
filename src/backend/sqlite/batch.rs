//! Many questions to the lock table in a few trips to the connection's thread, and one flush.
//!
//! First a reader is asked who holds what: a refusal and a check write nothing and wait for no writer. What is left goes to
//! the writer, in one transaction. The questions travel as one JSON text, so that a statement is one trip for all of them.

use std::collections::HashMap;
use std::sync::Arc;

use sqlx::sqlite::SqliteRow;
use sqlx::{SqliteConnection, SqlitePool};
use tokio::sync::Mutex;

use super::connection::{OpenTransaction, Writer};
use super::errors::{classify, is_busy};
use super::leases::{StoredLease, lease};
use super::lock::CENTURY;
use crate::backend::{LockAnswer, LockOp, LockRequest, Proof};
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::lock_mode::Wait;

/// Where the lock table is, and what time it is.
pub(super) struct Table<'t> {
    pub(super) readers: &'t SqlitePool,
    pub(super) writer: &'t Arc<Mutex<Writer>>,
    pub(super) now: &'t (dyn Fn() -> i64 + Send + Sync),
}

/// The keys that are asked for: what is in their rows.
const ASKED: &str = "
    select l.* from json_each(?1) as asked cross join tenure_lock as l
     where l.kind = asked.value ->> 0 and l.id = asked.value ->> 1 and l.slot = x''";

/// The lock ids that are shown: what is in their rows.
const SHOWN: &str = "
    select l.* from json_each(?1) as shown cross join tenure_lock as l on l.lock_hash = unhex(shown.value ->> 0)";

/// As in [`lock`](super::lock), but only over what has ended: ran-out leases have to be recorded before.
const TAKE: &str = "
    with asked as (
        select value ->> 0 as kind, value ->> 1 as id, unhex(value ->> 2) as lock_hash, value ->> 3 as owner_id,
               value ->> 4 as owner_name, value ->> 5 as ttl, value ->> 6 as most, value ->> 7 as owner_role,
               value ->> 8 as shown_as, value ->> 9 as idle_limit
          from json_each(?2))
    insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name, owner_role, shown_as,
                             since, last_active, active_at, expires_at, ttl, idle_limit, hard_until)
    select kind, id, x'',
           1 + max(coalesce((select max(l.generation) from tenure_lock as l
                              where l.kind = asked.kind and l.id = asked.id), 0),
                   coalesce((select floor.generation from tenure_lock_floor as floor where floor.kind = asked.kind), 0)),
           lock_hash, owner_id, owner_name, owner_role, shown_as, ?1, ?1, ?1, ?1 + ttl, ttl, idle_limit, ?1 + most
      from asked
     where not exists (select 1 from tenure_lock_history as past where past.lock_hash = asked.lock_hash)
        on conflict (kind, id, slot) do update set
           generation  = generation + 1,
           since       = excluded.since,
           hard_until  = excluded.hard_until,
           expires_at  = excluded.expires_at,
           lock_hash   = excluded.lock_hash,
           owner_id    = excluded.owner_id,
           owner_name  = excluded.owner_name,
           owner_role  = excluded.owner_role,
           shown_as    = excluded.shown_as,
           last_active = excluded.last_active,
           active_at   = excluded.active_at,
           ttl         = excluded.ttl,
           idle_limit  = excluded.idle_limit,
           ended       = 0
     where ended = 1 and shared = 0 and lock_hash <> excluded.lock_hash
    returning *";

/// Marks as ended, and records, what ran out on the keys that are asked for.
const RECORD_EXPIRED: &str = "
    insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                     since, ended_at, how, idle)
    select l.lock_hash, l.kind, l.id, l.generation, l.owner_id, l.owner_name, l.owner_role, l.shown_as,
           l.since, l.expires_at, 'expired', coalesce(l.expires_at >= l.active_at + l.idle_limit, 0)
      from json_each(?2) as asked cross join tenure_lock as l
     where l.kind = asked.value ->> 0 and l.id = asked.value ->> 1 and l.slot = x''
       and l.ended = 0 and l.expires_at <= ?1 and l.lock_hash <> unhex(asked.value ->> 2)
        on conflict (lock_hash) do nothing";

const END_EXPIRED: &str = "
    update tenure_lock set ended = 1
      from json_each(?2) as asked
     where tenure_lock.kind = asked.value ->> 0 and tenure_lock.id = asked.value ->> 1 and tenure_lock.slot = x''
       and tenure_lock.ended = 0 and tenure_lock.expires_at <= ?1
       and tenure_lock.lock_hash <> unhex(asked.value ->> 2)";

/// Keeps alive (verb 1), extends (2), lets expire (3) or releases (4) live leases.
const CHANGE: &str = "
    with shown as (
        select unhex(value ->> 0) as lock_hash, value ->> 1 as owner_id, value ->> 2 as verb, value ->> 3 as by
          from json_each(?2))
    update tenure_lock
       set last_active = iif(shown.verb < 3, ?1, last_active),
           active_at = iif(shown.verb < 3, max(active_at, ?1 - iif(shown.verb = 1, shown.by, 0)), active_at),
           expires_at = case shown.verb
               when 1 then max(expires_at, min(?1 + ttl, hard_until,
                                               coalesce(max(active_at, ?1 - shown.by) + idle_limit, hard_until)))
               when 2 then max(expires_at, min(expires_at + shown.by, ?1 + ttl, hard_until))
               when 3 then min(expires_at, ?1 + shown.by)
               else expires_at end,
           ended = shown.verb = 4
      from shown
     where tenure_lock.lock_hash = shown.lock_hash and ended = 0 and expires_at > ?1
       and (shown.owner_id is null or tenure_lock.owner_id = shown.owner_id)
    returning *";

const RECORD_RELEASED: &str = "
    insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                     since, ended_at, how)
    select l.lock_hash, l.kind, l.id, l.generation, l.owner_id, l.owner_name, l.owner_role, l.shown_as,
           l.since, ?1, 'released'
      from json_each(?2) as shown cross join tenure_lock as l on l.lock_hash = unhex(shown.value ->> 0)
     where shown.value ->> 2 = 4 and l.ended = 1
        on conflict (lock_hash) do nothing";

impl Table<'_> {
    /// Answers what can be answered without waiting for anybody's editing.
    pub(super) async fn run(&self, ops: &[LockOp]) -> Result<Vec<Option<LockAnswer>>, DatabaseError> {
        let mut round = Round::new(ops);
        let ran_out = round.read(self).await?;
        round.write(self, ran_out).await?;
        Ok(round.answers)
    }
}

/// Questions, and the answers so far.
struct Round<'o> {
    ops: &'o [LockOp],
    answers: Vec<Option<LockAnswer>>,
    by_key: HashMap<&'o LockKey, usize>,
    by_lock: HashMap<&'o [u8], Vec<usize>>,
}

impl<'o> Round<'o> {
    fn new(ops: &'o [LockOp]) -> Self {
        let (mut by_key, mut by_lock) = (HashMap::new(), HashMap::<_, Vec<_>>::new());
        for (at, op) in ops.iter().enumerate() {
            if let LockOp::Take(request) = op {
                by_key.insert(&request.key, at);
            }
            by_lock.entry(&op.lock()[..]).or_default().push(at);
        }
        Round { ops, answers: ops.iter().map(|_| None).collect(), by_key, by_lock }
    }

    /// Asks a reader: who is refused, and what is only checked. Whether a lease ran out on any key that is asked for.
    async fn read(&mut self, table: &Table<'_>) -> Result<bool, DatabaseError> {
        let asked: Vec<_> = self.asked().map(|(_, asked)| (asked.key.kind(), asked.key.id())).collect();
        let shown: Vec<_> = self.checks().map(|(_, proof)| [hex(&proof.lock)]).collect();
        if asked.is_empty() && shown.is_empty() {
            return Ok(false);
        }
        let mut reader = table.readers.acquire().await.map_err(classify)?;
        let mut ran_out = false;
        if !asked.is_empty() {
            let rows = fetch(&mut reader, ASKED, None, &asked).await?;
            let now = (table.now)();
            for row in &rows {
                let StoredLease { holder, lock, alive, reserved, .. } = lease(row, now)?;
                ran_out |= !alive;
                // A reservation calls for an explanation, or is for whoever asks: they ask alone.
                let held = alive && !reserved;
                if let Some(&at) = self.by_key.get(&holder.key).filter(|at| held && self.ops[**at].lock()[..] != lock) {
                    self.answers[at] = Some(LockAnswer::Held { holder, lock });
                }
            }
        }
        if !shown.is_empty() {
            let rows = fetch(&mut reader, SHOWN, None, &shown).await?;
            let now = (table.now)();
            for row in &rows {
                self.confirm(lease(row, now)?);
            }
        }
        Ok(ran_out)
    }

    /// Takes and changes what is left, in one transaction.
    async fn write(&mut self, table: &Table<'_>, ran_out: bool) -> Result<(), DatabaseError> {
        let taking: Vec<_> = self.asked().filter(|(at, _)| self.answers[*at].is_none()).map(taken).collect();
        let changing: Vec<_> = self.ops.iter().filter_map(changed).collect();
        let (take, change) = (!taking.is_empty(), !changing.is_empty());
        if take && !change && taking.len() == 1 && !ran_out {
            return self.take_alone(table, &taking).await;
        }
        if !take && !change {
            return Ok(());
        }
        let mut open = OpenTransaction::immediate(table.writer, Wait::default()).await?;
        let (now, connection) = ((table.now)(), open.connection());
        if change {
            let rows = fetch(connection, CHANGE, Some(now), &changing).await?;
            for row in &rows {
                self.confirm(lease(row, now)?);
            }
            if changing.iter().any(|(.., verb, _)| *verb == 4) {
                fetch(connection, RECORD_RELEASED, Some(now), &changing).await?;
            }
        }
        if take {
            if ran_out {
                fetch(connection, RECORD_EXPIRED, Some(now), &taking).await?;
                fetch(connection, END_EXPIRED, Some(now), &taking).await?;
            }
            let rows = fetch(connection, TAKE, Some(now), &taking).await?;
            for row in &rows {
                self.confirm(lease(row, now)?);
            }
        }
        open.commit(None).await
    }

    /// One caller alone, on a key that nobody held: one statement, which is a transaction of its own.
    async fn take_alone(&mut self, table: &Table<'_>, taking: &[impl serde::Serialize]) -> Result<(), DatabaseError> {
        let mut writer = Writer::alone(table.writer, Wait::default()).await?;
        let taken = fetch_raw(writer.connection().await?, TAKE, Some((table.now)()), taking).await;
        let rows = match taken {
            Ok(rows) => rows,
            // Another process writes: whoever asks again waits in its turn.
            Err(error) if is_busy(&error) => return Ok(()),
            Err(error) => return Err(classify(error)),
        };
        // Read again, because another process may have been waited for.
        let now = (table.now)();
        for row in &rows {
            self.confirm(lease(row, now)?);
        }
        Ok(())
    }

    /// A live lease answers whoever showed its lock id, or took it.
    fn confirm(&mut self, StoredLease { holder, lock, alive, .. }: StoredLease) {
        for &at in self.by_lock.get(&lock[..]).into_iter().flatten() {
            // A row that was released, or is to expire at once, answers whoever did that.
            let theirs = match &self.ops[at] {
                LockOp::Take(_) => alive,
                LockOp::Release(proof) | LockOp::ExpireWithin(proof, _) => proof.is_by(&holder.owner.id),
                LockOp::Check(proof) | LockOp::KeepAlive(proof, _) | LockOp::Extend(proof, _) => {
                    alive && proof.is_by(&holder.owner.id)
                }
            };
            if theirs {
                self.answers[at] = Some(LockAnswer::Yours(holder.clone()));
            }
        }
    }

    /// Exclusive leases that are asked for. (Those beside each other get their generations one after the other.)
    fn asked(&self) -> impl Iterator<Item = (usize, &'o LockRequest)> + use<'o> {
        self.ops.iter().enumerate().filter_map(|(at, op)| match op {
            LockOp::Take(request) if request.is_alone() => Some((at, request)),
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

/// A lease to take, as JSON.
fn taken((_, request): (usize, &LockRequest)) -> impl serde::Serialize + use<'_> {
    let LockRequest { key, lock, owner, policy, .. } = request;
    let (ttl, most, idle) = (millis(policy.ttl), millis(policy.limit), policy.idle.map(millis));
    let (role, shown) = (owner.role.as_deref(), policy.shown.stored());
    (key.kind(), key.id(), hex(lock), &*owner.id, &*owner.name, ttl, most, role, shown, idle)
}

/// A lease to change, as JSON.
fn changed(op: &LockOp) -> Option<(String, Option<&str>, i32, i64)> {
    let (proof, verb, by) = match op {
        LockOp::Take(_) | LockOp::Check(_) => return None,
        LockOp::KeepAlive(proof, idle) => (proof, 1, millis((*idle).min(CENTURY))),
        LockOp::Extend(proof, by) => (proof, 2, millis((*by).min(CENTURY))),
        LockOp::ExpireWithin(proof, within) => (proof, 3, millis((*within).min(CENTURY))),
        LockOp::Release(proof) => (proof, 4, 0),
    };
    Some((hex(&proof.lock), proof.owner.as_deref(), verb, by))
}

fn hex(lock: &[u8]) -> String {
    lock.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn fetch(
    connection: &mut SqliteConnection,
    statement: &'static str,
    now: Option<i64>,
    of: &[impl serde::Serialize],
) -> Result<Vec<SqliteRow>, DatabaseError> {
    fetch_raw(connection, statement, now, of).await.map_err(classify)
}

/// Binds the time, if the statement wants it, and what it is about.
async fn fetch_raw(
    connection: &mut SqliteConnection,
    statement: &'static str,
    now: Option<i64>,
    of: &[impl serde::Serialize],
) -> Result<Vec<SqliteRow>, sqlx::Error> {
    let of = serde_json::to_string(of).map_err(|error| sqlx::Error::Encode(error.into()))?;
    let query = sqlx::query(statement);
    let query = match now {
        Some(now) => query.bind(now),
        None => query,
    };
    query.bind(of).fetch_all(connection).await
}

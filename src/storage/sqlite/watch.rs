//! Polling keys, and the queue of waiters. `?1` is `now` in every statement with a time.

use async_trait::async_trait;

use super::Sqlite;
use super::errors::classify;
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::lease::seen::Seen;
use crate::storage::watching::{Look, PLACE_TTL, SWEPT_AFTER, Ticket, WatchRow, Watching};
use crate::storage::{LockHash, patience};

/// One statement, so that its rows are consistent: a new holder and the history entry of the former one are seen together.
const LOOK: &str = "
    with look as (select value ->> 0 as kind, value ->> 1 as id, value ->> 2 as after from json_each(?2))
    select 0 as what, ?1 as clock, l.kind, l.id, l.generation as number, l.lock_hash, l.slot = x'' as exclusive, l.owner_id,
           l.owner_name, l.owner_role, l.shown_as, l.since, l.last_active, l.active_at, l.expires_at, l.ttl,
           l.idle_limit, l.hard_until, l.ended, null as how,
           null as by_id, null as by_name, null as by_role, null as words
      from look cross join tenure_lock as l on l.kind = look.kind and l.id = look.id
    union all
    select 1, ?1, h.kind, h.id, h.generation, null, null, h.owner_id, h.owner_name, h.owner_role, h.shown_as, h.since, null, null,
           h.ended_at, null, h.idle, h.limited, 1, h.how, h.by_id, h.by_name, h.by_role, h.reason
      from look cross join tenure_lock_history as h
        on h.kind = look.kind and h.id = look.id and h.generation > look.after
    union all
    select 3, ?1, v.kind, v.id, max(v.version), null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
           null, null, null, null
      from look cross join tenure_revision as v on v.kind = look.kind and v.id = look.id
     group by v.kind, v.id
    union all
    select 4, ?1, w.kind, w.id, min(w.ticket), null, null, null, null, null, null, null, null, null, null, null, null, null,
           count(*), null, null, null, null, null
      from look cross join tenure_lock_waiter as w on w.kind = look.kind and w.id = look.id and w.expires_at > ?1
     group by w.kind, w.id";

const IN_LINE: &str = "
    select exists (select 1 from tenure_lock_waiter where kind = ?2 and id = ?3 and expires_at > ?1)";

/// A repeated request with the same lock id keeps its place; one lock id waits for one key.
const ENTER: &str = "
    insert into tenure_lock_waiter (kind, id, lock_hash, owner_id, owner_name, process, waiter, expires_at, until)
    select ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?1 + ?9, ?1 + ?10
     where (select count(*) from tenure_lock_waiter where owner_id = ?5 and expires_at > ?1 and lock_hash <> ?4) < ?11
        on conflict (lock_hash) do update set
           kind = excluded.kind, id = excluded.id, process = excluded.process, waiter = excluded.waiter,
           expires_at = excluded.expires_at, until = max(until, excluded.until)
    returning ticket";

const LEAVE: &str = "delete from tenure_lock_waiter where lock_hash = ?1 and waiter = ?2";

const KEEP: &str = "update tenure_lock_waiter set expires_at = ?1 + ?3 where process = ?2";

const SWEEP: &str = "delete from tenure_lock_waiter where until < ?1 - ?2 and expires_at < ?1";

#[async_trait]
impl Watching for Sqlite {
    async fn look(&self, looks: &[Look]) -> Result<Vec<(LockKey, Seen)>, DatabaseError> {
        let keys: Vec<_> = looks.iter().map(|look| (look.key.kind(), look.key.id(), look.after)).collect();
        let keys = serde_json::to_string(&keys).map_err(|error| classify(sqlx::Error::Encode(error.into())))?;
        let mut reader = self.reader().await?;
        let rows = sqlx::query_as::<_, WatchRow>(LOOK).bind(self.now()).bind(keys).fetch_all(&mut *reader).await;
        Ok(rows.map_err(classify)?.into_iter().map(WatchRow::seen).collect())
    }

    async fn in_line(&self, key: &LockKey) -> Result<bool, DatabaseError> {
        let mut reader = self.reader().await?;
        let any = sqlx::query_scalar(IN_LINE).bind(self.now()).bind(key.kind()).bind(key.id());
        any.fetch_one(&mut *reader).await.map_err(classify)
    }

    async fn enter_line(&self, ticket: &Ticket) -> Result<Option<i64>, DatabaseError> {
        let mut transaction = self.write(patience::wait()).await?;
        let enter = sqlx::query_scalar(ENTER)
            .bind(self.now())
            .bind(ticket.key.kind())
            .bind(ticket.key.id())
            .bind(&ticket.lock[..])
            .bind(&ticket.owner.id)
            .bind(&ticket.owner.name)
            .bind(ticket.process)
            .bind(ticket.waiter)
            .bind(millis(PLACE_TTL))
            .bind(millis(ticket.within))
            .bind(ticket.most);
        let place = enter.fetch_optional(transaction.connection()).await.map_err(classify)?;
        transaction.commit(None).await?;
        Ok(place)
    }

    async fn leave_line(&self, lock: &LockHash, waiter: i64) -> Result<(), DatabaseError> {
        let mut transaction = self.write(patience::wait()).await?;
        let leave = sqlx::query(LEAVE).bind(&lock[..]).bind(waiter);
        leave.execute(transaction.connection()).await.map_err(classify)?;
        transaction.commit(None).await
    }

    async fn keep_places(&self, process: i64) -> Result<u64, DatabaseError> {
        let mut transaction = self.write(patience::wait()).await?;
        let now = self.now();
        let keep = sqlx::query(KEEP).bind(now).bind(process).bind(millis(PLACE_TTL));
        let kept = keep.execute(transaction.connection()).await.map_err(classify)?.rows_affected();
        let sweep = sqlx::query(SWEEP).bind(now).bind(millis(SWEPT_AFTER));
        sweep.execute(transaction.connection()).await.map_err(classify)?;
        transaction.commit(None).await?;
        Ok(kept)
    }
}

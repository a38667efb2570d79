//! Polling keys, and the queue of waiters. `$1` is the time of a test, or null, in every statement with a time.

use async_trait::async_trait;
use sqlx::PgConnection;
use sqlx::postgres::{PgListener, PgPoolOptions};

use super::errors::classify;
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::lease::seen::Seen;
use crate::storage::LockHash;
use crate::storage::watching::{Listener, Look, PLACE_TTL, SWEPT_AFTER, Ticket, WatchRow, Watching};

/// One statement, so that its rows are consistent: a new holder and the history entry of the former one are seen together.
const LOOK: &str = "
    with time as materialized (select tenure_now($1) as now),
         look as materialized (select * from unnest($2::text[], $3::text[], $4::bigint[]) as look (kind, id, after))
    select 0::bigint as what, time.now as clock, l.kind, l.id, l.generation as number, l.lock_hash,
           (l.slot = '')::int::bigint as exclusive, l.owner_id, l.owner_name, l.owner_role, l.shown_as::bigint as shown_as,
           l.since, l.last_active, l.active_at, l.expires_at, l.ttl,
           l.idle_limit, l.hard_until,
           l.ended::int::bigint as ended, null::text as how, null::text as by_id, null::text as by_name,
           null::text as by_role, null::text as words
      from time, look join tenure_lock l on l.kind = look.kind and l.id = look.id
    union all
    select 1, time.now, h.kind, h.id, h.generation, null, null, h.owner_id, h.owner_name, h.owner_role, h.shown_as, h.since, null,
           null, h.ended_at, null, h.idle::int::bigint, h.limited::int::bigint, 1, h.how, h.by_id, h.by_name, h.by_role, h.reason
      from time, look join tenure_lock_history h
        on h.kind = look.kind and h.id = look.id and h.generation > look.after
    union all
    select 3, time.now, look.kind, look.id, newest.version, null, null, null, null, null, null, null, null, null, null, null, null, null,
           null, null, null, null, null, null
      from time, look cross join lateral (select max(v.version) as version from tenure_revision v
                                           where v.kind = look.kind and v.id = look.id) newest
     where newest.version is not null
    union all
    select 4, time.now, w.kind, w.id, min(w.ticket), null, null, null, null, null, null, null, null, null, null, null, null, null,
           count(*), null, null, null, null, null
      from time, look join tenure_lock_waiter w on w.kind = look.kind and w.id = look.id
     where w.expires_at > time.now
     group by time.now, w.kind, w.id";

const IN_LINE: &str = "
    select exists (select from tenure_lock_waiter where kind = $2 and id = $3 and expires_at > tenure_now($1))";

/// A repeated request with the same lock id keeps its place; one lock id waits for one key.
const ENTER: &str = "
    insert into tenure_lock_waiter as w
           (kind, id, lock_hash, owner_id, owner_name, process, waiter, expires_at, until)
    select $2, $3, $4, $5, $6, $7, $8, tenure_now($1) + $9, tenure_now($1) + $10
     where (select count(*) from tenure_lock_waiter
             where owner_id = $5 and expires_at > tenure_now($1) and lock_hash <> $4) < $11
        on conflict (lock_hash) do update set
           kind = excluded.kind, id = excluded.id, process = excluded.process, waiter = excluded.waiter,
           expires_at = excluded.expires_at, until = greatest(w.until, excluded.until)
    returning ticket";

const LEAVE: &str = "delete from tenure_lock_waiter where lock_hash = $1 and waiter = $2";

/// In one order for all processes. It skips places that are locked, because their waiters are leaving or repeating their request; those
/// still exist.
const KEEP: &str = "
    with mine as materialized (
        select ticket from tenure_lock_waiter where process = $2 order by ticket for update skip locked
    ), kept as (
        update tenure_lock_waiter w set expires_at = tenure_now($1) + $3 from mine where w.ticket = mine.ticket
    )
    select count(*) from tenure_lock_waiter where process = $2";

const SWEEP: &str = "
    with gone as materialized (
        select ticket from tenure_lock_waiter
         where until < tenure_now($1) - $2 and expires_at < tenure_now($1) for update skip locked
    )
    delete from tenure_lock_waiter w using gone where w.ticket = gone.ticket";

/// Only if there are listeners: each holds the same advisory lock, shared.
const ANNOUNCE: &str = "
    select case when pg_try_advisory_xact_lock($1, $2) then false
                else pg_notify('tenure_lock', $3) is not null end";

const HEAR: &str = "select pg_advisory_lock_shared($1, $2)";

/// The advisory lock of listeners: 'tenu', 'hear'.
const LISTENERS: (i32, i32) = (0x7465_6e75, 0x6865_6172);

#[async_trait]
impl Watching for super::Postgres {
    async fn look(&self, looks: &[Look]) -> Result<Vec<(LockKey, Seen)>, DatabaseError> {
        let kinds: Vec<&str> = looks.iter().map(|look| look.key.kind()).collect();
        let ids: Vec<&str> = looks.iter().map(|look| look.key.id()).collect();
        let after: Vec<i64> = looks.iter().map(|look| look.after).collect();
        let look = sqlx::query_as::<_, WatchRow>(LOOK).bind(self.time.given()).bind(kinds).bind(ids).bind(after);
        let look = async |connection: &mut PgConnection| look.fetch_all(connection).await.map_err(classify);
        let rows = self.pools.ask(look).await?;
        Ok(rows.into_iter().map(WatchRow::seen).collect())
    }

    async fn in_line(&self, key: &LockKey) -> Result<bool, DatabaseError> {
        let any = sqlx::query_scalar(IN_LINE).bind(self.time.given()).bind(key.kind()).bind(key.id());
        self.pools.ask(async |connection| any.fetch_one(connection).await.map_err(classify)).await
    }

    async fn enter_line(&self, ticket: &Ticket) -> Result<Option<i64>, DatabaseError> {
        let enter = sqlx::query_scalar(ENTER)
            .bind(self.time.given())
            .bind(ticket.key.kind())
            .bind(ticket.key.id())
            .bind(&ticket.lock[..])
            .bind(&ticket.owner.id)
            .bind(&ticket.owner.name)
            .bind(ticket.process)
            .bind(ticket.waiter)
            .bind(millis(PLACE_TTL))
            .bind(millis(ticket.within))
            .bind(i64::from(ticket.most));
        self.pools.tell(async |connection| enter.fetch_optional(connection).await.map_err(classify)).await
    }

    async fn leave_line(&self, lock: &LockHash, waiter: i64) -> Result<(), DatabaseError> {
        let leave = sqlx::query(LEAVE).bind(&lock[..]).bind(waiter);
        self.pools.tell(async |connection| leave.execute(connection).await.map(drop).map_err(classify)).await
    }

    async fn keep_places(&self, process: i64) -> Result<u64, DatabaseError> {
        let keep = sqlx::query_scalar::<_, i64>(KEEP).bind(self.time.given()).bind(process).bind(millis(PLACE_TTL));
        let sweep = sqlx::query(SWEEP).bind(self.time.given()).bind(millis(SWEPT_AFTER));
        let keep = async |connection: &mut PgConnection| {
            let kept = keep.fetch_one(&mut *connection).await.map_err(classify)?;
            sweep.execute(connection).await.map_err(classify)?;
            Ok(kept)
        };
        let kept = self.pools.tell(keep).await?;
        Ok(u64::try_from(kept).unwrap_or(0))
    }

    fn announces(&self) -> bool {
        true
    }

    /// Never in the transaction of a lock: NOTIFY serializes the commits that contain one.
    async fn announce(&self, text: &str) -> Result<bool, DatabaseError> {
        let announce = sqlx::query_scalar(ANNOUNCE).bind(LISTENERS.0).bind(LISTENERS.1).bind(text);
        self.pools.tell(async |connection| announce.fetch_one(connection).await.map_err(classify)).await
    }

    async fn listen(&self) -> Result<Box<dyn Listener>, DatabaseError> {
        // A connection of its own: it is used as long as there are watchers, and those of the pool are for work.
        let options = (*self.pool.connect_options()).clone();
        let own = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
        let mut listener = PgListener::connect_with(&own).await.map_err(classify)?;
        listener.listen("tenure_lock").await.map_err(classify)?;
        let mut listening = Listening { listener };
        listening.be_known().await?;
        Ok(Box::new(listening))
    }
}

struct Listening {
    listener: PgListener,
}

impl Listening {
    /// Shows announcing processes that there is a listener.
    async fn be_known(&mut self) -> Result<(), DatabaseError> {
        let hear = sqlx::query(HEAR).bind(LISTENERS.0).bind(LISTENERS.1).execute(&mut self.listener).await;
        hear.map(drop).map_err(classify)
    }
}

#[async_trait]
impl Listener for Listening {
    async fn heard(&mut self) -> Result<Option<String>, DatabaseError> {
        match self.listener.try_recv().await.map_err(classify)? {
            Some(told) => Ok(Some(told.payload().to_owned())),
            None => {
                self.be_known().await?;
                Ok(None)
            }
        }
    }
}

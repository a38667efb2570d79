//! Polling keys, and the queue of waiters.

use async_trait::async_trait;
use sqlx::{FromRow, Row};

use super::batch::texts::hex;
use super::columns::clock;
use super::deadline::RowLock;
use super::errors::classify;
use super::session::{Session, Statement};
use super::{ATTEMPTS, MySql, again, deadline};
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::lease::seen::Seen;
use crate::storage::LockHash;
use crate::storage::watching::{Look, PLACE_TTL, SWEPT_AFTER, Ticket, WatchRow, Watching};

/// One statement, so that its rows are consistent: a new holder and the history entry of the former one are seen together. Values are part
/// of its text, as in a batch: prepared statements for every number of keys would evict the others from the cache.
fn look(looks: &[Look], now: Option<i64>) -> String {
    let key = |look: &Look| format!("({},{})", hex(look.key.kind().as_bytes()), hex(look.key.id().as_bytes()));
    let keys = looks.iter().map(key).collect::<Vec<_>>().join(",");
    let past = |look: &Look| {
        let (kind, id) = (hex(look.key.kind().as_bytes()), hex(look.key.id().as_bytes()));
        format!("(h.kind = {kind} and h.id = {id} and h.generation > {})", look.after)
    };
    // A key that is polled for the first time has no history to report.
    let past = looks.iter().filter(|look| look.after < i64::MAX).map(past).collect::<Vec<_>>().join(" or ");
    let past = if past.is_empty() { String::from("false") } else { past };
    let name = |table: &str| {
        format!("now.clock, convert({table}.kind using utf8mb4) as kind, convert({table}.id using utf8mb4) as id")
    };
    let now = format!("(select {} as clock) as now", time(now));
    format!(
        "select cast(0 as signed) as what, {lease}, l.generation as number, l.lock_hash, cast(l.slot = '' as signed) as exclusive, l.owner_id,
                l.owner_name, l.owner_role, cast(l.shown_as as signed) as shown_as, l.since, l.last_active, l.active_at,
                l.expires_at, l.ttl,
                l.idle_limit, l.hard_until,
                cast(l.ended as signed) as ended, null as how, null as by_id, null as by_name, null as by_role, null as words
           from {now} join tenure_lock as l where (l.kind, l.id) in ({keys})
         union all
         select 1, {history}, h.generation, null, null, h.owner_id, h.owner_name, h.owner_role, h.shown_as, h.since, null, null,
                h.ended_at, null, cast(h.idle as signed), cast(h.limited as signed), 1, h.how, h.by_id, h.by_name, h.by_role, h.reason
           from {now} join tenure_lock_history as h where {past}
         union all
         select 3, {revision}, max(v.version), null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
                null, null, null, null
           from {now} join tenure_revision as v where (v.kind, v.id) in ({keys}) group by now.clock, v.kind, v.id
         union all
         select 4, {waiter}, min(w.ticket), null, null, null, null, null, null, null, null, null, null, null, null, null, count(*),
                null, null, null, null, null
           from {now} join tenure_lock_waiter as w where (w.kind, w.id) in ({keys}) and w.expires_at > now.clock
          group by now.clock, w.kind, w.id",
        lease = name("l"),
        history = name("h"),
        revision = name("v"),
        waiter = name("w"),
    )
}

const IN_LINE: &str =
    concat!("select count(*) from tenure_lock_waiter where kind = ? and id = ? and expires_at > ", clock!("?"));

const PLACES: &str = concat!(
    "select count(*) from tenure_lock_waiter where owner_id = ? and lock_hash <> ? and expires_at > ",
    clock!("?")
);

/// A repeated request with the same lock id keeps its place; one lock id waits for one key.
const ENTER: &str = concat!(
    "insert into tenure_lock_waiter (kind, id, lock_hash, owner_id, owner_name, process, waiter, expires_at, until)
     values (?, ?, ?, ?, ?, ?, ?, ",
    clock!("?"),
    " + ?, ",
    clock!("?"),
    " + ?)
         on duplicate key update
            kind = values(kind), id = values(id), process = values(process), waiter = values(waiter),
            expires_at = values(expires_at), until = greatest(until, values(until))"
);

const TICKET: &str = "select ticket from tenure_lock_waiter where lock_hash = ?";

const LEAVE: &str = "delete from tenure_lock_waiter where lock_hash = ? and waiter = ?";

/// Read first, and then written by primary key, so that no place of another waiter is locked.
const MINE: &str = "select ticket from tenure_lock_waiter where process = ? order by ticket";

const KEEP: &str = concat!("update tenure_lock_waiter set expires_at = ", clock!("?"), " + ? where ticket = ?");

const GONE: &str = concat!(
    "select ticket from tenure_lock_waiter where until < ",
    clock!("?"),
    " - ? and expires_at < ",
    clock!("?"),
    " order by ticket"
);

const SWEEP: &str = "delete from tenure_lock_waiter where ticket = ?";

/// As [`clock!`], written into the text.
fn time(now: Option<i64>) -> String {
    now.map_or_else(|| "cast(unix_timestamp(sysdate(6)) * 1000 as signed)".into(), |now| now.to_string())
}

#[async_trait]
impl Watching for MySql {
    async fn look(&self, looks: &[Look]) -> Result<Vec<(LockKey, Seen)>, DatabaseError> {
        let mut reader = self.connections.acquire_for_one().await?;
        let rows = reader.read(look(looks, self.time.given())).await.map_err(classify)?;
        rows.iter().map(|row| WatchRow::from_row(row).map(WatchRow::seen).map_err(classify)).collect()
    }

    async fn in_line(&self, key: &LockKey) -> Result<bool, DatabaseError> {
        let mut reader = self.connections.acquire_for_one().await?;
        let any = Statement::new(IN_LINE).bind(key.kind().as_bytes()).bind(key.id().as_bytes()).bind(self.time.given());
        let row = reader.fetch_optional(any).await.map_err(classify)?;
        Ok(row.is_some_and(|row| row.try_get::<i64, _>(0).is_ok_and(|waiting| waiting > 0)))
    }

    async fn enter_line(&self, ticket: &Ticket) -> Result<Option<i64>, DatabaseError> {
        let now = self.time.given();
        let enter = async |session: &mut Session| {
            let lock = &ticket.lock[..];
            let places = Statement::new(PLACES).bind(ticket.owner.id.as_str()).bind(lock).bind(now);
            let places = session.fetch_optional(places).await.map_err(classify)?;
            if places.is_none_or(|row| row.try_get::<i64, _>(0).is_ok_and(|has| has >= i64::from(ticket.most))) {
                return Ok(None);
            }
            let enter = Statement::new(ENTER)
                .bind(ticket.key.kind().as_bytes())
                .bind(ticket.key.id().as_bytes())
                .bind(lock)
                .bind(ticket.owner.id.as_str())
                .bind(ticket.owner.name.as_str())
                .bind(ticket.process)
                .bind(ticket.waiter)
                .bind(now)
                .bind(millis(PLACE_TTL))
                .bind(now)
                .bind(millis(ticket.within));
            session.write(enter).await.map_err(classify)?;
            let number = session.fetch_optional(Statement::new(TICKET).bind(lock)).await.map_err(classify)?;
            number.map(|row| row.try_get(0).map_err(classify)).transpose()
        };
        again!(self.alone(|place| place.is_some(), enter).await)
    }

    async fn leave_line(&self, lock: &LockHash, waiter: i64) -> Result<(), DatabaseError> {
        let leave = async |session: &mut Session| {
            let leave = Statement::new(LEAVE).bind(&lock[..]).bind(waiter);
            session.write(leave).await.map(drop).map_err(classify)
        };
        again!(self.alone(|()| true, leave).await)
    }

    async fn keep_places(&self, process: i64) -> Result<u64, DatabaseError> {
        let now = self.time.given();
        let keep = async |session: &mut Session| {
            let mine = session.fetch_all(Statement::new(MINE).bind(process)).await.map_err(classify)?;
            for row in &mine {
                let ticket: i64 = row.try_get(0).map_err(classify)?;
                let keep = Statement::new(KEEP).bind(now).bind(millis(PLACE_TTL)).bind(ticket);
                session.write(keep).await.map_err(classify)?;
            }
            let gone = Statement::new(GONE).bind(now).bind(millis(SWEPT_AFTER)).bind(now);
            for row in session.fetch_all_locked(gone, RowLock::SkipLocked).await.map_err(classify)? {
                let ticket: i64 = row.try_get(0).map_err(classify)?;
                session.write(Statement::new(SWEEP).bind(ticket)).await.map_err(classify)?;
            }
            Ok(mine.len() as u64)
        };
        again!(self.alone(|_| true, keep).await)
    }
}

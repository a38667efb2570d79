//! The statements. `?1` is the time, `?2` the leases to acquire and `?3` the live leases to change, as JSON; the result is JSON too, each
//! row with the index of its request.

use sqlx::SqliteConnection;

use super::columns::Columns;
use super::parse;
use crate::db::sqlite::errors::classify;
use crate::error::DatabaseError;

/// A row of the lock table as [`Columns`], before or after its change.
macro_rules! columns {
    ($last_active:expr, $active_at:expr, $expires_at:expr, $ended:expr) => {
        concat!(
            "json_array(l.kind, l.id, l.generation, hex(l.lock_hash), l.owner_id, l.owner_name, l.owner_role, l.shown_as, ",
            "l.since, ", $last_active, ", ", $active_at, ", ", $expires_at, ", l.ttl, l.idle_limit, l.hard_until, ", $ended,
            ")"
        )
    };
}

/// The requested keys, and the presented lock ids.
const LOOK: &str = concat!(
    "select json_group_array(json(row)) from (
         select json_array(asked.value ->> 0, ",
    columns!("l.last_active", "l.active_at", "l.expires_at", "l.ended"),
    ") as row
           from json_each(?1) as asked cross join tenure_lock as l
          where l.kind = asked.value ->> 1 and l.id = asked.value ->> 2 and l.slot = x''
         union all
         select json_array(shown.value ->> 0, ",
    columns!("l.last_active", "l.active_at", "l.expires_at", "l.ended"),
    ")
           from json_each(?2) as shown cross join tenure_lock as l on l.lock_hash = unhex(shown.value ->> 1))"
);

/// The rows of requested keys and of presented lock ids.
pub(super) async fn look(
    reader: &mut SqliteConnection,
    asked: &str,
    shown: &str,
) -> Result<Vec<(usize, Columns)>, DatabaseError> {
    let rows = sqlx::query_scalar::<_, String>(LOOK).bind(asked).bind(shown).fetch_one(reader).await;
    parse(&rows.map_err(classify)?)
}

/// As the engine, but only for ended leases: expired ones have to be recorded before. (A repeated request in the same
/// millisecond with the same policy has the same result.)
macro_rules! take {
    () => {
        "
    with asked as (
        select value ->> 1 as kind, value ->> 2 as id, unhex(value ->> 3) as lock_hash, value ->> 4 as owner_id,
               value ->> 5 as owner_name, value ->> 6 as ttl, value ->> 7 as most, value ->> 8 as owner_role,
               value ->> 9 as shown_as, value ->> 10 as idle_limit
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
           generation  = generation + (lock_hash <> excluded.lock_hash),
           since       = excluded.since,
           hard_until  = excluded.hard_until,
           expires_at  = excluded.expires_at,
           lock_hash   = excluded.lock_hash,
           owner_id    = excluded.owner_id,
           owner_name  = excluded.owner_name,
           owner_role  = excluded.owner_role,
           shown_as    = excluded.shown_as,
           last_active = ?1 + (lock_hash = excluded.lock_hash),
           active_at   = excluded.active_at,
           ttl         = excluded.ttl,
           idle_limit  = excluded.idle_limit,
           ended       = 0
     where (ended = 1 and lock_hash <> excluded.lock_hash)
        or (ended = 0 and lock_hash = excluded.lock_hash and owner_id = excluded.owner_id
            and since = ?1 and expires_at = excluded.expires_at and ttl = excluded.ttl
            and hard_until = excluded.hard_until);

    select 'taken', json_group_array(json_array(asked.value ->> 0, l.generation))
      from json_each(?2) as asked cross join tenure_lock as l
     where l.kind = asked.value ->> 1 and l.id = asked.value ->> 2 and l.slot = x''
       and l.lock_hash = unhex(asked.value ->> 3) and l.owner_id = asked.value ->> 4
       and l.ended = 0 and l.since = ?1 and l.expires_at = ?1 + l.ttl
       and l.ttl = asked.value ->> 6 and l.hard_until = ?1 + (asked.value ->> 7)"
    };
}

/// Records expired leases on the requested keys, and marks them as ended. A lock id that was used before gets nothing, so it ends nothing:
/// the former holder may still resume that lease.
macro_rules! end_expired {
    () => {
        "
    insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                     since, ended_at, how, idle, limited)
    select l.lock_hash, l.kind, l.id, l.generation, l.owner_id, l.owner_name, l.owner_role, l.shown_as,
           l.since, l.expires_at, 'expired', coalesce(l.expires_at >= l.active_at + l.idle_limit, 0), l.expires_at >= l.hard_until
      from json_each(?2) as asked cross join tenure_lock as l
     where l.kind = asked.value ->> 1 and l.id = asked.value ->> 2 and l.slot = x''
       and l.ended = 0 and l.expires_at <= ?1 and l.lock_hash <> unhex(asked.value ->> 3)
       and not exists (select 1 from tenure_lock_history as past where past.lock_hash = unhex(asked.value ->> 3))
        on conflict (lock_hash) do nothing;

    update tenure_lock set ended = 1
      from json_each(?2) as asked
     where tenure_lock.kind = asked.value ->> 1 and tenure_lock.id = asked.value ->> 2 and tenure_lock.slot = x''
       and tenure_lock.ended = 0 and tenure_lock.expires_at <= ?1
       and tenure_lock.lock_hash <> unhex(asked.value ->> 3)
       and not exists (select 1 from tenure_lock_history as past where past.lock_hash = unhex(asked.value ->> 3))"
    };
}

/// The live leases of the presented lock ids, and their changes.
macro_rules! shown {
    ($table:literal) => {
        concat!(
            $table,
            ".lock_hash = unhex(shown.value ->> 1) and ",
            $table,
            ".ended = 0 and ",
            $table,
            ".expires_at > ?1
       and (shown.value ->> 2 is null or ",
            $table,
            ".owner_id = shown.value ->> 2)"
        )
    };
}
macro_rules! last_active {
    () => {
        "iif(shown.value ->> 3 < 3, ?1 + (since = ?1), last_active)"
    };
}
macro_rules! active_at {
    () => {
        "iif(shown.value ->> 3 < 3, max(active_at, ?1 - iif(shown.value ->> 3 = 1, shown.value ->> 4, 0)), active_at)"
    };
}
macro_rules! expires_at {
    () => {
        "case shown.value ->> 3
               when 1 then max(expires_at, min(?1 + min(ttl, 100000000000000), hard_until,
                               coalesce(max(active_at, ?1 - (shown.value ->> 4)) + min(idle_limit, 100000000000000), hard_until)))
               when 2 then max(expires_at, min(expires_at + (shown.value ->> 4), ?1 + min(ttl, 100000000000000), hard_until,
                               coalesce(max(active_at, ?1) + min(idle_limit, 100000000000000), hard_until)))
               when 3 then min(expires_at, ?1 + (shown.value ->> 4))
               else expires_at end"
    };
}

/// Keeps alive (verb 1), extends (2), lets expire (3) or releases (4) live leases. The result is computed before the change: afterwards
/// released leases cannot be distinguished from those that had ended.
macro_rules! change {
    ($record:expr) => {
        concat!(
            "
    select 'changed', json_group_array(json_array(shown.value ->> 0, ",
            columns!(last_active!(), active_at!(), expires_at!(), "shown.value ->> 3 = 4"),
            "))
      from json_each(?3) as shown cross join tenure_lock as l on ",
            shown!("l"),
            ";",
            $record,
            "
    update tenure_lock
       set last_active = ",
            last_active!(),
            ", active_at = ",
            active_at!(),
            ", expires_at = ",
            expires_at!(),
            ", ended = shown.value ->> 3 = 4
      from json_each(?3) as shown
     where ",
            shown!("tenure_lock")
        )
    };
}

macro_rules! record_released {
    () => {
        concat!(
            "
    insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                     since, ended_at, how)
    select l.lock_hash, l.kind, l.id, l.generation, l.owner_id, l.owner_name, l.owner_role, l.shown_as,
           l.since, ?1, 'released'
      from json_each(?3) as shown cross join tenure_lock as l on shown.value ->> 3 = 4 and ",
            shown!("l"),
            "
     where true
        on conflict (lock_hash) do nothing;"
        )
    };
}

macro_rules! transaction {
    ($inside:expr) => {
        ($inside, concat!("begin immediate;", $inside, "; commit"))
    };
}

/// The statements that run together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Acquire leases.
    Take,
    /// Acquire leases on keys of which some have expired leases, and run all other changes.
    TakeOver,
    /// Keep leases alive or shorten them.
    Keep,
    /// The same, and end some.
    Release,
    /// Change leases, then acquire others.
    Both,
}

impl Change {
    /// Its statements, for use inside a transaction, and as a transaction of their own.
    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Change::Take => transaction!(take!()),
            Change::Keep => transaction!(change!("")),
            Change::Release => transaction!(change!(record_released!())),
            Change::Both => transaction!(concat!(change!(record_released!()), ";", take!())),
            Change::TakeOver => {
                transaction!(concat!(change!(record_released!()), ";", end_expired!(), ";", take!()))
            }
        }
    }

    /// Inside an open transaction, or as one of its own, which is still open after an error. Returns the changed leases, as JSON.
    pub(super) async fn run(
        self,
        connection: &mut SqliteConnection,
        inside: bool,
        now: i64,
        taking: &str,
        changing: &str,
    ) -> Result<Vec<(String, String)>, sqlx::Error> {
        let (within, alone) = self.texts();
        let text = if inside { within } else { alone };
        sqlx::query_as(text).bind(now).bind(taking).bind(changing).fetch_all(connection).await
    }
}

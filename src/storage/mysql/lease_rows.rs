//! The tables of leases: statements that lock, read and write rows.
//!
//! Rows are sent as one JSON text, so that one statement with a constant text covers any number of them.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::Row;
use sqlx::mysql::MySqlRow;

use super::batch::texts::LEASE;
use super::columns::{clock, lease_columns, select_lease};
use super::errors::{classify, is_duplicate};
use super::session::{Session, Statement};
use crate::clock::millis;
use crate::db::RowLock;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::lease::engine::{Answer, LeaseRow, Operation, Place};
use crate::storage::leases::{self, Found, Hold, LeaseDatabase, LeaseRows, Ran, Trace, Which, Writes, lease};
use crate::storage::{LockHash, Slice, patience};

/// The tables of leases on a connection.
pub(super) struct LeaseTables<'s> {
    pub session: &'s mut Session,
    pub now: Option<i64>,
}

const IN_SLOT: &str = select_lease!("where kind = ? and id = ? and slot = ?");
pub(super) const BY_LOCK_ID: &str = select_lease!("where lock_hash = ?");

/// The subqueries read without locking, before the row is looked up. So the index of lock ids is not locked, and the row may belong to
/// another lock id by then.
const LOCK_BY_LOCK_ID: &str = select_lease!(
    "where kind = (select other.kind from tenure_lock as other where other.lock_hash = ?)
       and id = (select other.id from tenure_lock as other where other.lock_hash = ?)
       and slot = (select other.slot from tenure_lock as other where other.lock_hash = ?)"
);

const GENERATION: &str = select_lease!("where kind = ? and id = ? and generation = ? order by slot");
const SLOTS: &str = select_lease!("where kind = ? and id = ? and slot <> '' order by slot");
const KEY: &str = select_lease!("where kind = ? and id = ? order by slot");
const OWNER: &str = select_lease!("where owner_id = ? and not ended order by lock_hash");

/// As [`SLOTS`]. The condition is on the columns only, so that rows of live leases are not locked.
const ENDED_SLOTS: &str = concat!(
    "select ",
    clock!("?"),
    " as clock, ",
    lease_columns!(),
    " from tenure_lock where kind = ? and id = ? and slot <> '' and (ended or expires_at <= ",
    clock!("?"),
    ") order by slot"
);

const TRACE: &str = concat!(
    "select ",
    clock!("?"),
    " as clock, swept.generation as floor, {},
            past.lock_hash as past_lock_hash, convert(past.kind using utf8mb4) as past_kind,
            convert(past.id using utf8mb4) as past_id, past.generation as past_generation,
            past.owner_id as past_owner_id, past.owner_name as past_owner_name, past.owner_role as past_owner_role,
            past.shown_as as past_shown_as, past.since as past_since, past.ended_at as past_ended_at,
            past.how as past_how, past.by_id as past_by_id, past.by_name as past_by_name, past.by_role as past_by_role,
            past.reason as past_reason, past.idle as past_idle, past.limited as past_limited
       from (select 1) as one
       left join tenure_lock as l on l.lock_hash = ?
       left join tenure_lock_history as past on past.lock_hash = ?
       left join tenure_lock_floor as swept on swept.kind = ?"
);

/// A bound JSON text of rows of the lock table as rows `new`. The columns of the key are binary, so that the primary key finds them.
macro_rules! lease_json {
    () => {
        "(select cast(kind as binary) as kind, cast(id as binary) as id, unhex(slot) as slot, generation,
                 unhex(lock_hash) as lock_hash, owner_id, owner_name, owner_role, shown_as, since, last_active,
                 active_at, expires_at, ttl, idle_limit, hard_until, ended
            from json_table(?, '$[*]' columns (
                 kind varchar(255) character set utf8mb4 path '$.kind', id varchar(1024) character set utf8mb4 path '$.id',
                 slot varchar(64) path '$.slot', generation bigint path '$.generation',
                 lock_hash varchar(64) path '$.lock_hash', owner_id text character set utf8mb4 path '$.owner_id',
                 owner_name text character set utf8mb4 path '$.owner_name',
                 owner_role text character set utf8mb4 path '$.owner_role', shown_as bigint path '$.shown_as',
                 since bigint path '$.since', last_active bigint path '$.last_active',
                 active_at bigint path '$.active_at', expires_at bigint path '$.expires_at', ttl bigint path '$.ttl',
                 idle_limit bigint path '$.idle_limit', hard_until bigint path '$.hard_until',
                 ended tinyint path '$.ended')) as json limit 10000) as new"
    };
}

/// As [`lease_json!`], the keys of rows.
macro_rules! place_json {
    () => {
        "(select cast(kind as binary) as kind, cast(id as binary) as id, unhex(slot) as slot
            from json_table(?, '$[*]' columns (
                 kind varchar(255) character set utf8mb4 path '$.kind', id varchar(1024) character set utf8mb4 path '$.id',
                 slot varchar(64) path '$.slot')) as json limit 10000) as gone"
    };
}

/// The index is forced: a scan of a small table would wait for the rows of others.
const DELETE: &str = concat!(
    "delete l from ",
    place_json!(),
    " straight_join tenure_lock as l force index (primary)
                 on l.kind = gone.kind and l.id = gone.id and l.slot = gone.slot"
);

const RECORD: &str = "
    insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since,
                                     ended_at, how, by_id, by_name, by_role, reason, idle, limited)
    select unhex(lock_hash), kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, ended_at, how,
           by_id, by_name, by_role, reason, idle, limited
      from json_table(?, '$[*]' columns (
           lock_hash varchar(64) path '$.lock_hash', kind varchar(255) character set utf8mb4 path '$.kind',
           id varchar(1024) character set utf8mb4 path '$.id', generation bigint path '$.generation',
           owner_id text character set utf8mb4 path '$.owner_id',
           owner_name text character set utf8mb4 path '$.owner_name',
           owner_role text character set utf8mb4 path '$.owner_role', shown_as bigint path '$.shown_as',
           since bigint path '$.since', ended_at bigint path '$.ended_at', how varchar(16) path '$.how',
           by_id text character set utf8mb4 path '$.by_id', by_name text character set utf8mb4 path '$.by_name',
           by_role text character set utf8mb4 path '$.by_role', reason text character set utf8mb4 path '$.reason',
           idle tinyint path '$.idle', limited tinyint path '$.limited')) as new
        on duplicate key update tenure_lock_history.lock_hash = tenure_lock_history.lock_hash";

const UPDATE: &str = concat!(
    "update ",
    lease_json!(),
    " straight_join tenure_lock as l force index (primary)
            on l.kind = new.kind and l.id = new.id and l.slot = new.slot
        set l.generation = new.generation, l.lock_hash = new.lock_hash, l.owner_id = new.owner_id,
            l.owner_name = new.owner_name, l.owner_role = new.owner_role, l.shown_as = new.shown_as,
            l.since = new.since, l.last_active = new.last_active, l.active_at = new.active_at,
            l.expires_at = new.expires_at, l.ttl = new.ttl, l.idle_limit = new.idle_limit,
            l.hard_until = new.hard_until, l.ended = new.ended"
);

const INSERT: &str = concat!(
    "insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name, owner_role, shown_as,
                              since, last_active, active_at, expires_at, ttl, idle_limit, hard_until, ended)
     select kind, id, slot, generation, lock_hash, owner_id, owner_name, owner_role, shown_as, since, last_active,
            active_at, expires_at, ttl, idle_limit, hard_until, ended
       from ",
    lease_json!(),
    " order by kind, id, slot"
);

const FLOORS: &str = "
    insert into tenure_lock_floor (kind, generation)
    select highest.kind, highest.generation from
           (select kind, generation from json_table(?, '$[*]' columns (
                 kind varchar(255) character set utf8mb4 path '$.kind', generation bigint path '$.generation')) as json
             order by kind limit 10000) as highest
        on duplicate key update
           tenure_lock_floor.generation = greatest(tenure_lock_floor.generation, highest.generation)";

/// The expiry has no index, so a sweep reads all rows, in the order of the primary key. (`(kind, id, slot) > (?, ?, ?)` would not use the
/// index here.)
macro_rules! after {
    () => {
        "(kind > ? or (kind = ? and (id > ? or (id = ? and slot > ?)))) and (? is null or kind = ?)"
    };
}

const END_OF_SLICE: &str = concat!(
    "select convert(kind using utf8mb4) as kind, convert(id using utf8mb4) as id, slot from tenure_lock where ",
    after!(),
    " order by tenure_lock.kind, tenure_lock.id, slot limit 1 offset ?"
);

macro_rules! old {
    ($upto:literal) => {
        concat!(
            "select ",
            clock!("?"),
            " as clock, ",
            lease_columns!(),
            " from tenure_lock where ",
            after!(),
            $upto,
            " and expires_at <= ",
            clock!("?"),
            " - ? order by tenure_lock.kind, tenure_lock.id, slot"
        )
    };
}

/// The end of the slice is a condition of its own; otherwise the primary key could not use it.
const OLD: &str = old!(" and (kind < ? or (kind = ? and (id < ? or (id = ? and slot <= ?))))");
const OLD_OF_LAST_SLICE: &str = old!("");

/// Binds the values of [`after!`].
fn after(statement: Statement, slice: &Slice<'_>, after: &Place) -> Statement {
    let (of, id, kind) = (after.key.kind().as_bytes(), after.key.id().as_bytes(), slice.kind.map(str::as_bytes));
    statement.bind(of).bind(of).bind(id).bind(id).bind(&after.slot[..]).bind(kind).bind(kind)
}

impl Hold {
    /// Never a shared lock: the same transaction may change the row next, and two transactions that share it would then deadlock; so would a
    /// heartbeat that waits for it.
    fn row_lock(self) -> RowLock {
        match self {
            Hold::No => RowLock::None,
            Hold::Guard | Hold::Change | Hold::Replace => RowLock::Update,
        }
    }
}

impl LeaseTables<'_> {
    async fn fetch<T>(
        &mut self,
        select: Statement,
        lock: RowLock,
        read: fn(&MySqlRow) -> Result<T, sqlx::Error>,
    ) -> Result<Found<T>, DatabaseError> {
        let rows = self.session.fetch_all_locked(select, lock).await.map_err(classify)?;
        let mut found = Found { rows: Vec::with_capacity(rows.len()), clock: None };
        for row in &rows {
            found.rows.push(read(row).map_err(classify)?);
            found.clock = found.clock.max(Some(row.try_get("clock").map_err(classify)?));
        }
        Ok(found)
    }

    fn of_key(&self, select: &'static str, key: &LockKey) -> Statement {
        Statement::new(select).bind(self.now).bind(key.kind().as_bytes()).bind(key.id().as_bytes())
    }

    fn of_place(&self, place: &Place) -> Statement {
        self.of_key(IN_SLOT, &place.key).bind(&place.slot[..])
    }

    /// Finds rows by another index without a lock, and then locks each by its primary key: a locking search would lock the index before the
    /// rows, and a takeover locks them in the other order.
    async fn lock_each(&mut self, select: Statement, lock: RowLock) -> Result<Found<LeaseRow>, DatabaseError> {
        let seen = self.fetch(select, RowLock::None, lease).await?;
        if lock == RowLock::None {
            return Ok(seen);
        }
        let mut found = Found { rows: Vec::with_capacity(seen.rows.len()), clock: seen.clock };
        for row in seen.rows {
            let locked = self.fetch(self.of_place(&row.place), lock, lease).await?;
            found.rows.extend(locked.rows);
            found.clock = found.clock.max(locked.clock);
        }
        Ok(found)
    }

    async fn select(&mut self, which: Which<'_>, lock: RowLock) -> Result<Found<LeaseRow>, DatabaseError> {
        let select = match which {
            Which::Exclusive(key) | Which::ExclusiveOf(key, _) => self.of_place(&Place::exclusive(key)),
            Which::Generation(key, generation) => {
                return self.lock_each(self.of_key(GENERATION, key).bind(generation), lock).await;
            }
            Which::Slots(key) => self.of_key(SLOTS, key),
            Which::EndedSlots(key) => {
                let lock = if lock == RowLock::None { lock } else { RowLock::SkipLocked };
                return self.fetch(self.of_key(ENDED_SLOTS, key).bind(self.now), lock, lease).await;
            }
            Which::Old { slice, after: place, upto } => {
                let old = Statement::new(if upto.is_some() { OLD } else { OLD_OF_LAST_SLICE }).bind(self.now);
                let mut old = after(old, slice, place);
                if let Some(Place { key, slot }) = upto {
                    let (of, id) = (key.kind().as_bytes(), key.id().as_bytes());
                    old = old.bind(of).bind(of).bind(id).bind(id).bind(&slot[..]);
                }
                let lock = if lock == RowLock::None { lock } else { RowLock::SkipLocked };
                return self.fetch(old.bind(self.now).bind(millis(slice.older_than)), lock, lease).await;
            }
            Which::Key(key) => self.of_key(KEY, key),
            Which::Lock(hash) if lock == RowLock::None => Statement::new(BY_LOCK_ID).bind(self.now).bind(&hash[..]),
            Which::Lock(hash) => {
                let select =
                    Statement::new(LOCK_BY_LOCK_ID).bind(self.now).bind(&hash[..]).bind(&hash[..]).bind(&hash[..]);
                let mut found = self.fetch(select, lock, lease).await?;
                // It may belong to another lock id since the subqueries found it.
                found.rows.retain(|row| row.lock == hash);
                return Ok(found);
            }
            Which::Owner(owner) => {
                return self.lock_each(Statement::new(OWNER).bind(self.now).bind(owner), lock).await;
            }
        };
        self.fetch(select, lock, lease).await
    }
}

#[async_trait]
impl LeaseRows for LeaseTables<'_> {
    async fn leases(&mut self, which: Which<'_>, hold: Hold) -> Result<Found<LeaseRow>, DatabaseError> {
        self.select(which, hold.row_lock()).await
    }

    async fn trace(&mut self, lock: &LockHash, kind: &str) -> Result<Found<Trace>, DatabaseError> {
        let select = Statement::new(TRACE.replace("{}", LEASE)).bind(self.now);
        let select = select.bind(&lock[..]).bind(&lock[..]).bind(kind.as_bytes());
        self.fetch(select, RowLock::None, Trace::of).await
    }

    async fn end_of_slice(&mut self, slice: &Slice<'_>, place: &Place) -> Result<Option<Place>, DatabaseError> {
        let end = after(Statement::new(END_OF_SLICE), slice, place).bind(slice.most.saturating_sub(1));
        let end = self.session.fetch_optional(end).await.map_err(classify)?;
        end.as_ref().map(leases::place).transpose().map_err(classify)
    }

    async fn write(&mut self, writes: &Writes) -> Result<bool, DatabaseError> {
        for (statement, rows) in [
            (FLOORS, writes.floors()),
            (DELETE, writes.deleted()),
            (RECORD, writes.past()),
            (UPDATE, writes.updated()),
            (INSERT, writes.inserted()),
        ] {
            let Some(rows) = rows else { continue };
            match self.session.write(Statement::new(statement).bind(rows)).await {
                Ok(_) => {}
                Err(error) if is_duplicate(&error) => return Ok(false),
                Err(error) => return Err(classify(error)),
            }
        }
        Ok(true)
    }
}

#[async_trait]
impl LeaseDatabase for super::MySql {
    async fn read(&self, operation: &Operation<'_>) -> Result<Option<Answer>, DatabaseError> {
        let mut reader = self.connections.acquire_for_one().await?;
        leases::read(&mut LeaseTables { session: &mut reader, now: self.time.given() }, operation).await
    }

    async fn attempt(&self, operation: &Operation<'_>) -> Result<Ran, DatabaseError> {
        let now = self.time.given();
        let run = async |session: &mut Session| leases::run(&mut LeaseTables { session, now }, operation).await;
        self.alone(|ran| matches!(ran, Ran::Written(_)), run).await
    }

    fn pause(&self, attempt: u32) -> Duration {
        patience::jitter() * attempt
    }
}

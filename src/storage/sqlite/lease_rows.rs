//! The tables of leases: statements that read and write rows. The transaction has the write lock on the file, so every row is locked, and
//! the time was read after the wait.

use async_trait::async_trait;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection};

use super::connection::OpenTransaction;
use super::errors::{classify, is_duplicate};
use super::turns::Priority;
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::lease::engine::{Answer, LeaseRow, Operation, Place};
use crate::storage::leases::{self, Found, Hold, LeaseDatabase, LeaseRows, Ran, Trace, Which, Writes, lease};
use crate::storage::{LockHash, Slice, patience};

/// The tables of leases at a time.
pub(super) struct LeaseTables<'c> {
    pub connection: &'c mut SqliteConnection,
    pub now: i64,
}

const TRACE: &str = "
    select floor.generation as floor, l.*,
           past.lock_hash as past_lock_hash, past.kind as past_kind, past.id as past_id,
           past.generation as past_generation, past.owner_id as past_owner_id, past.owner_name as past_owner_name,
           past.owner_role as past_owner_role, past.shown_as as past_shown_as, past.since as past_since,
           past.ended_at as past_ended_at, past.how as past_how, past.by_id as past_by_id,
           past.by_name as past_by_name, past.by_role as past_by_role, past.reason as past_reason,
           past.idle as past_idle, past.limited as past_limited
      from (select 1)
      left join tenure_lock as l on l.lock_hash = ?1
      left join tenure_lock_history as past on past.lock_hash = ?1
      left join tenure_lock_floor as floor on floor.kind = ?2";

const DELETE: &str = "
    delete from tenure_lock where (kind, id, slot) in
           (select value ->> 'kind', value ->> 'id', unhex(value ->> 'slot') from json_each(?))";

const RECORD: &str = "
    insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since,
                                     ended_at, how, by_id, by_name, by_role, reason, idle, limited)
    select unhex(value ->> 'lock_hash'), value ->> 'kind', value ->> 'id', value ->> 'generation', value ->> 'owner_id',
           value ->> 'owner_name', value ->> 'owner_role', value ->> 'shown_as', value ->> 'since',
           value ->> 'ended_at', value ->> 'how', value ->> 'by_id', value ->> 'by_name', value ->> 'by_role',
           value ->> 'reason', value ->> 'idle', value ->> 'limited'
      from json_each(?) where true on conflict (lock_hash) do nothing";

const UPDATE: &str = "
    update tenure_lock as l
       set generation = new.value ->> 'generation', lock_hash = unhex(new.value ->> 'lock_hash'),
           owner_id = new.value ->> 'owner_id', owner_name = new.value ->> 'owner_name',
           owner_role = new.value ->> 'owner_role', shown_as = new.value ->> 'shown_as',
           since = new.value ->> 'since', last_active = new.value ->> 'last_active',
           active_at = new.value ->> 'active_at', expires_at = new.value ->> 'expires_at', ttl = new.value ->> 'ttl',
           idle_limit = new.value ->> 'idle_limit', hard_until = new.value ->> 'hard_until',
           ended = new.value ->> 'ended'
      from json_each(?) as new
     where l.kind = new.value ->> 'kind' and l.id = new.value ->> 'id' and l.slot = unhex(new.value ->> 'slot')";

const INSERT: &str = "
    insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name, owner_role, shown_as,
                             since, last_active, active_at, expires_at, ttl, idle_limit, hard_until, ended)
    select value ->> 'kind', value ->> 'id', unhex(value ->> 'slot'), value ->> 'generation',
           unhex(value ->> 'lock_hash'), value ->> 'owner_id', value ->> 'owner_name', value ->> 'owner_role',
           value ->> 'shown_as', value ->> 'since', value ->> 'last_active',
           value ->> 'active_at', value ->> 'expires_at', value ->> 'ttl', value ->> 'idle_limit',
           value ->> 'hard_until', value ->> 'ended'
      from json_each(?)";

const FLOORS: &str = "
    insert into tenure_lock_floor (kind, generation)
    select value ->> 'kind', value ->> 'generation' from json_each(?)
     where true on conflict (kind) do update set generation = max(generation, excluded.generation)";

/// The expiry has no index, so a sweep reads all rows, in the order of the primary key.
const END_OF_SLICE: &str = "
    select kind, id, slot from tenure_lock
     where (kind, id, slot) > (?1, ?2, ?3) and (?4 is null or kind = ?4)
     order by kind, id, slot limit 1 offset ?5";

macro_rules! old {
    ($upto:literal) => {
        concat!(
            "select * from tenure_lock
              where expires_at <= ?1 and (?2 is null or kind = ?2) and (kind, id, slot) > (?3, ?4, ?5)",
            $upto,
            " order by kind, id, slot"
        )
    };
}

/// The end of the slice is a condition of its own; otherwise the primary key could not use it.
const OLD: &str = old!(" and (kind, id, slot) <= (?6, ?7, ?8)");
const OLD_OF_LAST_SLICE: &str = old!("");

impl LeaseTables<'_> {
    async fn fetch<T>(
        &mut self,
        query: Query<'_, Sqlite, SqliteArguments>,
        read: fn(&SqliteRow) -> Result<T, sqlx::Error>,
    ) -> Result<Found<T>, DatabaseError> {
        let rows = query.fetch_all(&mut *self.connection).await.map_err(classify)?;
        let rows = rows.iter().map(read).collect::<Result<_, _>>().map_err(classify)?;
        Ok(Found { rows, clock: Some(self.now) })
    }
}

#[async_trait]
impl LeaseRows for LeaseTables<'_> {
    async fn leases(&mut self, which: Which<'_>, _hold: Hold) -> Result<Found<LeaseRow>, DatabaseError> {
        const KEY: &str = "select * from tenure_lock where kind = ? and id = ?";
        let of_key = |and: &str, key: &LockKey| {
            let query = sqlx::query(AssertSqlSafe(format!("{KEY}{and}")));
            query.bind(key.kind().to_owned()).bind(key.id().to_owned())
        };
        let query = match which {
            Which::Exclusive(key) | Which::ExclusiveOf(key, _) => of_key(" and slot = x''", key),
            Which::Generation(key, generation) => of_key(" and generation = ? order by slot", key).bind(generation),
            Which::Slots(key) => of_key(" and slot <> x'' order by slot", key),
            Which::EndedSlots(key) => {
                of_key(" and slot <> x'' and (ended = 1 or expires_at <= ?) order by slot", key).bind(self.now)
            }
            Which::Old { slice, after, upto } => sqlx::query(if upto.is_some() { OLD } else { OLD_OF_LAST_SLICE })
                .bind(self.now.saturating_sub(millis(slice.older_than)))
                .bind(slice.kind.map(str::to_owned))
                .bind(after.key.kind().to_owned())
                .bind(after.key.id().to_owned())
                .bind(after.slot.clone())
                .bind(upto.map(|upto| upto.key.kind().to_owned()))
                .bind(upto.map(|upto| upto.key.id().to_owned()))
                .bind(upto.map(|upto| upto.slot.clone())),
            Which::Key(key) => of_key(" order by slot", key),
            Which::Lock(lock) => sqlx::query("select * from tenure_lock where lock_hash = ?").bind(lock.to_vec()),
            Which::Owner(owner) => {
                let select = "select * from tenure_lock where owner_id = ? and ended = 0 and expires_at > ?";
                sqlx::query(select).bind(owner.to_owned()).bind(self.now)
            }
        };
        self.fetch(query, lease).await
    }

    async fn trace(&mut self, lock: &LockHash, kind: &str) -> Result<Found<Trace>, DatabaseError> {
        self.fetch(sqlx::query(TRACE).bind(lock.to_vec()).bind(kind.to_owned()), Trace::of).await
    }

    async fn end_of_slice(&mut self, slice: &Slice<'_>, after: &Place) -> Result<Option<Place>, DatabaseError> {
        let end = sqlx::query(END_OF_SLICE).bind(after.key.kind()).bind(after.key.id()).bind(&after.slot);
        let end = end.bind(slice.kind).bind(slice.most.saturating_sub(1)).fetch_optional(&mut *self.connection);
        end.await.map_err(classify)?.as_ref().map(leases::place).transpose().map_err(classify)
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
            match sqlx::query(statement).bind(rows).execute(&mut *self.connection).await {
                Ok(_) => {}
                Err(error) if is_duplicate(&error) => return Ok(false),
                Err(error) => return Err(classify(error)),
            }
        }
        Ok(true)
    }
}

#[async_trait]
impl LeaseDatabase for super::Sqlite {
    async fn read(&self, operation: &Operation<'_>) -> Result<Option<Answer>, DatabaseError> {
        let mut reader = self.reader().await?;
        leases::read(&mut LeaseTables { connection: &mut reader, now: self.now() }, operation).await
    }

    async fn attempt(&self, operation: &Operation<'_>) -> Result<Ran, DatabaseError> {
        let priority = match operation {
            Operation::Keep(_) | Operation::Extend(..) => Priority::Heartbeat,
            _ => Priority::Normal,
        };
        let mut transaction = OpenTransaction::immediate(&self.writer, patience::wait(), priority).await?;
        let ran =
            leases::run(&mut LeaseTables { connection: transaction.connection(), now: self.now() }, operation).await?;
        match ran {
            Ran::Written(_) => transaction.commit(None).await?,
            Ran::Decided(_) | Ran::Raced => transaction.rollback().await?,
        }
        Ok(ran)
    }
}

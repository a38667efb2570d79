//! The tables of leases: statements that lock, read and write rows. `$1` is the time of a test, or null, where the time is read.
//!
//! A locking `select` computes its result before the row is locked, which may take a while. So such a select is a subquery, and the outer
//! statement reads the time after it.

use async_trait::async_trait;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, PgConnection, Postgres, Row};

use super::errors::{classify, is_duplicate};
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::engine::{Answer, LeaseRow, Operation, Place};
use crate::storage::leases::{self, Found, Hold, LeaseDatabase, LeaseRows, Ran, Trace, Which, Writes, lease};
use crate::storage::{LockHash, Slice};

/// The tables of leases on a connection.
pub(super) struct LeaseTables<'c> {
    pub connection: &'c mut PgConnection,
    pub now: Option<i64>,
}

const TRACE: &str = "
    select tenure_now($1) as clock, floor.generation as floor, l.*,
           past.lock_hash as past_lock_hash, past.kind as past_kind, past.id as past_id,
           past.generation as past_generation, past.owner_id as past_owner_id, past.owner_name as past_owner_name,
           past.owner_role as past_owner_role, past.shown_as as past_shown_as, past.since as past_since,
           past.ended_at as past_ended_at, past.how as past_how, past.by_id as past_by_id,
           past.by_name as past_by_name, past.by_role as past_by_role, past.reason as past_reason,
           past.idle as past_idle, past.limited as past_limited
      from (select 1) as one
      left join tenure_lock l on l.lock_hash = $2
      left join tenure_lock_history past on past.lock_hash = $2
      left join tenure_lock_floor floor on floor.kind = $3";

/// Rows of the lock table as JSON. The limit is for the planner, which expects 100 rows of a function, and joins those with the whole table.
macro_rules! lease_json {
    () => {
        "(select * from jsonb_to_recordset($1::text::jsonb) as new (kind text, id text, slot text, generation bigint, lock_hash text,
            owner_id text, owner_name text, owner_role text, shown_as bigint, since bigint,
            last_active bigint, active_at bigint, expires_at bigint, ttl bigint, idle_limit bigint, hard_until bigint,
            ended int) limit $longest) as new"
    };
}

const DELETE: &str = "
    delete from tenure_lock l
     using (select * from jsonb_to_recordset($1::text::jsonb) as gone (kind text, id text, slot text) limit $longest) as gone
     where l.kind = gone.kind and l.id = gone.id and l.slot = decode(gone.slot, 'hex')";

const RECORD: &str = "
    insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since,
                                     ended_at, how, by_id, by_name, by_role, reason, idle, limited)
    select decode(lock_hash, 'hex'), kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, ended_at,
           how, by_id, by_name, by_role, reason, idle::boolean, limited::boolean
      from jsonb_to_recordset($1::text::jsonb) as past
           (lock_hash text, kind text, id text, generation bigint, owner_id text, owner_name text, owner_role text,
            shown_as bigint, since bigint, ended_at bigint, how text, by_id text, by_name text, by_role text, reason text,
            idle int, limited int)
        on conflict (lock_hash) do nothing";

const UPDATE: &str = concat!(
    "update tenure_lock l
        set generation = new.generation, lock_hash = decode(new.lock_hash, 'hex'), owner_id = new.owner_id,
            owner_name = new.owner_name, owner_role = new.owner_role, shown_as = new.shown_as,
            since = new.since, last_active = new.last_active, active_at = new.active_at,
            expires_at = new.expires_at, ttl = new.ttl, idle_limit = new.idle_limit, hard_until = new.hard_until,
            ended = new.ended::boolean
       from ",
    lease_json!(),
    "
      where l.kind = new.kind and l.id = new.id and l.slot = decode(new.slot, 'hex')"
);

const INSERT: &str = concat!(
    "insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name, owner_role, shown_as,
                              since, last_active, active_at, expires_at, ttl, idle_limit, hard_until, ended)
     select kind, id, decode(slot, 'hex'), generation, decode(lock_hash, 'hex'), owner_id, owner_name, owner_role,
            shown_as, since, last_active, active_at, expires_at, ttl, idle_limit, hard_until,
            ended::boolean
       from ",
    lease_json!(),
    "
      order by kind collate \"C\", id collate \"C\", slot"
);

const FLOORS: &str = "
    insert into tenure_lock_floor as floor (kind, generation)
    select kind, generation from jsonb_to_recordset($1::text::jsonb) as new (kind text, generation bigint)
     order by kind collate \"C\"
        on conflict (kind) do update set generation = greatest(floor.generation, excluded.generation)";

/// The expiry has no index, so a sweep reads all rows, in the order of the primary key.
const END_OF_SLICE: &str = "
    select kind, id, slot from tenure_lock
     where (kind, id, slot) > ($1, $2, $3) and ($4::text is null or kind = $4)
     order by kind, id, slot limit 1 offset $5";

/// (Between the two ends there are at most `limit` rows; the clause informs the planner.)
macro_rules! old {
    ($upto:literal) => {
        concat!(
            "tenure_lock l where l.expires_at <= (select tenure_now($1)) - $2 and ($3::text is null or l.kind = $3)
                and (l.kind, l.id, l.slot) > ($4, $5, $6)",
            $upto,
            " order by l.kind, l.id, l.slot limit $7"
        )
    };
}

/// The end of the slice is a condition of its own; otherwise the primary key could not use it.
const OLD: &str = old!(" and (l.kind, l.id, l.slot) <= ($8, $9, $10)");
const OLD_OF_LAST_SLICE: &str = old!("");

impl LeaseTables<'_> {
    async fn fetch<T>(
        &mut self,
        query: Query<'_, Postgres, PgArguments>,
        read: fn(&PgRow) -> Result<T, sqlx::Error>,
    ) -> Result<Found<T>, DatabaseError> {
        let rows = query.fetch_all(&mut *self.connection).await.map_err(classify)?;
        let mut found = Found { rows: Vec::with_capacity(rows.len()), clock: None };
        for row in &rows {
            found.rows.push(read(row).map_err(classify)?);
            found.clock = found.clock.max(Some(row.try_get("clock").map_err(classify)?));
        }
        Ok(found)
    }
}

#[async_trait]
impl LeaseRows for LeaseTables<'_> {
    async fn leases(&mut self, which: Which<'_>, hold: Hold) -> Result<Found<LeaseRow>, DatabaseError> {
        const KEY: &str = "tenure_lock l where l.kind = $2 and l.id = $3";
        let rows = match which {
            Which::Exclusive(_) => format!("{KEY} and l.slot = ''"),
            Which::ExclusiveOf(..) => format!("{KEY} and l.slot = '' and l.generation = $4"),
            Which::Generation(..) => format!("{KEY} and l.generation = $4 order by l.slot"),
            Which::Slots(_) => format!("{KEY} and l.slot <> '' order by l.slot"),
            Which::EndedSlots(_) => {
                format!("{KEY} and l.slot <> '' and (l.ended or l.expires_at <= tenure_now($1)) order by l.slot")
            }
            Which::Old { upto: Some(_), .. } => OLD.to_owned(),
            Which::Old { upto: None, .. } => OLD_OF_LAST_SLICE.to_owned(),
            Which::Key(_) => format!("{KEY} order by l.slot"),
            Which::Lock(_) => "tenure_lock l where l.lock_hash = $2".to_owned(),
            Which::Owner(_) => "tenure_lock l where l.owner_id = $2 and not l.ended and l.expires_at > tenure_now($1)
                order by l.lock_hash"
                .to_owned(),
        };
        let skip = if matches!(which, Which::EndedSlots(_) | Which::Old { .. }) { "skip locked" } else { "" };
        let select = match hold {
            Hold::No => format!("select l.*, tenure_now($1) as clock from {rows}"),
            // Waits for changes of the key columns, which every end of a lease is, and not for heartbeats.
            Hold::Guard => locking(&rows, "for key share of l", skip),
            Hold::Change => locking(&rows, "for no key update of l", skip),
            Hold::Replace => locking(&rows, "for update of l", skip),
        };
        let query = sqlx::query(AssertSqlSafe(select)).bind(self.now);
        let query = match which {
            Which::Exclusive(key) | Which::Slots(key) | Which::EndedSlots(key) | Which::Key(key) => {
                query.bind(key.kind()).bind(key.id())
            }
            Which::Old { slice, after, upto } => query
                .bind(millis(slice.older_than))
                .bind(slice.kind)
                .bind(after.key.kind())
                .bind(after.key.id())
                .bind(&after.slot[..])
                .bind(i64::from(slice.most))
                .bind(upto.map(|upto| upto.key.kind()))
                .bind(upto.map(|upto| upto.key.id()))
                .bind(upto.map(|upto| &upto.slot)),
            Which::ExclusiveOf(key, generation) | Which::Generation(key, generation) => {
                query.bind(key.kind()).bind(key.id()).bind(generation)
            }
            Which::Lock(lock) => query.bind(&lock[..]),
            Which::Owner(owner) => query.bind(owner),
        };
        self.fetch(query, lease).await
    }

    async fn trace(&mut self, lock: &LockHash, kind: &str) -> Result<Found<Trace>, DatabaseError> {
        self.fetch(sqlx::query(TRACE).bind(self.now).bind(&lock[..]).bind(kind), Trace::of).await
    }

    async fn end_of_slice(&mut self, slice: &Slice<'_>, after: &Place) -> Result<Option<Place>, DatabaseError> {
        let end = sqlx::query(END_OF_SLICE).bind(after.key.kind()).bind(after.key.id()).bind(&after.slot[..]);
        let end = end.bind(slice.kind).bind(i64::from(slice.most) - 1).fetch_optional(&mut *self.connection);
        end.await.map_err(classify)?.as_ref().map(leases::place).transpose().map_err(classify)
    }

    async fn write(&mut self, writes: &Writes) -> Result<bool, DatabaseError> {
        // One statement, whose parts change different rows.
        let (mut parts, mut values) = (Vec::new(), Vec::new());
        // Few different texts, because each is prepared.
        let longest = writes.longest().next_power_of_two().to_string();
        for (statement, rows) in [
            (FLOORS, writes.floors()),
            (DELETE, writes.deleted()),
            (RECORD, writes.past()),
            (UPDATE, writes.updated()),
            (INSERT, writes.inserted()),
        ] {
            let Some(rows) = rows else { continue };
            values.push(rows);
            parts.push(statement.replace("$1", &format!("${}", values.len())).replace("$longest", &longest));
        }
        let Some(last) = parts.pop() else { return Ok(true) };
        let first: Vec<String> = parts.iter().enumerate().map(|(at, part)| format!("part{at} as ({part})")).collect();
        let with = if first.is_empty() { String::new() } else { format!("with {} ", first.join(", ")) };
        let write = sqlx::query(AssertSqlSafe(with + &last));
        let write = values.into_iter().fold(write, |write, rows| write.bind(rows));
        match write.execute(&mut *self.connection).await {
            Ok(_) => Ok(true),
            Err(error) if is_duplicate(&error) => Ok(false),
            Err(error) => Err(classify(error)),
        }
    }
}

#[async_trait]
impl LeaseDatabase for super::Postgres {
    async fn read(&self, operation: &Operation<'_>) -> Result<Option<Answer>, DatabaseError> {
        let now = self.time.given();
        self.pools.ask(async |connection| leases::read(&mut LeaseTables { connection, now }, operation).await).await
    }

    async fn attempt(&self, operation: &Operation<'_>) -> Result<Ran, DatabaseError> {
        let mut transaction = self.write().await?;
        let now = self.time.given();
        let run =
            async |connection: &mut PgConnection| leases::run(&mut LeaseTables { connection, now }, operation).await;
        let ran = transaction.wait_for(run).await?;
        match ran {
            Ran::Written(_) => transaction.commit(None).await?,
            Ran::Decided(_) | Ran::Raced => transaction.rollback().await?,
        }
        Ok(ran)
    }
}

/// Locks the rows in their order, and then reads the time.
fn locking(rows: &str, lock: &str, skip: &str) -> String {
    format!(
        "with held as materialized (select l.* from {rows} {lock} {skip}) select *, tenure_now($1) as clock from held"
    )
}

//! Shared and advisory leases on one key, each in a slot of its own: shared ones exclude the exclusive lease, advisory ones exclude
//! nothing.
//!
//! To acquire one, the row of the exclusive lock is locked first, and a later statement reads the slots, so that it sees all earlier
//! commits: each lease gets its own generation, and the exclusive lease is never granted beside a shared one. That row is marked shared
//! while there may be shared leases; only then the slots have to be read.

use sqlx::PgConnection;

use super::errors::classify;
use super::leases::{self, StoredLease, lease};
use super::lock;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockId, LockKey};
use crate::storage::{Attempt, LockRequest};

/// Acquires a slot beside the others, and records the expired leases on the key.
pub(super) async fn take(
    connection: &mut PgConnection,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<Attempt, DatabaseError> {
    // A shared request waits for a save that requires that there are no shared leases.
    let lock = if request.shared { LOCK } else { LOCK_ADVISORY };
    let mut row = anchor(connection, lock, &request.key, now).await?;
    if row.is_none() {
        make_anchor(connection, &request.key).await?;
        row = anchor(connection, lock, &request.key, now).await?;
    }
    let Some(alone) = row else { return Ok(Attempt::Lost) };
    let theirs = alone.reserved && alone.holder.owner.id == request.owner.id;
    if request.shared && alone.alive && !theirs {
        return Ok(if alone.reserved { Attempt::Reserved(alone.holder) } else { Attempt::Held(alone.holder) });
    }
    // A heartbeat may be in flight on a row that is locked by another session. The next acquisition records it.
    record_expired(connection, RECORD_UNLOCKED, request, now).await?;
    let taken = lock::take_slot(connection, request, &request.lock, now).await?;
    if let Attempt::Granted(holder) = &taken
        && (!alone.alive || theirs)
    {
        let note = sqlx::query(NOTE).bind(request.key.kind()).bind(request.key.id()).bind(holder.generation);
        note.bind(request.shared).execute(connection).await.map_err(classify)?;
    }
    Ok(taken)
}

const LOCK: &str = "
    with held as materialized (
        select * from tenure_lock where kind = $2 and id = $3 and slot = '' for update
    )
    select *, tenure_now($1) as now from held";

/// Does not conflict with a save under a lease.
const LOCK_ADVISORY: &str = "
    with held as materialized (
        select * from tenure_lock where kind = $2 and id = $3 and slot = '' for no key update
    )
    select *, tenure_now($1) as now from held";

/// Locks the row of the exclusive lock, if there is one.
async fn anchor(
    connection: &mut PgConnection,
    lock: &'static str,
    key: &LockKey,
    now: Option<i64>,
) -> Result<Option<StoredLease>, DatabaseError> {
    let select = sqlx::query(lock).bind(now).bind(key.kind()).bind(key.id());
    select.fetch_optional(connection).await.map_err(classify)?.as_ref().map(lease).transpose()
}

/// A row without an owner, under a lock id that no client has. The generations of a swept key continue.
const MAKE: &str = "
    insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name,
                             since, last_active, expires_at, ttl, hard_until, ended)
    values ($1, $2, '', coalesce((select generation from tenure_lock_floor where kind = $1), 0), $3, '', '', 0, 0, 0, 0, 0,
            true)
        on conflict do nothing";

/// Inserts the row that every acquisition or change of the key locks first.
pub(super) async fn make_anchor(connection: &mut PgConnection, key: &LockKey) -> Result<(), DatabaseError> {
    let make = sqlx::query(MAKE).bind(key.kind()).bind(key.id()).bind(LockId::random().hash().to_vec());
    make.execute(connection).await.map(drop).map_err(classify)
}

/// The next exclusive lease continues from this generation, and reads the slots first.
const NOTE: &str = "
    update tenure_lock set generation = greatest(generation, $3), shared = shared or $4, ended = true
     where kind = $1 and id = $2 and slot = ''";

macro_rules! record {
    ($lock:literal) => {
        concat!(
            "with gone as materialized (
                select kind, id, slot from tenure_lock
                 where kind = $2 and id = $3 and not ended and expires_at <= tenure_now($1) and lock_hash <> $4
                   for update ",
            $lock,
            "
            ), ended as (
                update tenure_lock l set ended = true from gone
                 where l.kind = gone.kind and l.id = gone.id and l.slot = gone.slot
                returning l.*
            )
            insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                             since, ended_at, how, idle, limited)
            select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, expires_at,
                   'expired', coalesce(expires_at >= active_at + idle_limit, false), expires_at >= hard_until
              from ended
                on conflict (lock_hash) do nothing"
        )
    };
}

const RECORD_UNLOCKED: &str = record!("skip locked");
const RECORD: &str = record!("");

/// Of ended slots only the highest generation is still needed.
const SWEEP: &str = "
    delete from tenure_lock
     where kind = $1 and id = $2 and slot <> '' and ended
       and generation < (select max(generation) from tenure_lock where kind = $1 and id = $2)";

/// Records that leases on this key expired, and deletes their slots.
async fn record_expired(
    connection: &mut PgConnection,
    record: &'static str,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<(), DatabaseError> {
    let (kind, id) = (request.key.kind(), request.key.id());
    let record = sqlx::query(record).bind(now).bind(kind).bind(id).bind(&request.lock[..]);
    record.execute(&mut *connection).await.map_err(classify)?;
    sqlx::query(SWEEP).bind(kind).bind(id).execute(connection).await.map(drop).map_err(classify)
}

const READER: &str = "
    select *, tenure_now($1) as now from tenure_lock
     where kind = $2 and id = $3 and slot <> '' and shared and not ended and expires_at > tenure_now($1)
     order by since, generation limit 1";

/// The shared lease that has been held the longest.
pub(super) async fn reader(
    connection: &mut PgConnection,
    key: &LockKey,
    now: Option<i64>,
) -> Result<Option<Holder>, DatabaseError> {
    let select = sqlx::query(READER).bind(now).bind(key.kind()).bind(key.id());
    let row = select.fetch_optional(connection).await.map_err(classify)?;
    Ok(row.as_ref().map(lease).transpose()?.map(|lease| lease.holder))
}

/// All of them, so that no heartbeat changes one at this moment.
const LOCK_SLOTS: &str = "
    with held as materialized (
        select * from tenure_lock where kind = $2 and id = $3 and slot <> '' order by slot for update
    )
    select *, tenure_now($1) as now from held order by slot";

const CLEAR: &str = "update tenure_lock set shared = false where kind = $1 and id = $2 and slot = ''";

/// For an exclusive request: clears expired shared leases, or returns a live one.
pub(super) async fn make_way(
    connection: &mut PgConnection,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<Option<Holder>, DatabaseError> {
    let key = &request.key;
    let seen = leases::alone(connection, key, now).await?;
    if !seen.is_some_and(|seen| seen.holder.shared) {
        return Ok(None);
    }
    anchor(connection, LOCK, key, now).await?;
    let slots = sqlx::query(LOCK_SLOTS).bind(now).bind(key.kind()).bind(key.id());
    for row in &slots.fetch_all(&mut *connection).await.map_err(classify)? {
        let slot = lease(row)?;
        if slot.alive && slot.holder.shared {
            return Ok(Some(slot.holder));
        }
    }
    record_expired(connection, RECORD, request, now).await?;
    sqlx::query(CLEAR).bind(key.kind()).bind(key.id()).execute(connection).await.map_err(classify)?;
    Ok(None)
}

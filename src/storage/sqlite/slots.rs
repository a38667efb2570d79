//! Shared and advisory leases on one key, each in a slot of its own: shared ones exclude the exclusive lease, advisory ones exclude
//! nothing. `?1` is `now` where it is needed.
//!
//! The write lock is held, so every read stays valid. The row of the exclusive lock carries the highest generation, and is marked shared
//! while there may be shared leases; only then the slots have to be read.

use sqlx::SqliteConnection;

use super::errors::classify;
use super::leases::{self, lease};
use super::lock;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockId, LockKey};
use crate::storage::{Attempt, LockRequest};

/// Acquires a slot beside the others, and records the expired leases on the key.
pub(super) async fn take(
    connection: &mut SqliteConnection,
    request: &LockRequest,
    now: i64,
) -> Result<Attempt, DatabaseError> {
    let mut row = leases::alone(connection, &request.key, now).await?;
    if row.is_none() {
        make_anchor(connection, &request.key).await?;
        row = leases::alone(connection, &request.key, now).await?;
    }
    let Some(alone) = row else { return Ok(Attempt::Lost) };
    let theirs = alone.reserved && alone.holder.owner.id == request.owner.id;
    if request.shared && alone.alive && !theirs {
        return Ok(if alone.reserved { Attempt::Reserved(alone.holder) } else { Attempt::Held(alone.holder) });
    }
    record_expired(connection, request, now).await?;
    let taken = lock::take_slot(connection, request, &request.lock, now).await?;
    if let Attempt::Granted(holder) = &taken
        && (!alone.alive || theirs)
    {
        let note = sqlx::query(NOTE).bind(request.key.kind()).bind(request.key.id()).bind(holder.generation);
        note.bind(request.shared).execute(connection).await.map_err(classify)?;
    }
    Ok(taken)
}

/// A row without an owner, under a lock id that no client has.
const MAKE: &str = "
    insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name,
                             since, last_active, expires_at, ttl, hard_until, ended)
    values (?, ?, x'', 0, ?, '', '', 0, 0, 0, 0, 0, 1) on conflict do nothing";

async fn make_anchor(connection: &mut SqliteConnection, key: &LockKey) -> Result<(), DatabaseError> {
    let make = sqlx::query(MAKE).bind(key.kind()).bind(key.id()).bind(LockId::random().hash().to_vec());
    make.execute(connection).await.map(drop).map_err(classify)
}

/// The next exclusive lease continues from this generation, and reads the slots first.
const NOTE: &str = "
    update tenure_lock set generation = max(generation, ?3), shared = shared or ?4, ended = 1
     where kind = ?1 and id = ?2 and slot = x''";

const RECORD: &str = "
    insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                     since, ended_at, how, idle, limited)
    select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, expires_at, 'expired',
           coalesce(expires_at >= active_at + idle_limit, 0), expires_at >= hard_until
      from tenure_lock
     where kind = ?2 and id = ?3 and ended = 0 and expires_at <= ?1 and lock_hash <> ?4
        on conflict (lock_hash) do nothing";

const END: &str = "
    update tenure_lock set ended = 1
     where kind = ?2 and id = ?3 and ended = 0 and expires_at <= ?1 and lock_hash <> ?4";

/// Of ended slots only the highest generation is still needed.
const SWEEP: &str = "
    delete from tenure_lock
     where kind = ?1 and id = ?2 and slot <> x'' and ended = 1
       and generation < (select max(generation) from tenure_lock where kind = ?1 and id = ?2)";

/// Records that leases on this key expired, and deletes their slots.
async fn record_expired(
    connection: &mut SqliteConnection,
    request: &LockRequest,
    now: i64,
) -> Result<(), DatabaseError> {
    let (kind, id) = (request.key.kind(), request.key.id());
    for statement in [RECORD, END] {
        let statement = sqlx::query(statement).bind(now).bind(kind).bind(id).bind(&request.lock[..]);
        statement.execute(&mut *connection).await.map_err(classify)?;
    }
    sqlx::query(SWEEP).bind(kind).bind(id).execute(connection).await.map(drop).map_err(classify)
}

const READER: &str = "
    select * from tenure_lock
     where kind = ?2 and id = ?3 and slot <> x'' and shared = 1 and ended = 0 and expires_at > ?1
     order by since, generation limit 1";

/// The shared lease that has been held the longest.
pub(super) async fn reader(
    connection: &mut SqliteConnection,
    key: &LockKey,
    now: i64,
) -> Result<Option<Holder>, DatabaseError> {
    let select = sqlx::query(READER).bind(now).bind(key.kind()).bind(key.id());
    let row = select.fetch_optional(connection).await.map_err(classify)?;
    Ok(row.as_ref().map(|row| lease(row, now)).transpose()?.map(|lease| lease.holder))
}

const CLEAR: &str = "update tenure_lock set shared = 0 where kind = ? and id = ? and slot = x''";

/// For an exclusive request: clears expired shared leases, or returns a live one.
pub(super) async fn make_way(
    connection: &mut SqliteConnection,
    request: &LockRequest,
    now: i64,
) -> Result<Option<Holder>, DatabaseError> {
    let key = &request.key;
    if !leases::alone(connection, key, now).await?.is_some_and(|seen| seen.holder.shared) {
        return Ok(None);
    }
    if let Some(reader) = reader(connection, key, now).await? {
        return Ok(Some(reader));
    }
    record_expired(connection, request, now).await?;
    sqlx::query(CLEAR).bind(key.kind()).bind(key.id()).execute(connection).await.map_err(classify)?;
    Ok(None)
}

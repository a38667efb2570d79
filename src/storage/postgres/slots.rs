//! Shared and advisory leases on one key, each in a slot of its own. The row of the exclusive lock is locked first, and a later statement
//! reads the slots, so that it sees all earlier commits. That row is marked shared while there may be shared leases; only then the slots have
//! to be read.

use sqlx::PgConnection;

use super::errors::classify;
use super::leases::lease;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockId, LockKey};

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

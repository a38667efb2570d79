//! Shared and advisory leases on one key, each in a slot of its own. The row of the exclusive lock is locked first, and a later statement
//! reads the slots, so that it sees all earlier commits. That row is marked shared while there may be shared leases; only then the slots have
//! to be read.

use super::deadline::RowLock;
use super::errors::classify;
use super::leases::{StoredLease, clock, lease, lease_columns};
use super::session::{Session, Statement};
use crate::error::DatabaseError;
use crate::lease::{Holder, LockId, LockKey};

/// A row without an owner, under a lock id that no client has. The generations of a swept key continue.
const MAKE: &str = "
    insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name,
                             since, last_active, expires_at, ttl, hard_until, ended)
    values (?, ?, '', coalesce((select swept.generation from tenure_lock_floor as swept where swept.kind = ?), 0), ?,
            '', '', 0, 0, 0, 0, 0, 1)
        on duplicate key update tenure_lock.slot = tenure_lock.slot";

/// Inserts the row that every acquisition or change of the key locks first.
pub(super) async fn make_anchor(session: &mut Session, key: &LockKey) -> Result<(), DatabaseError> {
    let make = Statement::new(MAKE).bind(key.kind().as_bytes()).bind(key.id().as_bytes()).bind(key.kind().as_bytes());
    session.write(make.bind(LockId::random().hash().to_vec())).await.map(drop).map_err(classify)
}

/// The condition is not in `having`: MariaDB sorts and limits before it, so an older expired share would hide the others.
const READER: &str = concat!(
    "select ",
    clock!("?"),
    " as clock, ",
    lease_columns!(),
    " from tenure_lock where kind = ? and id = ? and slot <> '' and shared and not ended and expires_at > ",
    clock!("?"),
    " order by since, generation limit 1"
);

/// The shared lease that has been held the longest.
pub(super) async fn reader(
    session: &mut Session,
    key: &LockKey,
    lock: RowLock,
    now: Option<i64>,
) -> Result<Option<Holder>, DatabaseError> {
    let select = Statement::new(READER).bind(now).bind(key.kind().as_bytes()).bind(key.id().as_bytes()).bind(now);
    let row = session.fetch_locked(select, lock).await.map_err(classify)?;
    Ok(row.as_ref().map(lease).transpose()?.map(StoredLease::into_holder))
}

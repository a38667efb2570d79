//! Shared and advisory leases on one key, each in a slot of its own: shared ones exclude the exclusive lease, advisory ones exclude
//! nothing.
//!
//! To acquire one, the row of the exclusive lock is locked first, and a later statement reads the slots, so that it sees all earlier
//! commits: each lease gets its own generation, and the exclusive lease is never granted beside a shared one. That row is marked shared
//! while there may be shared leases; only then the slots have to be read.

use super::deadline::RowLock;
use super::errors::classify;
use super::leases::{self, StoredLease, clock, lease, lease_columns, select_lease};
use super::lock;
use super::session::{Session, Statement};
use crate::error::DatabaseError;
use crate::lease::{Holder, LockId, LockKey};
use crate::storage::LockRequest;

/// Acquires a slot beside the others, and records the expired leases on the key. `None`: the key is held exclusively, or the lock id was
/// used before.
pub(super) async fn take(
    session: &mut Session,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<Option<Holder>, DatabaseError> {
    let mut row = leases::in_slot(session, &request.key, &[], RowLock::Update, now).await?;
    if row.is_none() {
        make_anchor(session, &request.key).await?;
        row = leases::in_slot(session, &request.key, &[], RowLock::Update, now).await?;
    }
    let Some(alone) = row else { return Ok(None) };
    let theirs = alone.reserved() && alone.holder.owner.id == request.owner.id;
    if request.shared && alone.alive() && !theirs {
        return Ok(None);
    }
    // A heartbeat may be in flight on a row that is locked by another session. The next acquisition records it.
    let unlocked = slots(session, &request.key, RowLock::SkipLocked, now).await?;
    record_expired(session, request, unlocked.iter().chain([&alone])).await?;
    let taken = lock::take_slot(session, request, &request.lock, now).await?;
    if let Some(holder) = &taken
        && (!alone.alive() || theirs)
    {
        let note = Statement::new(NOTE).bind(holder.generation).bind(request.shared);
        let note = note.bind(request.key.kind().as_bytes()).bind(request.key.id().as_bytes());
        session.write(note).await.map_err(classify)?;
    }
    Ok(taken)
}

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

/// The next exclusive lease continues from this generation, and reads the slots first.
const NOTE: &str = "
    update tenure_lock set generation = greatest(generation, ?), shared = shared or ?, ended = 1
     where kind = ? and id = ? and slot = ''";

const SLOTS: &str = select_lease!("where kind = ? and id = ? and slot <> '' order by slot");

async fn slots(
    session: &mut Session,
    key: &LockKey,
    lock: RowLock,
    now: Option<i64>,
) -> Result<Vec<StoredLease>, DatabaseError> {
    let select = Statement::new(SLOTS).bind(now).bind(key.kind().as_bytes()).bind(key.id().as_bytes());
    session.fetch_all_locked(select, lock).await.map_err(classify)?.iter().map(lease).collect()
}

const END: &str = "update tenure_lock set ended = 1 where kind = ? and id = ? and slot = ?";

/// Of ended slots only the highest generation is still needed. (MySQL cannot delete from a table that it reads, except through a derived
/// table.)
const SWEEP: &str = "
    delete from tenure_lock
     where kind = ? and id = ? and slot = ?
       and generation < (select newest.generation from
                         (select max(generation) as generation from tenure_lock where kind = ? and id = ?) as newest)";

/// Records that leases on this key expired, and deletes their slots. All of them are locked.
async fn record_expired(
    session: &mut Session,
    request: &LockRequest,
    locked: impl Iterator<Item = &StoredLease>,
) -> Result<(), DatabaseError> {
    let (kind, id) = (request.key.kind().as_bytes(), request.key.id().as_bytes());
    for lease in locked.filter(|lease| !lease.alive() && lease.lock != request.lock) {
        if !lease.ended {
            lock::record_expired(session, lease).await?;
            session.write(Statement::new(END).bind(kind).bind(id).bind(&lease.slot[..])).await.map_err(classify)?;
        }
        if !lease.slot.is_empty() {
            let sweep = Statement::new(SWEEP).bind(kind).bind(id).bind(&lease.slot[..]).bind(kind).bind(id);
            session.write(sweep).await.map_err(classify)?;
        }
    }
    Ok(())
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

const CLEAR: &str = "update tenure_lock set shared = 0 where kind = ? and id = ? and slot = ''";

/// For an exclusive request that has locked the key's row: clears expired shared leases. Returns whether none is left.
pub(super) async fn make_way(
    session: &mut Session,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<bool, DatabaseError> {
    let key = &request.key;
    // All of them, so that no heartbeat changes one at this moment.
    let slots = slots(session, key, RowLock::Update, now).await?;
    if slots.iter().any(|slot| slot.alive() && slot.holder.shared) {
        return Ok(false);
    }
    record_expired(session, request, slots.iter()).await?;
    let clear = Statement::new(CLEAR).bind(key.kind().as_bytes()).bind(key.id().as_bytes());
    session.write(clear).await.map_err(classify)?;
    Ok(true)
}

//! Reading leases: holders, and the reasons that a lock id holds no lease.
//!
//! Time is the server's, read by `tenure_now`; `$1` is the time of a test, or null. A locking `select` computes its result before the row
//! is locked, which may take a while. So such a select is a subquery, and the outer statement reads the time after it.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::errors::classify;
use super::slots;
use crate::clock::{from_millis, until};
use crate::error::DatabaseError;
use crate::lease::policy::ShowOwner;
use crate::lease::{HeldByType, Holder, LeaseLossReason, LockKey, NoLock, Owner, RanOut};
use crate::storage::{KeyState, LockHash, Proof, leases};

/// A row of the lock table, at the time of its column `now`.
pub(super) struct StoredLease {
    pub holder: Holder,
    pub lock: Vec<u8>,
    pub alive: bool,
    pub ended: bool,
    /// Handed over and not acquired yet.
    pub reserved: bool,
    expires_at: i64,
    ran_out: RanOut,
}

/// Reads a row of the lock table, with the time as a column `now`.
pub(super) fn lease(row: &PgRow) -> Result<StoredLease, DatabaseError> {
    let (stored, now) = (leases::lease(row).map_err(classify)?, row.try_get("now").map_err(classify)?);
    Ok(StoredLease {
        holder: stored.holder(now),
        alive: stored.alive(now),
        ended: stored.ended,
        reserved: stored.is_reservation(),
        expires_at: stored.expires_at,
        ran_out: stored.ran_out(),
        lock: stored.lock,
    })
}

/// The owner in two columns, if there is one.
pub(super) fn owner(row: &PgRow, id: &str, name: &str) -> Result<Option<Owner>, DatabaseError> {
    let id: Option<String> = row.try_get(id).map_err(classify)?;
    let name: Option<String> = row.try_get(name).map_err(classify)?;
    Ok(id.zip(name).map(|(id, name)| Owner::new(id, name)))
}

/// As [`owner`], with the role; the columns begin with `who`.
pub(super) fn person(row: &PgRow, who: &str) -> Result<Option<Owner>, DatabaseError> {
    let role = row.try_get(&*format!("{who}_role")).map_err(classify)?;
    let owner = owner(row, &format!("{who}_id"), &format!("{who}_name"))?;
    Ok(owner.map(|owner| Owner { role, ..owner }))
}

const EXCLUSIVE: &str = "
    select *, tenure_now($1) as now from tenure_lock where kind = $2 and id = $3 and slot = ''";

/// Whether a key is held; its row, if it has one, is locked.
pub(super) async fn key_state(
    connection: &mut PgConnection,
    key: &LockKey,
    now: Option<i64>,
) -> Result<KeyState, DatabaseError> {
    let holder = match alone_by(HOLD_EXCLUSIVE, connection, key, now).await? {
        None => return Ok(KeyState::NoRow),
        Some(lease) if lease.alive => Some(lease.holder),
        // Read by a later statement, which sees leases that were granted before the row was locked.
        Some(lease) if lease.holder.shared => slots::reader(connection, key, now).await?,
        Some(_) => None,
    };
    Ok(holder.map_or(KeyState::Free, KeyState::Held))
}

/// Locks the row exclusively: a save under a lease holds a key share of the row, so this waits for it, also when its lease has ended since.
const HOLD_EXCLUSIVE: &str = "
    with held as materialized (
        select * from tenure_lock where kind = $2 and id = $3 and slot = '' for update
    )
    select *, tenure_now($1) as now from held";

/// The row of the exclusive lock on a key, alive or not.
pub(super) async fn alone(
    connection: &mut PgConnection,
    key: &LockKey,
    now: Option<i64>,
) -> Result<Option<StoredLease>, DatabaseError> {
    alone_by(EXCLUSIVE, connection, key, now).await
}

/// The live exclusive lease on a key.
pub(super) async fn exclusive(
    connection: &mut PgConnection,
    key: &LockKey,
    now: Option<i64>,
) -> Result<Option<StoredLease>, DatabaseError> {
    Ok(alone(connection, key, now).await?.filter(|lease| lease.alive))
}

async fn alone_by(
    select: &'static str,
    connection: &mut PgConnection,
    key: &LockKey,
    now: Option<i64>,
) -> Result<Option<StoredLease>, DatabaseError> {
    let select = sqlx::query(select).bind(now).bind(key.kind()).bind(key.id());
    select.fetch_optional(connection).await.map_err(classify)?.as_ref().map(lease).transpose()
}

/// The key share makes takeovers (which change the key) wait to the end of the transaction, and does not block heartbeats (which do not).
const HOLD_BY_LOCK_ID: &str = "
    with held as materialized (select * from tenure_lock where lock_hash = $2 for key share)
    select *, tenure_now($1) as now from held";

/// Checks whether the presented lock id holds a lease, and holds it to the end of the transaction; the error contains the reason.
pub(super) async fn hold(
    connection: &mut PgConnection,
    proof: &Proof,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let select = sqlx::query(HOLD_BY_LOCK_ID).bind(now).bind(&proof.lock[..]);
    let row = select.fetch_optional(&mut *connection).await.map_err(classify)?;
    let (key, owner_id, why) = match row.as_ref().map(lease).transpose()? {
        Some(lease) if lease.alive && proof.is_by(&lease.holder.owner.id) => {
            return Ok(Ok(lease.holder));
        }
        Some(lease) if lease.alive => (lease.holder.key, lease.holder.owner.id, LeaseLossReason::NotYours),
        Some(lease) if !lease.ended => {
            let why = LeaseLossReason::ran_out(from_millis(lease.expires_at), lease.ran_out);
            (lease.holder.key, lease.holder.owner.id, why)
        }
        _ => match ended(connection, &proof.lock).await? {
            Some(ended) => ended,
            None => return Ok(Err(NoLock { key: None, why: LeaseLossReason::Unknown, held_now: None })),
        },
    };
    // A stranger does not learn how another owner's lease ended.
    let why = if proof.is_by(&owner_id) { why } else { LeaseLossReason::NotYours };
    let held_now = exclusive(connection, &key, now).await?.map(|lease| lease.holder);
    Ok(Err(NoLock { key: Some(key), why, held_now }))
}

const ENDED: &str = "
    select kind, id, owner_id, ended_at, how, idle, limited, shown_as, by_id, by_name, by_role, reason
      from tenure_lock_history where lock_hash = $1";

/// The cause of a lease's expiry, as the history stores it.
pub(super) fn ran_out(row: &PgRow) -> Result<RanOut, DatabaseError> {
    let said = |column| row.try_get::<bool, _>(column).map_err(classify);
    Ok(RanOut::of(said("idle")?, said("limited")?))
}

/// The history entry of a lock id: the key, the owner, and the end.
pub(super) async fn ended(
    connection: &mut PgConnection,
    lock: &LockHash,
) -> Result<Option<(LockKey, String, LeaseLossReason)>, DatabaseError> {
    let row = sqlx::query(ENDED).bind(&lock[..]).fetch_optional(connection).await.map_err(classify)?;
    let Some(row) = row else { return Ok(None) };
    let text = |column| row.try_get::<String, _>(column).map_err(classify);
    let at = from_millis(row.try_get("ended_at").map_err(classify)?);
    let reason = row.try_get("reason").map_err(classify)?;
    let ran_out = ran_out(&row)?;
    let (owner_id, shown) = (text("owner_id")?, ShowOwner::from_stored(row.try_get("shown_as").map_err(classify)?));
    let by = person(&row, "by")?.map(|by| if by.id == owner_id { by } else { by.shown(shown) });
    let why = LeaseLossReason::recorded(&text("how")?, ran_out, at, by, reason);
    Ok(Some((LockKey::new(text("kind")?, text("id")?), owner_id, why)))
}

const COUNT: &str = "
    select count(*) from tenure_lock where owner_id = $2 and not ended and expires_at > tenure_now($1) and ttl > 0";

/// The number of leases that an owner holds. Reservations do not count.
pub(super) async fn count(connection: &mut PgConnection, owner: &str, now: Option<i64>) -> Result<u64, DatabaseError> {
    let count: i64 = sqlx::query_scalar(COUNT).bind(now).bind(owner).fetch_one(connection).await.map_err(classify)?;
    Ok(u64::try_from(count).unwrap_or(0))
}

const HELD_BY_TYPE: &str = "
    select kind, count(*) as count, min(since) as since, tenure_now($1) as now from tenure_lock
     where not ended and expires_at > tenure_now($1) group by kind order by kind";

/// The number of held leases, by type.
pub(super) async fn held_by_type(
    connection: &mut PgConnection,
    now: Option<i64>,
) -> Result<Vec<HeldByType>, DatabaseError> {
    let rows = sqlx::query(HELD_BY_TYPE).bind(now).fetch_all(connection).await.map_err(classify)?;
    let read = |row: &PgRow| {
        let number = |column| row.try_get::<i64, _>(column).map_err(classify);
        Ok(HeldByType {
            kind: row.try_get("kind").map_err(classify)?,
            count: number("count")?.try_into().unwrap_or(0),
            oldest: until(number("now")?, number("since")?),
        })
    };
    rows.iter().map(read).collect()
}

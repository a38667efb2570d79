//! Reading leases: who holds what, and why a lock id holds nothing.
//!
//! SQLite runs inside this process, so its clock is this host's clock, the same for every process that can open the
//! file. `now` is read from it after any wait, in milliseconds since 1970.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::errors::classify;
use crate::backend::{Attempt, LockHash, LockRequest, Proof};
use crate::clock::from_millis;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockKey, NoLock, Owner, Why};

/// A row of the lock table.
pub(super) struct StoredLease {
    pub holder: Holder,
    pub lock: Vec<u8>,
    pub alive: bool,
    pub ended: bool,
    /// Handed over and not taken yet: no policy has a time to live of zero, so whoever takes the key ends it.
    pub reserved: bool,
    /// Until when it can be kept alive at all.
    pub hard_until: i64,
    expires_at: i64,
}

/// Reads a row of the lock table.
pub(super) fn lease(row: &SqliteRow, now: i64) -> Result<StoredLease, DatabaseError> {
    let text = |column| row.try_get::<String, _>(column).map_err(classify);
    let number = |column| row.try_get::<i64, _>(column).map_err(classify);
    let (expires_at, ended) = (number("expires_at")?, number("ended")? != 0);
    let remaining = expires_at.saturating_sub(now);
    Ok(StoredLease {
        holder: Holder {
            key: LockKey::new(text("kind")?, text("id")?),
            owner: Owner::new(text("owner_id")?, text("owner_name")?),
            generation: number("generation")?,
            since: from_millis(number("since")?),
            last_active: from_millis(number("last_active")?),
            remaining: std::time::Duration::from_millis(u64::try_from(remaining).unwrap_or(0)),
        },
        lock: row.try_get("lock_hash").map_err(classify)?,
        alive: remaining > 0 && !ended,
        ended,
        reserved: number("ttl")? == 0,
        hard_until: number("hard_until")?,
        expires_at,
    })
}

/// Who is named in two columns, if anybody is.
pub(super) fn owner(row: &SqliteRow, id: &str, name: &str) -> Result<Option<Owner>, DatabaseError> {
    let id: Option<String> = row.try_get(id).map_err(classify)?;
    let name: Option<String> = row.try_get(name).map_err(classify)?;
    Ok(id.zip(name).map(|(id, name)| Owner { id, name }))
}

/// Who is in the way of a request for the exclusive lock, if anybody is. A reservation is not in the way of whom it is for.
pub(super) async fn held_by_other(
    connection: &mut SqliteConnection,
    request: &LockRequest,
    now: i64,
) -> Result<Option<Attempt>, DatabaseError> {
    let lease = exclusive(connection, &request.key, now).await?;
    Ok(match lease.filter(|lease| lease.lock != request.lock) {
        Some(lease) if lease.reserved && lease.holder.owner.id == request.owner.id => None,
        Some(lease) if lease.reserved => Some(Attempt::Reserved(lease.holder)),
        lease => lease.map(|lease| Attempt::Held(lease.holder)),
    })
}

const EXCLUSIVE: &str = "select * from tenure_lock where kind = ? and id = ? and slot = x''";

/// The live exclusive lease on a key.
pub(super) async fn exclusive(
    connection: &mut SqliteConnection,
    key: &LockKey,
    now: i64,
) -> Result<Option<StoredLease>, DatabaseError> {
    let select = sqlx::query(EXCLUSIVE).bind(key.kind()).bind(key.id());
    let row = select.fetch_optional(connection).await.map_err(classify)?;
    Ok(row.as_ref().map(|row| lease(row, now)).transpose()?.filter(|lease| lease.alive))
}

/// The row of a lock id, alive or not.
pub(super) const BY_LOCK_ID: &str = "select * from tenure_lock where lock_hash = ?";

/// Whether the lock id that is shown holds a lease, and why not.
pub(super) async fn check(
    connection: &mut SqliteConnection,
    proof: &Proof,
    now: i64,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let select = sqlx::query(BY_LOCK_ID).bind(&proof.lock[..]);
    let row = select.fetch_optional(&mut *connection).await.map_err(classify)?;
    let (key, owner_id, why) = match row.as_ref().map(|row| lease(row, now)).transpose()? {
        Some(lease) if lease.alive && proof.is_by(&lease.holder.owner.id) => {
            return Ok(Ok(lease.holder));
        }
        Some(lease) if lease.alive => (lease.holder.key, lease.holder.owner.id, Why::NotYours),
        Some(lease) if !lease.ended => {
            let at = from_millis(lease.expires_at);
            (lease.holder.key, lease.holder.owner.id, Why::Expired { at })
        }
        _ => match ended(connection, &proof.lock).await? {
            Some(ended) => ended,
            None => return Ok(Err(NoLock { key: None, why: Why::Unknown, held_now: None })),
        },
    };
    // To a stranger, how somebody else's lease ended is nobody's business.
    let why = if proof.is_by(&owner_id) { why } else { Why::NotYours };
    let held_now = exclusive(connection, &key, now).await?.map(|lease| lease.holder);
    Ok(Err(NoLock { key: Some(key), why, held_now }))
}

const ENDED: &str = "
    select kind, id, owner_id, ended_at, how, by_id, by_name, reason from tenure_lock_history where lock_hash = ?";

/// What the history says about a lock id: of what, whose, and how it ended.
pub(super) async fn ended(
    connection: &mut SqliteConnection,
    lock: &LockHash,
) -> Result<Option<(LockKey, String, Why)>, DatabaseError> {
    let row = sqlx::query(ENDED).bind(&lock[..]).fetch_optional(connection).await.map_err(classify)?;
    let Some(row) = row else { return Ok(None) };
    let text = |column| row.try_get::<String, _>(column).map_err(classify);
    let at = from_millis(row.try_get("ended_at").map_err(classify)?);
    let reason = row.try_get("reason").map_err(classify)?;
    let why = Why::recorded(&text("how")?, at, owner(&row, "by_id", "by_name")?, reason);
    Ok(Some((LockKey::new(text("kind")?, text("id")?), text("owner_id")?, why)))
}

const HOLDERS: &str = "
    select * from tenure_lock
     where kind = ?2 and id = ?3 and ended = 0 and expires_at > ?1 order by since, generation";

/// Everybody who holds the key, exclusively or not, the longest-held first.
pub(super) async fn holders(
    connection: &mut SqliteConnection,
    key: &LockKey,
    now: i64,
) -> Result<Vec<Holder>, DatabaseError> {
    let select = sqlx::query(HOLDERS).bind(now).bind(key.kind()).bind(key.id());
    let rows = select.fetch_all(connection).await.map_err(classify)?;
    rows.iter().map(|row| lease(row, now).map(|lease| lease.holder)).collect()
}

const HELD: &str = "
    select * from tenure_lock
     where (?2 is null or kind = ?2) and ended = 0 and expires_at > ?1 order by since, kind, id limit ?3";

/// Everything that is held, of one type or of all, the longest-held first.
pub(super) async fn held(
    connection: &mut SqliteConnection,
    kind: Option<&str>,
    limit: u32,
    now: i64,
) -> Result<Vec<Holder>, DatabaseError> {
    let select = sqlx::query(HELD).bind(now).bind(kind).bind(limit);
    let rows = select.fetch_all(connection).await.map_err(classify)?;
    rows.iter().map(|row| lease(row, now).map(|lease| lease.holder)).collect()
}

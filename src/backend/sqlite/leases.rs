//! Reading leases: who holds what, and why a lock id holds nothing.
//!
//! `?1` is always the given time, null in production: then the statement asks SQLite's clock.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::errors::classify;
use crate::backend::{LockHash, LockRequest, Proof};
use crate::clock::from_millis;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockKey, NoLock, Owner, Why};

/// The time of the statement, in milliseconds.
macro_rules! now {
    () => {
        "coalesce(?1, cast(unixepoch('subsec') * 1000 as integer))"
    };
}
/// What `lease` reads; also the tail of every `returning`.
macro_rules! lease_columns {
    () => {
        concat!(
            "kind, id, generation, lock_hash, owner_id, owner_name, since, last_active, expires_at, ended, expires_at - ",
            now!(),
            " as remaining"
        )
    };
}
pub(super) use {lease_columns, now};

/// A row of the lock table.
pub(super) struct StoredLease {
    pub holder: Holder,
    pub lock: Vec<u8>,
    pub alive: bool,
    ended: bool,
    expires_at: i64,
}

/// Reads a row that was selected or returned with `lease_columns!`.
pub(super) fn lease(row: &SqliteRow) -> Result<StoredLease, DatabaseError> {
    let text = |column| row.try_get::<String, _>(column).map_err(classify);
    let number = |column| row.try_get::<i64, _>(column).map_err(classify);
    let (remaining, ended) = (number("remaining")?, number("ended")? != 0);
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
        expires_at: number("expires_at")?,
    })
}

/// Who is named in two columns, if anybody is.
pub(super) fn owner(row: &SqliteRow, id: &str, name: &str) -> Result<Option<Owner>, DatabaseError> {
    let id: Option<String> = row.try_get(id).map_err(classify)?;
    let name: Option<String> = row.try_get(name).map_err(classify)?;
    Ok(id.zip(name).map(|(id, name)| Owner { id, name }))
}

/// The holder of the exclusive lock, if it is not the one who asks.
pub(super) async fn held_by_other(
    connection: &mut SqliteConnection,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<Option<Holder>, DatabaseError> {
    let lease = exclusive(connection, &request.key, now).await?;
    Ok(lease.filter(|lease| lease.lock != request.lock).map(|lease| lease.holder))
}

/// The live exclusive lease on a key.
pub(super) async fn exclusive(
    connection: &mut SqliteConnection,
    key: &LockKey,
    now: Option<i64>,
) -> Result<Option<StoredLease>, DatabaseError> {
    let row = sqlx::query(concat!(
        "select ", lease_columns!(), " from tenure_lock where kind = ?2 and id = ?3 and slot = x''"
    ))
    .bind(now)
    .bind(key.kind())
    .bind(key.id())
    .fetch_optional(connection)
    .await
    .map_err(classify)?;
    Ok(row.as_ref().map(lease).transpose()?.filter(|lease| lease.alive))
}

/// Whether the lock id that is shown holds a lease, and why not.
pub(super) async fn check(
    connection: &mut SqliteConnection,
    proof: &Proof,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let row = sqlx::query(concat!("select ", lease_columns!(), " from tenure_lock where lock_hash = ?2"))
        .bind(now)
        .bind(&proof.lock[..])
        .fetch_optional(&mut *connection)
        .await
        .map_err(classify)?;
    let (key, owner_id, why) = match row.as_ref().map(lease).transpose()? {
        Some(lease) if lease.alive && proof.owner.as_ref().is_none_or(|owner| *owner == lease.holder.owner.id) => {
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
    let why = if proof.owner.as_ref().is_none_or(|owner| *owner == owner_id) { why } else { Why::NotYours };
    let held_now = exclusive(connection, &key, now).await?.map(|lease| lease.holder);
    Ok(Err(NoLock { key: Some(key), why, held_now }))
}

/// What the history says about a lock id: of what, whose, and how it ended.
async fn ended(connection: &mut SqliteConnection, lock: &LockHash) -> Result<Option<(LockKey, String, Why)>, DatabaseError> {
    let row = sqlx::query("select kind, id, owner_id, ended_at, how, by_id, by_name, reason from tenure_lock_history where lock_hash = ?")
        .bind(&lock[..])
        .fetch_optional(connection)
        .await
        .map_err(classify)?;
    let Some(row) = row else { return Ok(None) };
    let text = |column| row.try_get::<String, _>(column).map_err(classify);
    let at = from_millis(row.try_get("ended_at").map_err(classify)?);
    let why = match (text("how")?.as_str(), owner(&row, "by_id", "by_name")?) {
        ("released", _) => Why::Released { at },
        ("broken", Some(by)) => Why::Broken { by, at, reason: text("reason")? },
        _ => Why::Expired { at },
    };
    Ok(Some((LockKey::new(text("kind")?, text("id")?), text("owner_id")?, why)))
}

/// Everybody who holds the key, exclusively or not, the longest-held first.
pub(super) async fn holders(
    connection: &mut SqliteConnection,
    key: &LockKey,
    now: Option<i64>,
) -> Result<Vec<Holder>, DatabaseError> {
    let rows = sqlx::query(concat!(
        "select ", lease_columns!(), " from tenure_lock
         where kind = ?2 and id = ?3 and ended = 0 and expires_at > ", now!(), " order by since, generation"
    ))
    .bind(now)
    .bind(key.kind())
    .bind(key.id())
    .fetch_all(connection)
    .await
    .map_err(classify)?;
    rows.iter().map(|row| lease(row).map(|lease| lease.holder)).collect()
}

/// Everything that is held, of one type or of all, the longest-held first.
pub(super) async fn held(
    connection: &mut SqliteConnection,
    kind: Option<&str>,
    limit: u32,
    now: Option<i64>,
) -> Result<Vec<Holder>, DatabaseError> {
    let rows = sqlx::query(concat!(
        "select ", lease_columns!(), " from tenure_lock
         where (?2 is null or kind = ?2) and ended = 0 and expires_at > ", now!(), " order by since, kind, id limit ?3"
    ))
    .bind(now)
    .bind(kind)
    .bind(limit)
    .fetch_all(connection)
    .await
    .map_err(classify)?;
    rows.iter().map(|row| lease(row).map(|lease| lease.holder)).collect()
}

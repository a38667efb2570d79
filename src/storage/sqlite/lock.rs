//! Acquiring, keeping and ending leases. Every function runs inside a transaction that already holds the write lock, so `now` was read
//! after any wait, and one conditional statement decides. `?1` is `now` in every statement.

use std::time::Duration;

use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::errors::classify;
use super::leases::{self, lease};
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::{Holder, NoLock, Owner};
use crate::storage::{CENTURY, Proof};

const KEEP_ALIVE: &str = "
    update tenure_lock set last_active = ?1 + (since = ?1), active_at = max(active_at, ?1 - ?4),
           expires_at = max(expires_at, min(?1 + min(ttl, 100000000000000), hard_until,
                                            coalesce(max(active_at, ?1 - ?4) + idle_limit, hard_until)))
     where lock_hash = ?2 and (?3 is null or owner_id = ?3) and ended = 0 and expires_at > ?1
    returning *";

/// Sets the expiry to now + ttl, within the idle and the absolute limit; never backwards.
pub(super) async fn keep_alive(
    connection: &mut SqliteConnection,
    proof: &Proof,
    idle: Duration,
    now: i64,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let kept = change(connection, KEEP_ALIVE, proof, idle, now).await?;
    answer(connection, proof, kept, now).await
}

const EXTEND: &str = "
    update tenure_lock set last_active = ?1 + (since = ?1), active_at = max(active_at, ?1),
           expires_at = max(expires_at, min(expires_at + ?4, ?1 + min(ttl, 100000000000000), hard_until,
                                            coalesce(max(active_at, ?1) + idle_limit, hard_until)))
     where lock_hash = ?2 and (?3 is null or owner_id = ?3) and ended = 0 and expires_at > ?1
    returning *";

/// Adds to the expiry, within now + ttl, the idle and the absolute limit; never backwards.
pub(super) async fn extend(
    connection: &mut SqliteConnection,
    proof: &Proof,
    by: Duration,
    now: i64,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let extended = change(connection, EXTEND, proof, by, now).await?;
    answer(connection, proof, extended, now).await
}

const EXPIRE_WITHIN: &str = "
    update tenure_lock set expires_at = min(expires_at, ?1 + ?4)
     where lock_hash = ?2 and (?3 is null or owner_id = ?3) and ended = 0 and expires_at > ?1
    returning *";

/// Brings the expiry forward; a heartbeat within that time sets it back.
pub(super) async fn expire_within(
    connection: &mut SqliteConnection,
    proof: &Proof,
    within: Duration,
    now: i64,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let parting = change(connection, EXPIRE_WITHIN, proof, within, now).await?;
    answer(connection, proof, parting, now).await
}

const RELEASE: &str = "
    update tenure_lock set ended = 1
     where lock_hash = ?2 and (?3 is null or owner_id = ?3) and ended = 0 and expires_at > ?1
    returning *";

/// Releases a live lease and records it.
pub(super) async fn release(
    connection: &mut SqliteConnection,
    proof: &Proof,
    now: i64,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let released = change(connection, RELEASE, proof, Duration::ZERO, now).await?;
    if let Some(row) = &released {
        record_ended(connection, row, "released", None, None, now).await?;
    }
    answer(connection, proof, released, now).await
}

const RECORD_ENDED: &str = "
    insert into tenure_lock_history
           (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, ended_at, how,
            by_id, by_name, by_role, reason)
    select lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as, since, ?1, ?3, ?4, ?5, ?7, ?6
      from tenure_lock where lock_hash = ?2";

/// Records the end of a live lease, and the other party.
pub(super) async fn record_ended(
    connection: &mut SqliteConnection,
    row: &SqliteRow,
    how: &str,
    by: Option<&Owner>,
    reason: Option<&str>,
    now: i64,
) -> Result<(), DatabaseError> {
    let record = sqlx::query(RECORD_ENDED)
        .bind(now)
        .bind(lease(row, now)?.lock)
        .bind(how)
        .bind(by.map(|by| by.id.as_str()))
        .bind(by.map(|by| by.name.as_str()))
        .bind(reason)
        .bind(by.and_then(|by| by.role.as_deref()));
    record.execute(connection).await.map(drop).map_err(classify)
}

/// Runs one of the statements on the lease of a lock id; it returns no row if there is none.
async fn change(
    connection: &mut SqliteConnection,
    statement: &'static str,
    proof: &Proof,
    by: Duration,
    now: i64,
) -> Result<Option<SqliteRow>, DatabaseError> {
    let query = sqlx::query(statement).bind(now).bind(&proof.lock[..]).bind(&proof.owner);
    query.bind(millis(by.min(CENTURY))).fetch_optional(connection).await.map_err(classify)
}

/// The lease as of now, or the reason that there is none.
async fn answer(
    connection: &mut SqliteConnection,
    proof: &Proof,
    row: Option<SqliteRow>,
    now: i64,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    match row {
        Some(row) => Ok(Ok(lease(&row, now)?.holder)),
        None => leases::check(connection, proof, now).await,
    }
}

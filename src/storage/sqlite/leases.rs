//! Reading leases: holders, and the reasons that a lock id holds no lease.
//!
//! SQLite runs inside this process, so its clock is this host's clock, the same for every process that can open the
//! file. `now` is read from it after any wait, in milliseconds since 1970.

use serde::Deserialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::errors::classify;
use super::slots;
use crate::clock::{from_millis, until};
use crate::error::DatabaseError;
use crate::lease::policy::{ShowOwner, usual_heartbeat};
use crate::lease::{HeldByType, Holder, LeaseLossReason, LockKey, NoLock, Owner, RanOut};
use crate::storage::{KeyState, LockHash, Proof};

/// A row of the lock table.
pub(super) struct StoredLease {
    pub holder: Holder,
    pub lock: Vec<u8>,
    pub alive: bool,
    pub ended: bool,
    /// Handed over and not acquired yet: only a reservation has a time to live of zero.
    pub reserved: bool,
    /// The absolute limit.
    pub hard_until: i64,
    /// Whether its expiry is that of the idle limit.
    idle: bool,
    expires_at: i64,
}

/// A row of the lock table, in the order in which it is read as JSON.
#[derive(Deserialize)]
pub(super) struct Columns {
    kind: String,
    id: String,
    generation: i64,
    lock_hash: String,
    owner_id: String,
    owner_name: String,
    owner_role: Option<String>,
    shown_as: i64,
    since: i64,
    last_active: i64,
    active_at: i64,
    expires_at: i64,
    ttl: i64,
    idle_limit: Option<i64>,
    hard_until: i64,
    ended: i64,
    shared: i64,
}

/// Reads a row of the lock table.
pub(super) fn lease(row: &SqliteRow, now: i64) -> Result<StoredLease, DatabaseError> {
    let text = |column| row.try_get::<String, _>(column).map_err(classify);
    let number = |column| row.try_get::<i64, _>(column).map_err(classify);
    let columns = Columns {
        kind: text("kind")?,
        id: text("id")?,
        generation: number("generation")?,
        lock_hash: String::new(),
        owner_id: text("owner_id")?,
        owner_name: text("owner_name")?,
        owner_role: row.try_get("owner_role").map_err(classify)?,
        shown_as: number("shown_as")?,
        since: number("since")?,
        last_active: number("last_active")?,
        active_at: number("active_at")?,
        expires_at: number("expires_at")?,
        ttl: number("ttl")?,
        idle_limit: row.try_get("idle_limit").map_err(classify)?,
        hard_until: number("hard_until")?,
        ended: number("ended")?,
        shared: number("shared")?,
    };
    Ok(columns.into_lease(row.try_get("lock_hash").map_err(classify)?, now))
}

impl Columns {
    /// A row that was read as JSON, where the hash of the lock id is a text.
    pub(super) fn into_lease_of_json(self, now: i64) -> StoredLease {
        let digits = self.lock_hash.as_bytes().chunks(2);
        let byte = |digits: &[u8]| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok();
        // An invalid hash matches no lock id.
        let lock = digits.map(byte).collect::<Option<_>>().unwrap_or_default();
        self.into_lease(lock, now)
    }

    fn into_lease(self, lock: Vec<u8>, now: i64) -> StoredLease {
        let (remaining, ttl) = (self.expires_at.saturating_sub(now), until(self.ttl, 0));
        StoredLease {
            holder: Holder {
                key: LockKey::new(self.kind, self.id),
                owner: Owner { role: self.owner_role, ..Owner::new(self.owner_id, self.owner_name) },
                generation: self.generation,
                since: from_millis(self.since),
                last_active: from_millis(self.last_active),
                last_input: from_millis(self.active_at),
                remaining: until(self.expires_at, now),
                ttl,
                idle: until(now, self.active_at),
                silent: until(now, self.last_active),
                shared: self.shared != 0,
                heartbeat: usual_heartbeat(ttl),
                shown: ShowOwner::from_stored(self.shown_as),
            },
            lock,
            alive: remaining > 0 && self.ended == 0,
            ended: self.ended != 0,
            reserved: self.ttl == 0,
            hard_until: self.hard_until,
            idle: self.idle_limit.is_some_and(|limit| self.expires_at >= self.active_at.saturating_add(limit)),
            expires_at: self.expires_at,
        }
    }
}

/// The owner in two columns, if there is one.
pub(super) fn owner(row: &SqliteRow, id: &str, name: &str) -> Result<Option<Owner>, DatabaseError> {
    let id: Option<String> = row.try_get(id).map_err(classify)?;
    let name: Option<String> = row.try_get(name).map_err(classify)?;
    Ok(id.zip(name).map(|(id, name)| Owner::new(id, name)))
}

/// As [`owner`], with the role; the columns begin with `who`.
pub(super) fn person(row: &SqliteRow, who: &str) -> Result<Option<Owner>, DatabaseError> {
    let role = row.try_get(&*format!("{who}_role")).map_err(classify)?;
    let owner = owner(row, &format!("{who}_id"), &format!("{who}_name"))?;
    Ok(owner.map(|owner| Owner { role, ..owner }))
}

const EXCLUSIVE: &str = "select * from tenure_lock where kind = ? and id = ? and slot = x''";

/// The row of the exclusive lock on a key, alive or not.
pub(super) async fn alone(
    connection: &mut SqliteConnection,
    key: &LockKey,
    now: i64,
) -> Result<Option<StoredLease>, DatabaseError> {
    let select = sqlx::query(EXCLUSIVE).bind(key.kind()).bind(key.id());
    let row = select.fetch_optional(connection).await.map_err(classify)?;
    row.as_ref().map(|row| lease(row, now)).transpose()
}

/// The live exclusive lease on a key.
pub(super) async fn exclusive(
    connection: &mut SqliteConnection,
    key: &LockKey,
    now: i64,
) -> Result<Option<StoredLease>, DatabaseError> {
    Ok(alone(connection, key, now).await?.filter(|lease| lease.alive))
}

/// Whether a key is held. In a writing transaction no other session can acquire it, with or without a row.
pub(super) async fn key_state(
    connection: &mut SqliteConnection,
    key: &LockKey,
    now: i64,
) -> Result<KeyState, DatabaseError> {
    let holder = match alone(connection, key, now).await? {
        Some(lease) if lease.alive => Some(lease.holder),
        Some(lease) if lease.holder.shared => slots::reader(connection, key, now).await?,
        _ => None,
    };
    Ok(holder.map_or(KeyState::Free, KeyState::Held))
}

/// The row of a lock id, alive or not.
pub(super) const BY_LOCK_ID: &str = "select * from tenure_lock where lock_hash = ?";

/// Checks whether the presented lock id holds a lease; the error contains the reason.
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
        Some(lease) if lease.alive => (lease.holder.key, lease.holder.owner.id, LeaseLossReason::NotYours),
        Some(lease) if !lease.ended => {
            let why = LeaseLossReason::ran_out(
                from_millis(lease.expires_at),
                RanOut::of(lease.idle, lease.expires_at >= lease.hard_until),
            );
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
      from tenure_lock_history where lock_hash = ?";

/// The cause of a lease's expiry, as the history stores it.
pub(super) fn ran_out(row: &SqliteRow) -> Result<RanOut, DatabaseError> {
    let said = |column| row.try_get::<i64, _>(column).map(|said| said != 0).map_err(classify);
    Ok(RanOut::of(said("idle")?, said("limited")?))
}

/// The history entry of a lock id: the key, the owner, and the end.
pub(super) async fn ended(
    connection: &mut SqliteConnection,
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

const COUNT: &str =
    "select count(*) from tenure_lock where owner_id = ?2 and ended = 0 and expires_at > ?1 and ttl > 0";

/// The number of leases that an owner holds. Reservations do not count.
pub(super) async fn count(connection: &mut SqliteConnection, owner: &str, now: i64) -> Result<u64, DatabaseError> {
    let count: i64 = sqlx::query_scalar(COUNT).bind(now).bind(owner).fetch_one(connection).await.map_err(classify)?;
    Ok(u64::try_from(count).unwrap_or(0))
}

const HELD_BY_TYPE: &str = "
    select kind, count(*) as count, min(since) as since from tenure_lock
     where ended = 0 and expires_at > ?1 group by kind order by kind";

/// The number of held leases, by type.
pub(super) async fn held_by_type(
    connection: &mut SqliteConnection,
    now: i64,
) -> Result<Vec<HeldByType>, DatabaseError> {
    let rows = sqlx::query(HELD_BY_TYPE).bind(now).fetch_all(connection).await.map_err(classify)?;
    let read = |row: &SqliteRow| {
        let number = |column| row.try_get::<i64, _>(column).map_err(classify);
        Ok(HeldByType {
            kind: row.try_get("kind").map_err(classify)?,
            count: number("count")?.try_into().unwrap_or(0),
            oldest: until(now, number("since")?),
        })
    };
    rows.iter().map(read).collect()
}

//! Reading leases: holders, and counts.
//!
//! SQLite runs inside this process, so its clock is this host's clock, the same for every process that can open the
//! file. `now` is read from it after any wait, in milliseconds since 1970.

use serde::Deserialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::errors::classify;
use super::slots;
use crate::clock::until;
use crate::error::DatabaseError;
use crate::lease::engine::{LeaseRow, Place};
use crate::lease::policy::ShowOwner;
use crate::lease::{HeldByType, Holder, LockKey, Owner, RanOut};
use crate::storage::{KeyState, leases};

/// A row of the lock table, at a time.
pub(super) struct StoredLease {
    pub holder: Holder,
    pub lock: Vec<u8>,
    pub alive: bool,
    pub ended: bool,
    /// Handed over and not acquired yet.
    pub reserved: bool,
}

impl StoredLease {
    fn of(row: LeaseRow, now: i64) -> Self {
        StoredLease {
            holder: row.holder(now),
            alive: row.alive(now),
            ended: row.ended,
            reserved: row.is_reservation(),
            lock: row.lock,
        }
    }
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
    Ok(StoredLease::of(leases::lease(row).map_err(classify)?, now))
}

impl Columns {
    /// A row that was read as JSON, where the hash of the lock id is a text.
    pub(super) fn into_lease_of_json(self, now: i64) -> StoredLease {
        let digits = self.lock_hash.as_bytes().chunks(2);
        let byte = |digits: &[u8]| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok();
        // An invalid hash matches no lock id.
        let lock = digits.map(byte).collect::<Option<_>>().unwrap_or_default();
        let row = LeaseRow {
            place: Place::exclusive(&LockKey::new(self.kind, self.id)),
            generation: self.generation,
            lock,
            owner: Owner { role: self.owner_role, ..Owner::new(self.owner_id, self.owner_name) },
            shown: ShowOwner::from_stored(self.shown_as),
            shared: self.shared != 0,
            since: self.since,
            last_active: self.last_active,
            active_at: self.active_at,
            expires_at: self.expires_at,
            ttl: self.ttl,
            idle_limit: self.idle_limit,
            hard_until: self.hard_until,
            ended: self.ended != 0,
        };
        StoredLease::of(row, now)
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

/// The cause of a lease's expiry, as the history stores it.
pub(super) fn ran_out(row: &SqliteRow) -> Result<RanOut, DatabaseError> {
    let said = |column| row.try_get::<i64, _>(column).map(|said| said != 0).map_err(classify);
    Ok(RanOut::of(said("idle")?, said("limited")?))
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

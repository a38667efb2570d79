//! Reading leases: holders, and the reasons that a lock id holds no lease.
//!
//! Rows are always locked by their primary key, even if they are found by lock id. Takeovers do the same, so that two sessions cannot
//! deadlock between the two indexes.

use sqlx::Row;
use sqlx::mysql::MySqlRow;

use super::deadline::RowLock;
use super::errors::classify;
use super::session::{Session, Statement};
use super::{load, slots, written};
use crate::clock::{from_millis, until};
use crate::error::DatabaseError;
use crate::lease::policy::{ShowOwner, usual_heartbeat};
use crate::lease::{HeldByType, Holder, LeaseLossReason, LockKey, NoLock, Owner, RanOut};
use crate::storage::{KeyState, LockHash, Proof};

/// The time in milliseconds since 1970: from a test, or from the server's clock at this moment. `now()` would be
/// the start of the statement, which may have waited for a lock since.
macro_rules! clock {
    ($given:literal) => {
        concat!("cast(coalesce(", $given, ", unix_timestamp(sysdate(6)) * 1000) as signed)")
    };
}
pub(super) use clock;

/// The columns that [`lease`] reads, besides the time.
macro_rules! lease_columns {
    () => {
        "convert(kind using utf8mb4) as kind, convert(id using utf8mb4) as id, slot, generation, lock_hash, owner_id, owner_name,
         owner_role, shown_as, since, last_active, active_at, expires_at, ttl, idle_limit, hard_until, shared, ended"
    };
}
pub(super) use lease_columns;

/// The columns that [`lease`] reads. Binds the time of a test, or null.
macro_rules! select_lease {
    ($where:literal) => {
        concat!(
            "select ",
            $crate::storage::mysql::leases::clock!("?"),
            " as clock, ",
            $crate::storage::mysql::leases::lease_columns!(),
            " from tenure_lock ",
            $where
        )
    };
}
pub(super) use select_lease;

/// A row of the lock table.
#[derive(Clone)]
pub(super) struct StoredLease {
    pub holder: Holder,
    pub lock: Vec<u8>,
    pub slot: Vec<u8>,
    pub ended: bool,
    /// Exactly as it is stored.
    pub since: i64,
    pub last_active: i64,
    /// The last input by the person.
    pub active_at: i64,
    pub expires_at: i64,
    pub ttl: i64,
    pub idle_limit: Option<i64>,
    pub hard_until: i64,
    /// The time when the row was read, and locked if it was.
    pub now: i64,
}

impl StoredLease {
    /// Handed over and not acquired yet: only a reservation has a time to live of zero.
    pub(super) fn reserved(&self) -> bool {
        self.ttl == 0
    }

    pub(super) fn alive(&self) -> bool {
        self.expires_at > self.now && !self.ended
    }

    /// Whether it has the presented lock id and belongs to its presenter.
    pub(super) fn is_proven_by(&self, proof: &Proof) -> bool {
        self.lock == proof.lock && proof.is_by(&self.holder.owner.id)
    }

    /// Whether its expiry is that of the idle limit.
    pub(super) fn idle(&self) -> bool {
        self.idle_limit.is_some_and(|limit| self.expires_at >= self.active_at.saturating_add(limit))
    }

    /// Whether its expiry is that of the absolute limit.
    pub(super) fn limited(&self) -> bool {
        self.expires_at >= self.hard_until
    }

    /// The holder, with the times as of now.
    pub(super) fn into_holder(self) -> Holder {
        let ttl = until(self.ttl, 0);
        Holder {
            last_active: from_millis(self.last_active),
            last_input: from_millis(self.active_at),
            remaining: until(self.expires_at, self.now),
            ttl,
            idle: until(self.now, self.active_at),
            silent: until(self.now, self.last_active),
            heartbeat: usual_heartbeat(ttl),
            ..self.holder
        }
    }
}

/// Reads a row of the lock table, with the time as a column `clock`.
pub(super) fn lease(row: &MySqlRow) -> Result<StoredLease, DatabaseError> {
    let text = |column| row.try_get::<String, _>(column).map_err(classify);
    let number = |column| row.try_get::<i64, _>(column).map_err(classify);
    let bytes = |column| row.try_get::<Vec<u8>, _>(column).map_err(classify);
    Ok(StoredLease {
        holder: Holder {
            owner: person(row, "owner")?.unwrap_or_else(|| Owner::new("", "")),
            generation: number("generation")?,
            since: from_millis(number("since")?),
            shared: row.try_get("shared").map_err(classify)?,
            shown: ShowOwner::from_stored(number("shown_as")?),
            ..Holder::to_be(LockKey::new(text("kind")?, text("id")?))
        },
        lock: bytes("lock_hash")?,
        slot: bytes("slot")?,
        ended: row.try_get("ended").map_err(classify)?,
        since: number("since")?,
        last_active: number("last_active")?,
        active_at: number("active_at")?,
        expires_at: number("expires_at")?,
        ttl: number("ttl")?,
        idle_limit: row.try_get("idle_limit").map_err(classify)?,
        hard_until: number("hard_until")?,
        now: number("clock")?,
    })
}

/// The owner in two columns, if there is one.
pub(super) fn owner(row: &MySqlRow, id: &str, name: &str) -> Result<Option<Owner>, DatabaseError> {
    let id: Option<String> = row.try_get(id).map_err(classify)?;
    let name: Option<String> = row.try_get(name).map_err(classify)?;
    Ok(id.zip(name).map(|(id, name)| Owner::new(id, name)))
}

/// As [`owner`], with the role; the columns begin with `who`.
pub(super) fn person(row: &MySqlRow, who: &str) -> Result<Option<Owner>, DatabaseError> {
    let role = row.try_get(&*format!("{who}_role")).map_err(classify)?;
    let owner = owner(row, &format!("{who}_id"), &format!("{who}_name"))?;
    Ok(owner.map(|owner| Owner { role, ..owner }))
}

/// Whether a key is held; its row, if it has one, is locked.
///
/// Not by a shared lock: the same transaction may hold a lease on the key next, which needs an exclusive row lock. Two transactions that
/// share the row would then deadlock.
pub(super) async fn key_state(
    session: &mut Session,
    key: &LockKey,
    now: Option<i64>,
) -> Result<KeyState, DatabaseError> {
    let Some(lease) = in_slot(session, key, &[], RowLock::Update, now).await? else { return Ok(KeyState::NoRow) };
    written::lock(session, key, &lease.slot).await?;
    let holder = match lease {
        lease if lease.alive() => Some(lease.into_holder()),
        // Read by a later statement, which sees leases that were granted before the row was locked.
        lease if lease.holder.shared => {
            let lock = load::afterwards(session.flavour(), RowLock::Update);
            slots::reader(session, key, lock, now).await?
        }
        _ => None,
    };
    Ok(holder.map_or(KeyState::Free, KeyState::Held))
}

/// The live exclusive lease on a key; with a lock it stays unchanged to the end of the transaction.
pub(super) async fn exclusive(
    session: &mut Session,
    key: &LockKey,
    lock: RowLock,
    now: Option<i64>,
) -> Result<Option<StoredLease>, DatabaseError> {
    Ok(in_slot(session, key, &[], lock, now).await?.filter(StoredLease::alive))
}

pub(super) const IN_SLOT: &str = select_lease!("where kind = ? and id = ? and slot = ?");

/// The row in a slot: the exclusive lease, or one shared or advisory lease; alive or not.
pub(super) async fn in_slot(
    session: &mut Session,
    key: &LockKey,
    slot: &[u8],
    lock: RowLock,
    now: Option<i64>,
) -> Result<Option<StoredLease>, DatabaseError> {
    let select = Statement::new(IN_SLOT).bind(now).bind(key.kind().as_bytes()).bind(key.id().as_bytes()).bind(slot);
    session.fetch_locked(select, lock).await.map_err(classify)?.as_ref().map(lease).transpose()
}

pub(super) const BY_LOCK_ID: &str = select_lease!("where lock_hash = ?");

/// The row that a lock id holds, alive or not.
pub(super) async fn of_lock(
    session: &mut Session,
    proof: &Proof,
    now: Option<i64>,
) -> Result<Option<StoredLease>, DatabaseError> {
    let select = Statement::new(BY_LOCK_ID).bind(now).bind(&proof.lock[..]);
    session.fetch_optional(select).await.map_err(classify)?.as_ref().map(lease).transpose()
}

/// Checks whether the presented lock id holds a lease, and holds it to the end of the transaction: takeovers and breaks wait, and so do its heartbeats.
///
/// Not by a shared lock: if a heartbeat is already waiting when the same transaction releases the lease, which needs an exclusive row lock,
/// the two deadlock. With heartbeats in a loop every save with a release cost one of them.
pub(super) async fn hold(
    session: &mut Session,
    proof: &Proof,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let found = by_lock_id(session, proof, RowLock::Update, now).await?;
    if let Some(lease) = found.as_ref().filter(|lease| lease.alive()) {
        written::lock(session, &lease.holder.key, &lease.slot).await?;
    }
    judge(session, proof, found, now).await
}

/// The subqueries read without locking, before the row is looked up. So the index of lock ids is not locked, and the row may belong to
/// another lock id by then.
pub(super) const LOCK_BY_LOCK_ID: &str = select_lease!(
    "where kind = (select other.kind from tenure_lock as other where other.lock_hash = ?)
       and id = (select other.id from tenure_lock as other where other.lock_hash = ?)
       and slot = (select other.slot from tenure_lock as other where other.lock_hash = ?)"
);

/// The row that a lock id holds, alive or not, locked.
pub(super) async fn by_lock_id(
    session: &mut Session,
    proof: &Proof,
    lock: RowLock,
    now: Option<i64>,
) -> Result<Option<StoredLease>, DatabaseError> {
    let hash = &proof.lock[..];
    let select = Statement::new(LOCK_BY_LOCK_ID).bind(now).bind(hash).bind(hash).bind(hash);
    let row = session.fetch_locked(select, lock).await.map_err(classify)?;
    Ok(row.as_ref().map(lease).transpose()?.filter(|lease| lease.lock == proof.lock))
}

/// Checks whether a row is a live lease of the presenter of the lock id; the error contains the reason.
async fn judge(
    session: &mut Session,
    proof: &Proof,
    found: Option<StoredLease>,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let (key, owner_id, why) = match found {
        Some(lease) if lease.alive() && lease.is_proven_by(proof) => return Ok(Ok(lease.into_holder())),
        Some(lease) if lease.alive() => (lease.holder.key, lease.holder.owner.id, LeaseLossReason::NotYours),
        Some(lease) if !lease.ended => {
            let why =
                LeaseLossReason::ran_out(from_millis(lease.expires_at), RanOut::of(lease.idle(), lease.limited()));
            (lease.holder.key, lease.holder.owner.id, why)
        }
        _ => match ended(session, &proof.lock).await? {
            Some(ended) => ended,
            None => return Ok(Err(NoLock { key: None, why: LeaseLossReason::Unknown, held_now: None })),
        },
    };
    // A stranger does not learn how another owner's lease ended.
    let why = if proof.is_by(&owner_id) { why } else { LeaseLossReason::NotYours };
    let held_now = exclusive(session, &key, RowLock::None, now).await?.map(StoredLease::into_holder);
    Ok(Err(NoLock { key: Some(key), why, held_now }))
}

const ENDED: &str = "
    select convert(kind using utf8mb4) as kind, convert(id using utf8mb4) as id, owner_id, ended_at, how, idle, limited,
           shown_as, by_id, by_name, by_role, reason from tenure_lock_history where lock_hash = ?";

/// The cause of a lease's expiry, as the history stores it.
pub(super) fn ran_out(row: &MySqlRow) -> Result<RanOut, DatabaseError> {
    let said = |column| row.try_get::<bool, _>(column).map_err(classify);
    Ok(RanOut::of(said("idle")?, said("limited")?))
}

/// The history entry of a lock id: the key, the owner, and the end.
pub(super) async fn ended(
    session: &mut Session,
    lock: &LockHash,
) -> Result<Option<(LockKey, String, LeaseLossReason)>, DatabaseError> {
    let row = session.fetch_optional(Statement::new(ENDED).bind(&lock[..])).await.map_err(classify)?;
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

const COUNT: &str = concat!(
    "select count(*) from tenure_lock
      where owner_id = ? and cast(owner_id as binary) = cast(? as binary) and not ended and ttl > 0 and expires_at > ",
    clock!("?")
);

/// The number of leases that an owner holds. Reservations do not count.
pub(super) async fn count(session: &mut Session, owner: &str, now: Option<i64>) -> Result<u64, DatabaseError> {
    let count = Statement::new(COUNT).bind(owner).bind(owner).bind(now);
    let row = session.fetch_optional(count).await.map_err(classify)?;
    let count: i64 = row.map_or(Ok(0), |row| row.try_get(0)).map_err(classify)?;
    Ok(u64::try_from(count).unwrap_or(0))
}

const HELD_BY_TYPE: &str = concat!(
    "select convert(kind using utf8mb4) as kind, count(*) as count, min(since) as since, ",
    clock!("?"),
    " as clock from tenure_lock where not ended and expires_at > ",
    clock!("?"),
    " group by tenure_lock.kind order by tenure_lock.kind"
);

/// The number of held leases, by type.
pub(super) async fn held_by_type(session: &mut Session, now: Option<i64>) -> Result<Vec<HeldByType>, DatabaseError> {
    let rows = session.fetch_all(Statement::new(HELD_BY_TYPE).bind(now).bind(now)).await.map_err(classify)?;
    let read = |row: &MySqlRow| {
        let number = |column| row.try_get::<i64, _>(column).map_err(classify);
        Ok(HeldByType {
            kind: row.try_get("kind").map_err(classify)?,
            count: number("count")?.try_into().unwrap_or(0),
            oldest: until(number("clock")?, number("since")?),
        })
    };
    rows.iter().map(read).collect()
}

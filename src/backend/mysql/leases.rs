//! Reading leases: who holds what, and why a lock id holds nothing.
//!
//! Rows are always locked by their primary key, also when they are looked for by lock id. Whoever takes a lease over goes
//! the same way, so that no two of them wait for each other between the two indexes.

use sqlx::Row;
use sqlx::mysql::MySqlRow;

use super::deadline::RowLock;
use super::errors::classify;
use super::session::{Session, Statement};
use crate::backend::{Attempt, LockHash, LockRequest, Proof};
use crate::clock::from_millis;
use crate::error::DatabaseError;
use crate::lease::{Holder, LockKey, NoLock, Owner, Why};

/// The time in milliseconds since 1970: as given by a test, or else of the server's clock at this moment. `now()` would be
/// the start of the statement, which may have waited for a lock since.
macro_rules! clock {
    ($given:literal) => {
        concat!("cast(coalesce(", $given, ", unix_timestamp(sysdate(6)) * 1000) as signed)")
    };
}
pub(super) use clock;

/// What [`lease`] reads. Binds the time that a test gives, or null.
macro_rules! select_lease {
    ($where:literal) => {
        concat!(
            "select ",
            $crate::backend::mysql::leases::clock!("?"),
            " as clock, convert(kind using utf8mb4) as kind, convert(id using utf8mb4) as id, slot, generation, lock_hash,
                    owner_id, owner_name, since, last_active, expires_at, ttl, hard_until, ended from tenure_lock ",
            $where
        )
    };
}

/// A row of the lock table.
#[derive(Clone)]
pub(super) struct StoredLease {
    pub holder: Holder,
    pub lock: Vec<u8>,
    pub slot: Vec<u8>,
    pub ended: bool,
    pub last_active: i64,
    pub expires_at: i64,
    pub ttl: i64,
    pub hard_until: i64,
    /// The time when the row was read, and locked if it was.
    pub now: i64,
}

impl StoredLease {
    /// Handed over and not taken yet: no policy has a time to live of zero, so whoever takes the key ends it.
    pub(super) fn reserved(&self) -> bool {
        self.ttl == 0
    }

    pub(super) fn alive(&self) -> bool {
        self.expires_at > self.now && !self.ended
    }

    /// Whether it is the one that is shown, and theirs who shows it.
    pub(super) fn is_proven_by(&self, proof: &Proof) -> bool {
        self.lock == proof.lock && proof.is_by(&self.holder.owner.id)
    }

    /// Who holds it, with the times as they are now.
    pub(super) fn into_holder(self) -> Holder {
        let remaining = u64::try_from(self.expires_at.saturating_sub(self.now)).unwrap_or(0);
        Holder {
            last_active: from_millis(self.last_active),
            remaining: std::time::Duration::from_millis(remaining),
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
            key: LockKey::new(text("kind")?, text("id")?),
            owner: Owner::new(text("owner_id")?, text("owner_name")?),
            generation: number("generation")?,
            since: from_millis(number("since")?),
            last_active: from_millis(0),
            remaining: std::time::Duration::ZERO,
        },
        lock: bytes("lock_hash")?,
        slot: bytes("slot")?,
        ended: row.try_get("ended").map_err(classify)?,
        last_active: number("last_active")?,
        expires_at: number("expires_at")?,
        ttl: number("ttl")?,
        hard_until: number("hard_until")?,
        now: number("clock")?,
    })
}

/// Who is named in two columns, if anybody is.
pub(super) fn owner(row: &MySqlRow, id: &str, name: &str) -> Result<Option<Owner>, DatabaseError> {
    let id: Option<String> = row.try_get(id).map_err(classify)?;
    let name: Option<String> = row.try_get(name).map_err(classify)?;
    Ok(id.zip(name).map(|(id, name)| Owner { id, name }))
}

/// Who is in the way of a request for the exclusive lock, if anybody is. A reservation is not in the way of whom it is for.
pub(super) async fn held_by_other(
    session: &mut Session,
    request: &LockRequest,
    now: Option<i64>,
) -> Result<Option<Attempt>, DatabaseError> {
    let lease = exclusive(session, &request.key, RowLock::None, now).await?;
    Ok(match lease.filter(|lease| lease.lock != request.lock) {
        Some(lease) if lease.reserved() && lease.holder.owner.id == request.owner.id => None,
        Some(lease) if lease.reserved() => Some(Attempt::Reserved(lease.into_holder())),
        lease => lease.map(|lease| Attempt::Held(lease.into_holder())),
    })
}

/// The live exclusive lease on a key; with a lock it stays so to the end of the transaction.
pub(super) async fn exclusive(
    session: &mut Session,
    key: &LockKey,
    lock: RowLock,
    now: Option<i64>,
) -> Result<Option<StoredLease>, DatabaseError> {
    Ok(in_slot(session, key, &[], lock, now).await?.filter(StoredLease::alive))
}

const IN_SLOT: &str = select_lease!("where kind = ? and id = ? and slot = ?");

/// The row of a key: that of the exclusive lock, or of one advisory lease; alive or not.
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

const BY_LOCK_ID: &str = select_lease!("where lock_hash = ?");

/// Whether the lock id that is shown holds a lease, and why not.
pub(super) async fn check(
    session: &mut Session,
    proof: &Proof,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let found = of_lock(session, proof, now).await?;
    judge(session, proof, found, now).await
}

/// The row that a lock id holds, alive or not.
pub(super) async fn of_lock(
    session: &mut Session,
    proof: &Proof,
    now: Option<i64>,
) -> Result<Option<StoredLease>, DatabaseError> {
    let select = Statement::new(BY_LOCK_ID).bind(now).bind(&proof.lock[..]);
    session.fetch_optional(select).await.map_err(classify)?.as_ref().map(lease).transpose()
}

/// As [`check`], and holds the lease to the end of the transaction: whoever takes it over or breaks it waits, but so does
/// its heartbeat.
///
/// Not by a shared lock: if a heartbeat waits already when the same transaction releases the lease, which needs the row
/// for itself, the two wait for each other. With heartbeats in a loop every save that released cost one of them.
pub(super) async fn hold(
    session: &mut Session,
    proof: &Proof,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let found = by_lock_id(session, proof, RowLock::Update, now).await?;
    judge(session, proof, found, now).await
}

/// The subqueries read without locking, and are done before the row is looked for. So the index of lock ids is not locked,
/// and the row that is found may by then be somebody else's.
const LOCK_BY_LOCK_ID: &str = select_lease!(
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

/// Whether a row is a live lease of whoever shows the lock id, and why not.
async fn judge(
    session: &mut Session,
    proof: &Proof,
    found: Option<StoredLease>,
    now: Option<i64>,
) -> Result<Result<Holder, NoLock>, DatabaseError> {
    let (key, owner_id, why) = match found {
        Some(lease) if lease.alive() && lease.is_proven_by(proof) => return Ok(Ok(lease.into_holder())),
        Some(lease) if lease.alive() => (lease.holder.key, lease.holder.owner.id, Why::NotYours),
        Some(lease) if !lease.ended => {
            let at = from_millis(lease.expires_at);
            (lease.holder.key, lease.holder.owner.id, Why::Expired { at })
        }
        _ => match ended(session, &proof.lock).await? {
            Some(ended) => ended,
            None => return Ok(Err(NoLock { key: None, why: Why::Unknown, held_now: None })),
        },
    };
    // To a stranger, how somebody else's lease ended is nobody's business.
    let why = if proof.is_by(&owner_id) { why } else { Why::NotYours };
    let held_now = exclusive(session, &key, RowLock::None, now).await?.map(StoredLease::into_holder);
    Ok(Err(NoLock { key: Some(key), why, held_now }))
}

const ENDED: &str = "
    select convert(kind using utf8mb4) as kind, convert(id using utf8mb4) as id, owner_id, ended_at, how, by_id, by_name,
           reason from tenure_lock_history where lock_hash = ?";

/// What the history says about a lock id: of what, whose, and how it ended.
pub(super) async fn ended(
    session: &mut Session,
    lock: &LockHash,
) -> Result<Option<(LockKey, String, Why)>, DatabaseError> {
    let row = session.fetch_optional(Statement::new(ENDED).bind(&lock[..])).await.map_err(classify)?;
    let Some(row) = row else { return Ok(None) };
    let text = |column| row.try_get::<String, _>(column).map_err(classify);
    let at = from_millis(row.try_get("ended_at").map_err(classify)?);
    let reason = row.try_get("reason").map_err(classify)?;
    let why = Why::recorded(&text("how")?, at, owner(&row, "by_id", "by_name")?, reason);
    Ok(Some((LockKey::new(text("kind")?, text("id")?), text("owner_id")?, why)))
}

const HOLDERS: &str =
    select_lease!("where kind = ? and id = ? and not ended having expires_at > clock order by since, generation");

/// Everybody who holds the key, exclusively or not, the longest-held first.
pub(super) async fn holders(
    session: &mut Session,
    key: &LockKey,
    now: Option<i64>,
) -> Result<Vec<Holder>, DatabaseError> {
    let select = Statement::new(HOLDERS).bind(now).bind(key.kind().as_bytes()).bind(key.id().as_bytes());
    let rows = session.fetch_all(select).await.map_err(classify)?;
    rows.iter().map(|row| lease(row).map(StoredLease::into_holder)).collect()
}

const HELD: &str = select_lease!(
    "where (? is null or kind = ?) and not ended having expires_at > clock
     order by since, tenure_lock.kind, tenure_lock.id limit ?"
);

/// Everything that is held, of one type or of all, the longest-held first.
pub(super) async fn held(
    session: &mut Session,
    kind: Option<&str>,
    limit: u32,
    now: Option<i64>,
) -> Result<Vec<Holder>, DatabaseError> {
    let kind = kind.map(str::as_bytes);
    let select = Statement::new(HELD).bind(now).bind(kind).bind(kind).bind(i64::from(limit));
    let rows = session.fetch_all(select).await.map_err(classify)?;
    rows.iter().map(|row| lease(row).map(StoredLease::into_holder)).collect()
}

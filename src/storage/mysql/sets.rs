//! Several locks at once: all of them or none. Rows are locked and inserted in the order of the keys, so that two sets cannot deadlock. The
//! requests are sent as one JSON text, with binary values in hexadecimal, so that one statement with a constant text covers all of them.

use sqlx::Row;

use super::batch::texts::LEASE;
use super::deadline::RowLock;
use super::errors::{classify, is_duplicate};
use super::leases::{StoredLease, clock, lease};
use super::session::{Session, Statement};
use super::{lock, slots};
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::Holder;
use crate::storage::{Attempt, AttemptAll, LockRequest, Proof};

/// A bound JSON text as rows `asked`, in its order. The limit prevents the server from merging it with the outer query: MariaDB 10.11 then
/// searches the history for the lock id of the previous row.
macro_rules! asked {
    () => {
        "(select place, unhex(kind) as kind, unhex(id) as id, unhex(slot) as slot, unhex(lock_hash) as lock_hash, ttl, most, idle_limit,
                 shown_as
            from json_table(?, '$[*]' columns (place bigint path '$[0]', kind varchar(510) path '$[1]',
                                               id varchar(2048) path '$[2]', slot varchar(64) path '$[3]',
                                               lock_hash varchar(64) path '$[4]', ttl bigint path '$[5]',
                                               most bigint path '$[6]', idle_limit bigint path '$[7]',
                                               shown_as bigint path '$[8]')) as json limit 10000) as asked"
    };
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn json<'r>(requests: impl IntoIterator<Item = (usize, &'r LockRequest)>) -> String {
    let row = |(at, request): (usize, &LockRequest)| {
        let LockRequest { key, lock, policy, .. } = request;
        let (kind, id) = (hex(key.kind().as_bytes()), hex(key.id().as_bytes()));
        let (ttl, most, idle) = (millis(policy.ttl), millis(policy.limit), policy.idle.map(millis));
        serde_json::json!([at, kind, id, "", hex(lock), ttl, most, idle, policy.shown.stored()])
    };
    serde_json::Value::Array(requests.into_iter().map(row).collect()).to_string()
}

/// The requested rows, with the indexes of the requests. Takes a lock only if it is requested.
async fn rows(
    session: &mut Session,
    requests: impl IntoIterator<Item = (usize, &LockRequest)>,
    lock: RowLock,
    now: Option<i64>,
) -> Result<Vec<(usize, StoredLease)>, DatabaseError> {
    let select = Statement::new(format!(
        concat!(
            "select ",
            clock!("?"),
            " as clock, asked.place, {} from ",
            asked!(),
            " straight_join tenure_lock as l \
             on l.kind = asked.kind and l.id = asked.id and l.slot = asked.slot"
        ),
        LEASE
    ));
    let rows = session.fetch_all_locked(select.bind(now).bind(json(requests)), lock).await.map_err(classify)?;
    let place = |row| -> Result<_, DatabaseError> {
        let at: i64 = sqlx::mysql::MySqlRow::try_get(row, "place").map_err(classify)?;
        Ok((usize::try_from(at).unwrap_or(usize::MAX), lease(row)?))
    };
    rows.iter().map(place).collect()
}

/// The leases that conflict with a request for the exclusive lock, by the indexes of the requests. Takes no lock.
pub(super) async fn blockers(
    session: &mut Session,
    requests: &[LockRequest],
    now: Option<i64>,
) -> Result<Vec<(usize, Attempt)>, DatabaseError> {
    let mut found = Vec::new();
    for (at, lease) in rows(session, alone(requests), RowLock::None, now).await? {
        let Some(request) = requests.get(at) else { continue };
        let theirs = lease.lock == request.lock || (lease.reserved() && lease.holder.owner.id == request.owner.id);
        let attempt = match lease.alive() {
            true if theirs => None,
            true if lease.reserved() => Some(Attempt::Reserved(lease.into_holder())),
            true => Some(Attempt::Held(lease.into_holder())),
            // It may be shared.
            false if lease.holder.shared => {
                slots::reader(session, &request.key, RowLock::None, now).await?.map(Attempt::Held)
            }
            false => None,
        };
        found.extend(attempt.map(|attempt| (at, attempt)));
    }
    found.sort_by_key(|(at, _)| *at);
    Ok(found)
}

/// The exclusive requests, with their indexes.
fn alone(requests: &[LockRequest]) -> impl Iterator<Item = (usize, &LockRequest)> {
    requests.iter().enumerate().filter(|(_, request)| request.is_alone())
}

const RECORD_EXPIRED: &str = concat!(
    "insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                      since, ended_at, how, idle, limited)
     select lease.lock_hash, lease.kind, lease.id, lease.generation, lease.owner_id, lease.owner_name,
            lease.owner_role, lease.shown_as, lease.since, lease.expires_at, 'expired',
            coalesce(lease.expires_at >= lease.active_at + lease.idle_limit, 0), lease.expires_at >= lease.hard_until
       from ",
    asked!(),
    " straight_join tenure_lock as lease
                    on lease.kind = asked.kind and lease.id = asked.id and lease.slot = asked.slot
      where not lease.ended and not lease.shared and lease.expires_at <= ",
    clock!("?"),
    " and lease.lock_hash <> asked.lock_hash
         on duplicate key update tenure_lock_history.lock_hash = tenure_lock_history.lock_hash"
);

/// As in [`lock`](super::lock): the verdict is computed first, and the later assignments use it.
const TAKE_ALL: &str = concat!(
    "insert into tenure_lock (kind, id, slot, generation, lock_hash, owner_id, owner_name, owner_role, shown_as,
                              since, last_active, active_at, expires_at, ttl, idle_limit, hard_until)
     select asked.kind, asked.id, asked.slot,
            1 + greatest(coalesce((select max(other.generation) from tenure_lock as other
                                    where other.kind = asked.kind and other.id = asked.id), 0),
                         coalesce((select swept.generation from tenure_lock_floor as swept
                                    where swept.kind = asked.kind), 0)),
            asked.lock_hash, owner.id, owner.name, owner.role, asked.shown_as, owner.now, owner.now, owner.now,
            owner.now + asked.ttl, asked.ttl, asked.idle_limit, owner.now + asked.most
       from (select ",
    clock!("?"),
    " as now, convert(? using utf8mb4) as id, convert(? using utf8mb4) as name,
                    convert(? using utf8mb4) as role) as owner
            straight_join ",
    asked!(),
    "
      where not exists (select 1 from tenure_lock_history as past where past.lock_hash = asked.lock_hash)
      order by asked.place
         on duplicate key update
            tenure_lock.verdict = case
                when tenure_lock.lock_hash <> asked.lock_hash
                then not tenure_lock.shared and (tenure_lock.ended or tenure_lock.expires_at <= owner.now
                  or (tenure_lock.ttl = 0 and cast(tenure_lock.owner_id as binary) = cast(owner.id as binary)))
                when tenure_lock.kind = asked.kind and tenure_lock.id = asked.id and tenure_lock.slot = asked.slot
                 and cast(tenure_lock.owner_id as binary) = cast(owner.id as binary)
                 and not tenure_lock.ended and tenure_lock.expires_at > owner.now
                then 2 else 0 end,
            tenure_lock.generation  = tenure_lock.generation + (tenure_lock.verdict = 1),
            tenure_lock.last_active = case tenure_lock.verdict
                when 1 then owner.now
                when 2 then owner.now + (owner.now = tenure_lock.since)
                else tenure_lock.last_active end,
            tenure_lock.since       = if(tenure_lock.verdict = 1, owner.now, tenure_lock.since),
            tenure_lock.hard_until  = if(tenure_lock.verdict = 1, owner.now + asked.most, tenure_lock.hard_until),
            tenure_lock.expires_at  = case tenure_lock.verdict
                when 1 then owner.now + asked.ttl
                when 2 then greatest(tenure_lock.expires_at, least(owner.now + asked.ttl, tenure_lock.hard_until))
                else tenure_lock.expires_at end,
            tenure_lock.lock_hash   = if(tenure_lock.verdict > 0, asked.lock_hash, tenure_lock.lock_hash),
            tenure_lock.owner_id    = if(tenure_lock.verdict > 0, owner.id, tenure_lock.owner_id),
            tenure_lock.owner_name  = if(tenure_lock.verdict > 0, owner.name, tenure_lock.owner_name),
            tenure_lock.owner_role  = if(tenure_lock.verdict > 0, owner.role, tenure_lock.owner_role),
            tenure_lock.shown_as    = if(tenure_lock.verdict > 0, asked.shown_as, tenure_lock.shown_as),
            tenure_lock.active_at   = if(tenure_lock.verdict > 0, owner.now, tenure_lock.active_at),
            tenure_lock.ttl         = if(tenure_lock.verdict > 0, asked.ttl, tenure_lock.ttl),
            tenure_lock.idle_limit  = if(tenure_lock.verdict > 0, asked.idle_limit, tenure_lock.idle_limit),
            tenure_lock.ended       = tenure_lock.ended and tenure_lock.verdict = 0"
);

/// Acquires all of them: the free ones together, and the rest one by one. The inner `Err` is the index of a refused request; then nothing
/// may be committed, and [`refused`] returns the reason.
pub(super) async fn take_all(
    session: &mut Session,
    requests: &[LockRequest],
    now: Option<i64>,
) -> Result<Result<Vec<Holder>, usize>, DatabaseError> {
    let mut granted: Vec<Option<Holder>> = requests.iter().map(|_| None).collect();
    if let Some((_, LockRequest { owner, .. })) = alone(requests).next() {
        // Lock existing rows before the end of their leases is recorded, as in every takeover.
        rows(session, alone(requests), RowLock::Update, now).await?;
        let record = Statement::new(RECORD_EXPIRED).bind(json(alone(requests))).bind(now);
        session.write(record).await.map_err(classify)?;
        let take = Statement::new(TAKE_ALL)
            .bind(now)
            .bind(owner.id.as_str())
            .bind(owner.name.as_str())
            .bind(owner.role.as_deref())
            .bind(json(alone(requests)));
        match session.write(take).await {
            Ok(_) => {}
            // Lock ids are unique over all keys: one of these holds another aggregate.
            Err(error) if is_duplicate(&error) => return Ok(Err(0)),
            Err(error) => return Err(classify(error)),
        }
        // The stored row is the winner, as in `lock`.
        for (at, lease) in rows(session, alone(requests), RowLock::None, now).await? {
            let (Some(place), Some(request)) = (granted.get_mut(at), requests.get(at)) else { continue };
            let proof = Proof { lock: request.lock, owner: Some(request.owner.id.clone()) };
            let theirs = Some(lease).filter(|lease| lease.alive() && lease.is_proven_by(&proof));
            *place = theirs.map(StoredLease::into_holder);
        }
    }
    for (at, request) in requests.iter().enumerate() {
        if granted[at].is_none() {
            match lock::take(session, request, now).await? {
                Some(holder) => granted[at] = Some(holder),
                None => return Ok(Err(at)),
            }
        }
    }
    Ok(Ok(granted.into_iter().flatten().collect()))
}

/// All conflicting leases as they are now, after the locks were released; or else the reason for this request.
pub(super) async fn refused(
    session: &mut Session,
    requests: &[LockRequest],
    at: usize,
    now: Option<i64>,
) -> Result<AttemptAll, DatabaseError> {
    let blockers = blockers(session, requests, now).await?;
    if !blockers.is_empty() {
        return Ok(AttemptAll::Refused(blockers));
    }
    // A lock id that was used before, or holds another aggregate, fails even if the key becomes free.
    for (at, request) in requests.iter().enumerate().skip(at) {
        if let used @ Attempt::Used(_) = lock::refused(session, request, now).await? {
            return Ok(AttemptAll::Refused(vec![(at, used)]));
        }
    }
    Ok(AttemptAll::Refused(vec![(at, Attempt::Lost)]))
}

//! Several locks at once: all of them or none. Rows are locked and inserted in the order of the keys, so that two sets cannot deadlock.
//! `$1` is the time of a test, or null, in every statement.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::errors::{classify, is_duplicate};
use super::leases::{self, lease};
use super::{Postgres, lock, slots};
use crate::clock::millis;
use crate::error::DatabaseError;
use crate::lease::{Holder, LeaseLossReason, NoLock};
use crate::storage::{Attempt, AttemptAll, LockRequest, Proof};

/// The number of attempts of an operation on several locks that deadlocked. Before each retry the server has waited for a second.
pub(super) const ATTEMPTS: u32 = 5;

const BLOCKERS: &str = "
    select asked.place, l.*, tenure_now($1) as now
      from unnest($2::bigint[], $3::text[], $4::text[]) as asked (place, kind, id)
      join tenure_lock l on l.kind = asked.kind and l.id = asked.id and l.slot = ''
     order by asked.place";

/// The leases that conflict with a request for the exclusive lock, by the indexes of the requests. Takes no lock.
pub(super) async fn blockers(
    connection: &mut PgConnection,
    requests: &[LockRequest],
    now: Option<i64>,
) -> Result<Vec<(usize, Attempt)>, DatabaseError> {
    let exclusive = || requests.iter().zip(0_i64..).filter(|(request, _)| request.is_alone());
    let rows = sqlx::query(BLOCKERS)
        .bind(now)
        .bind(exclusive().map(|(_, at)| at).collect::<Vec<_>>())
        .bind(exclusive().map(|(request, _)| request.key.kind()).collect::<Vec<_>>())
        .bind(exclusive().map(|(request, _)| request.key.id()).collect::<Vec<_>>())
        .fetch_all(&mut *connection)
        .await
        .map_err(classify)?;
    let mut found = Vec::new();
    for row in &rows {
        let at = usize::try_from(row.try_get::<i64, _>("place").map_err(classify)?).unwrap_or(usize::MAX);
        let (stored, Some(request)) = (lease(row)?, requests.get(at)) else { continue };
        let theirs = stored.lock == request.lock || (stored.reserved && stored.holder.owner.id == request.owner.id);
        let attempt = match stored.alive {
            true if theirs => None,
            true if stored.reserved => Some(Attempt::Reserved(stored.holder)),
            true => Some(Attempt::Held(stored.holder)),
            // It may be shared.
            false if stored.holder.shared => slots::reader(connection, &request.key, now).await?.map(Attempt::Held),
            false => None,
        };
        found.extend(attempt.map(|attempt| (at, attempt)));
    }
    Ok(found)
}

/// Acquires all leases of the set in one transaction, or none.
pub(super) async fn try_all(database: &Postgres, requests: &[LockRequest]) -> Result<AttemptAll, DatabaseError> {
    let now = database.time.given();
    // Read first: a refusal must neither wait for another session's save nor write.
    let found = database.pools.ask(async |connection| blockers(connection, requests, now).await).await?;
    if !found.is_empty() {
        return Ok(AttemptAll::Refused(found));
    }
    let mut attempt = 1;
    loop {
        let mut transaction = database.write().await?;
        let take = async |connection: &mut PgConnection| take_all(connection, requests, now).await;
        match transaction.wait_for(take).await {
            Ok(granted @ AttemptAll::Granted(_)) => {
                transaction.commit(None).await?;
                return Ok(granted);
            }
            Ok(AttemptAll::Refused(found)) => {
                transaction.rollback().await?;
                let explain = async |connection: &mut PgConnection| refused(connection, requests, found, now).await;
                return database.pools.ask(explain).await;
            }
            // The deadlock has rolled it back. Sets lock rows in the order of their keys, so this acquires the row that another session
            // inserted between the two statements.
            Err(DatabaseError::Deadlock) if attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Locks existing free rows before the end of their leases is recorded, as in every takeover.
const HOLD: &str = "
    select 1
      from unnest($2::text[], $3::text[], $4::bytea[]) as asked (kind, id, lock_hash)
      join tenure_lock l on l.kind = asked.kind and l.id = asked.id and l.slot = ''
     where l.lock_hash <> asked.lock_hash
       and (l.ended or l.expires_at <= tenure_now($1) or (l.ttl = 0 and l.owner_id = $5))
     order by l.kind, l.id for update of l";

/// As in [`lock`](super::lock), for all at once: after the existing rows were locked.
const TAKE_ALL: &str = "
    with clock as materialized (select tenure_now($1) as now),
    asked as materialized (
        select * from unnest($2::bigint[], $3::text[], $4::text[], $5::bytea[], $6::bigint[], $7::bigint[], $8::bigint[],
                             $9::bigint[])
               as asked (place, kind, id, lock_hash, ttl, most, idle_limit, shown_as)
         where not exists (select 1 from tenure_lock_history past where past.lock_hash = asked.lock_hash)
    ), expired as (
        insert into tenure_lock_history (lock_hash, kind, id, generation, owner_id, owner_name, owner_role, shown_as,
                                         since, ended_at, how, idle, limited)
        select l.lock_hash, l.kind, l.id, l.generation, l.owner_id, l.owner_name, l.owner_role, l.shown_as,
               l.since, l.expires_at, 'expired', coalesce(l.expires_at >= l.active_at + l.idle_limit, false), l.expires_at >= l.hard_until
          from asked join tenure_lock l on l.kind = asked.kind and l.id = asked.id and l.slot = '', clock
         where not l.ended and not l.shared and l.expires_at <= clock.now and l.lock_hash <> asked.lock_hash
         on conflict (lock_hash) do nothing
    ), taken as (
        insert into tenure_lock as l (kind, id, slot, generation, lock_hash, owner_id, owner_name, owner_role, shown_as,
                                      since, last_active, active_at, expires_at, ttl, idle_limit, hard_until)
        select asked.kind, asked.id, '',
               1 + greatest((select max(other.generation) from tenure_lock other
                              where other.kind = asked.kind and other.id = asked.id),
                            (select floor.generation from tenure_lock_floor floor where floor.kind = asked.kind), 0),
               asked.lock_hash, $10, $11, $12, asked.shown_as, clock.now, clock.now, clock.now, clock.now + asked.ttl,
               asked.ttl, asked.idle_limit, clock.now + asked.most
          from asked, clock
         order by asked.kind, asked.id
            on conflict (kind, id, slot) do update set
               generation  = l.generation + (l.lock_hash <> excluded.lock_hash)::int,
               since       = case when l.lock_hash = excluded.lock_hash then l.since else excluded.since end,
               hard_until  = case when l.lock_hash = excluded.lock_hash then l.hard_until else excluded.hard_until end,
               expires_at  = case when l.lock_hash = excluded.lock_hash
                                  then greatest(l.expires_at, least(excluded.expires_at, l.hard_until))
                                  else excluded.expires_at end,
               lock_hash   = excluded.lock_hash,
               owner_id    = excluded.owner_id,
               owner_name  = excluded.owner_name,
               owner_role  = excluded.owner_role,
               shown_as    = excluded.shown_as,
               last_active = case when l.lock_hash = excluded.lock_hash and l.since = excluded.since
                                  then excluded.since + 1 else excluded.since end,
               active_at   = excluded.active_at,
               ttl         = excluded.ttl,
               idle_limit  = excluded.idle_limit,
               ended       = false
         where ((l.ended or l.expires_at <= excluded.since or (l.ttl = 0 and l.owner_id = excluded.owner_id))
                and not l.shared and l.lock_hash <> excluded.lock_hash)
            or (not l.ended and l.expires_at > excluded.since
                and l.lock_hash = excluded.lock_hash and l.owner_id = excluded.owner_id)
        returning *
    )
    select asked.place, taken.*, clock.now from taken join asked on asked.lock_hash = taken.lock_hash, clock";

/// Acquires all of them: the free ones in one statement, and the rest one by one. Only a full grant may be committed; [`refused`] returns
/// the reasons of a refusal after the locks are released.
pub(super) async fn take_all(
    connection: &mut PgConnection,
    requests: &[LockRequest],
    now: Option<i64>,
) -> Result<AttemptAll, DatabaseError> {
    let mut granted: Vec<Option<Holder>> = requests.iter().map(|_| None).collect();
    match take_free(connection, requests, now).await {
        Ok(rows) => {
            for row in &rows {
                let at = usize::try_from(row.try_get::<i64, _>("place").map_err(classify)?).unwrap_or(usize::MAX);
                if let Some(place) = granted.get_mut(at) {
                    *place = Some(lease(row)?.holder);
                }
            }
        }
        // Lock ids are unique over all keys: one of these holds another aggregate; or the same request was delivered twice at once.
        Err(error) if is_duplicate(&error) => return Ok(AttemptAll::Refused(Vec::new())),
        Err(error) => return Err(classify(error)),
    }
    let mut refused = Vec::new();
    for (at, request) in requests.iter().enumerate() {
        if granted[at].is_none() {
            match lock::take(connection, request, now).await? {
                Attempt::Granted(holder) => granted[at] = Some(holder),
                Attempt::Used(NoLock { why: LeaseLossReason::OtherAggregate, .. }) => {
                    return Ok(AttemptAll::Refused(Vec::new()));
                }
                refusal => {
                    refused.push((at, refusal));
                    break;
                }
            }
        }
    }
    let granted = granted.into_iter().flatten().collect();
    Ok(if refused.is_empty() { AttemptAll::Granted(granted) } else { AttemptAll::Refused(refused) })
}

/// Acquires the exclusive requests whose keys have no shared leases.
async fn take_free(
    connection: &mut PgConnection,
    requests: &[LockRequest],
    now: Option<i64>,
) -> Result<Vec<PgRow>, sqlx::Error> {
    let alone: Vec<_> = requests.iter().zip(0_i64..).filter(|(request, _)| request.is_alone()).collect();
    let Some((LockRequest { owner, .. }, _)) = alone.first() else { return Ok(Vec::new()) };
    let kinds: Vec<_> = alone.iter().map(|(request, _)| request.key.kind()).collect();
    let ids: Vec<_> = alone.iter().map(|(request, _)| request.key.id()).collect();
    let locks: Vec<_> = alone.iter().map(|(request, _)| &request.lock[..]).collect();
    let hold = sqlx::query(HOLD).bind(now).bind(&kinds).bind(&ids).bind(&locks).bind(&owner.id);
    hold.execute(&mut *connection).await?;
    let take = sqlx::query(TAKE_ALL)
        .bind(now)
        .bind(alone.iter().map(|(_, at)| *at).collect::<Vec<_>>())
        .bind(&kinds)
        .bind(&ids)
        .bind(&locks)
        .bind(alone.iter().map(|(request, _)| millis(request.policy.ttl)).collect::<Vec<_>>())
        .bind(alone.iter().map(|(request, _)| millis(request.policy.limit)).collect::<Vec<_>>())
        .bind(alone.iter().map(|(request, _)| request.policy.idle.map(millis)).collect::<Vec<_>>())
        .bind(alone.iter().map(|(request, _)| request.policy.shown.stored()).collect::<Vec<_>>())
        .bind(&owner.id)
        .bind(&owner.name)
        .bind(&owner.role);
    take.fetch_all(connection).await
}

/// All conflicting leases as they are now, after the locks were released; or else the earlier findings.
pub(super) async fn refused(
    connection: &mut PgConnection,
    requests: &[LockRequest],
    found: Vec<(usize, Attempt)>,
    now: Option<i64>,
) -> Result<AttemptAll, DatabaseError> {
    // A lock id that was used before fails even if the key becomes free.
    if found.iter().any(|(_, attempt)| matches!(attempt, Attempt::Used(_))) {
        return Ok(AttemptAll::Refused(found));
    }
    let blockers = blockers(connection, requests, now).await?;
    if !blockers.is_empty() {
        return Ok(AttemptAll::Refused(blockers));
    }
    if !found.is_empty() {
        return Ok(AttemptAll::Refused(found));
    }
    for (at, request) in requests.iter().enumerate() {
        let proof = Proof { lock: request.lock, owner: Some(request.owner.id.clone()) };
        let used = match leases::check(connection, &proof, now).await? {
            Ok(holder) if holder.key != request.key => {
                NoLock { key: Some(request.key.clone()), why: LeaseLossReason::OtherAggregate, held_now: None }
            }
            Ok(_) | Err(NoLock { why: LeaseLossReason::Unknown, .. }) => continue,
            Err(no_lock) => no_lock,
        };
        return Ok(AttemptAll::Refused(vec![(at, Attempt::Used(used))]));
    }
    // A retry gets the result of the other of the two requests.
    Ok(AttemptAll::Refused(vec![(0, Attempt::Lost)]))
}

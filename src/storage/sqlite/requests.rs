//! Requesting a lease from its holder, and handing it over to a requester. `?1` is `now` in every statement.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::errors::classify;
use super::leases::{self, lease};
use super::lock::record_ended;
use crate::clock::{from_millis, millis, until};
use crate::error::DatabaseError;
use crate::lease::policy::ShowOwner;
use crate::lease::transfer::{TransferReply, TransferRequest};
use crate::lease::{Holder, LockKey, NoLock, Owner};
use crate::storage::{Asked, Asking, LockHash, OpenRequest, Proof};

/// A repeated request keeps its place and its reply; another note makes a new request.
const ASK: &str = "
    insert into tenure_lock_request as r (kind, id, asker_id, asker_name, asker_role, handle, generation, note,
                                          since, expires_at)
    select kind, id, ?5, ?6, ?9, ?10, generation, ?7, ?1, ?1 + ?8
      from tenure_lock
     where kind = ?2 and id = ?3 and slot = x'' and generation = ?4 and ended = 0 and expires_at > ?1
        on conflict (kind, id, asker_id) do update set
           since       = iif(r.generation = excluded.generation and r.expires_at > ?1 and r.note = excluded.note,
                             r.since, excluded.since),
           later_until = iif(r.generation = excluded.generation and r.expires_at > ?1 and r.note = excluded.note,
                             r.later_until, null),
           declined    = iif(r.generation = excluded.generation and r.expires_at > ?1 and r.note = excluded.note,
                             r.declined, null),
           generation  = excluded.generation,
           asker_name  = excluded.asker_name,
           asker_role  = excluded.asker_role,
           note        = excluded.note,
           expires_at  = excluded.expires_at";

/// The number of other requesters of the same lease.
const OTHERS: &str = "
    select count(*) from tenure_lock_request
     where kind = ?2 and id = ?3 and generation = ?4 and expires_at > ?1 and asker_id <> ?5";

/// Deletes expired requests.
const SWEEP: &str = "delete from tenure_lock_request where kind = ?2 and id = ?3 and expires_at <= ?1";

/// A request ends with its lease.
const OPEN: &str = "
    select r.*, l.shown_as, l.owner_id as holder from tenure_lock_request as r
      join tenure_lock as l on l.kind = r.kind and l.id = r.id and l.slot = x'' and l.generation = r.generation
     where r.kind = ?2 and r.id = ?3 and (?4 is null or r.asker_id = ?4) and r.expires_at > ?1
       and l.ended = 0 and l.expires_at > ?1
     order by r.since, r.asker_id";

/// Requests the lease, or repeats the request.
pub(super) async fn ask(
    connection: &mut SqliteConnection,
    asking: &Asking<'_>,
    now: i64,
) -> Result<Asked, DatabaseError> {
    let Asking { key, generation, by, note, handle, most } = asking;
    let others = sqlx::query_scalar(OTHERS).bind(now).bind(key.kind()).bind(key.id()).bind(generation).bind(&by.id);
    let others: i64 = others.fetch_one(&mut *connection).await.map_err(classify)?;
    if others >= i64::from(*most) {
        return Ok(Asked::Full);
    }
    let ask = sqlx::query(ASK)
        .bind(now)
        .bind(key.kind())
        .bind(key.id())
        .bind(generation)
        .bind(&by.id)
        .bind(&by.name)
        .bind(note)
        .bind(millis(TransferRequest::TTL))
        .bind(&by.role)
        .bind(handle);
    ask.execute(&mut *connection).await.map_err(classify)?;
    let sweep = sqlx::query(SWEEP).bind(now).bind(key.kind()).bind(key.id());
    sweep.execute(&mut *connection).await.map_err(classify)?;
    let asked = open(connection, key, Some(&by.id), now).await?.pop();
    Ok(Asked::found(asked.map(|asked| asked.request), *generation))
}

/// The open requests for the live lease on a key, or that of one requester.
async fn open(
    connection: &mut SqliteConnection,
    key: &LockKey,
    asker: Option<&str>,
    now: i64,
) -> Result<Vec<OpenRequest>, DatabaseError> {
    let select = sqlx::query(OPEN).bind(now).bind(key.kind()).bind(key.id()).bind(asker);
    let rows = select.fetch_all(connection).await.map_err(classify)?;
    rows.iter().map(|row| request(row, now)).collect()
}

fn request(row: &SqliteRow, now: i64) -> Result<OpenRequest, DatabaseError> {
    let text = |column| row.try_get::<String, _>(column).map_err(classify);
    let number = |column| row.try_get::<i64, _>(column).map_err(classify);
    let later: Option<i64> = row.try_get("later_until").map_err(classify)?;
    let request = TransferRequest {
        key: LockKey::new(text("kind")?, text("id")?),
        generation: number("generation")?,
        by: leases::person(row, "asker")?.unwrap_or_else(|| Owner::new("", "")),
        note: text("note")?,
        since: from_millis(number("since")?),
        remaining: until(number("expires_at")?, now),
        answer: TransferReply::stored(later.map(|at| until(at, now)), row.try_get("declined").map_err(classify)?),
    };
    let (handle, holder) = (text("handle")?, text("holder")?);
    Ok(OpenRequest { request, handle, shown: ShowOwner::from_stored(number("shown_as")?), holder })
}

/// The open requests for the lease of the presented lock id.
pub(super) async fn requests(
    connection: &mut SqliteConnection,
    proof: &Proof,
    now: i64,
) -> Result<Result<Vec<TransferRequest>, NoLock>, DatabaseError> {
    match leases::check(connection, proof, now).await? {
        Ok(holder) => {
            let open = open(connection, &holder.key, None, now).await?;
            Ok(Ok(open.into_iter().filter(|open| open.is_for(&holder)).map(OpenRequest::for_holder).collect()))
        }
        Err(no_lock) => Ok(Err(no_lock)),
    }
}

const ANSWER: &str = "
    update tenure_lock_request set later_until = ?1 + ?6, declined = ?7
     where kind = ?2 and id = ?3 and asker_id = ?4 and generation = ?5";

/// Replies to one of them.
pub(super) async fn answer(
    connection: &mut SqliteConnection,
    proof: &Proof,
    asker: &str,
    answer: &TransferReply,
    now: i64,
) -> Result<Result<Option<TransferRequest>, NoLock>, DatabaseError> {
    let holder = match leases::check(connection, proof, now).await? {
        Ok(holder) => holder,
        Err(no_lock) => return Ok(Err(no_lock)),
    };
    let asking = open(&mut *connection, &holder.key, None, now).await?;
    let Some(asked) = asking.into_iter().find(|open| open.is_for(&holder) && open.is_of(asker)) else {
        return Ok(Ok(None));
    };
    let Holder { key, generation, .. } = holder;
    let (later, declined) = answer.parts();
    let answer = sqlx::query(ANSWER)
        .bind(now)
        .bind(key.kind())
        .bind(key.id())
        .bind(&asked.request.by.id)
        .bind(generation)
        .bind(later.map(millis))
        .bind(declined);
    answer.execute(&mut *connection).await.map_err(classify)?;
    let asked = open(connection, &key, Some(&asked.request.by.id), now).await?.pop();
    Ok(Ok(asked.map(OpenRequest::for_holder)))
}

const HAND_OVER: &str = "
    update tenure_lock
       set generation = generation + 1, lock_hash = ?3, owner_id = ?4, owner_name = ?5, owner_role = ?7, since = ?1,
           last_active = ?1, active_at = ?1, expires_at = ?1 + ?6, ttl = 0, idle_limit = null, hard_until = ?1 + ?6
     where lock_hash = ?2
    returning *";

/// Ends the lease, and reserves the key for one of its requesters.
pub(super) async fn hand_over(
    connection: &mut SqliteConnection,
    proof: &Proof,
    to: &str,
    reservation: LockHash,
    now: i64,
) -> Result<Result<Option<Holder>, NoLock>, DatabaseError> {
    let holder = match leases::check(connection, proof, now).await? {
        Ok(holder) => holder,
        Err(no_lock) => return Ok(Err(no_lock)),
    };
    let asking = open(&mut *connection, &holder.key, None, now).await?;
    let Some(by) = asking.into_iter().find(|open| open.is_for(&holder) && open.is_of(to)).map(|open| open.request.by)
    else {
        return Ok(Ok(None));
    };
    let held =
        sqlx::query(leases::BY_LOCK_ID).bind(&proof.lock[..]).fetch_one(&mut *connection).await.map_err(classify)?;
    record_ended(connection, &held, "handed over", Some(&by), None, now).await?;
    let hand_over = sqlx::query(HAND_OVER)
        .bind(now)
        .bind(&proof.lock[..])
        .bind(&reservation[..])
        .bind(&by.id)
        .bind(&by.name)
        .bind(millis(TransferRequest::RESERVATION))
        .bind(&by.role);
    let row = hand_over.fetch_one(connection).await.map_err(classify)?;
    Ok(Ok(Some(lease(&row, now)?.holder)))
}

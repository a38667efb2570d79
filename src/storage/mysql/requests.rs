//! Requesting a lease from its holder, and handing it over to a requester.

use sqlx::Row;
use sqlx::mysql::MySqlRow;

use super::deadline::RowLock;
use super::errors::classify;
use super::leases::{self, clock};
use super::lock::record_ended;
use super::session::{Session, Statement};
use crate::clock::{from_millis, millis, until};
use crate::error::DatabaseError;
use crate::lease::policy::ShowOwner;
use crate::lease::transfer::{TransferReply, TransferRequest};
use crate::lease::{Holder, LockKey, NoLock, Owner};
use crate::storage::{Asked, Asking, LockHash, OpenRequest, Proof};

/// Whether it is a repetition of the same request.
macro_rules! repeated {
    () => {
        "tenure_lock_request.generation = asked.generation and tenure_lock_request.expires_at > asked.clock
                and cast(tenure_lock_request.note as binary) = cast(asked.note as binary)"
    };
}

/// A repeated request keeps its place and its reply; another note makes a new request. Assignments are evaluated from left to right, so the
/// columns that decide are overwritten last.
const ASK: &str = concat!(
    "insert into tenure_lock_request
            (kind, id, asker, asker_id, asker_name, asker_role, handle, generation, note, since, expires_at)
     select l.kind, l.id, unhex(sha2(asked.by_id, 256)), asked.by_id, asked.by_name, asked.by_role, asked.handle,
            l.generation, asked.note, asked.clock, asked.clock + asked.ttl
       from (select ",
    clock!("?"),
    " as clock, cast(? as binary) as kind, cast(? as binary) as id, cast(? as signed) as generation,
                    convert(? using utf8mb4) as by_id, convert(? using utf8mb4) as by_name,
                    convert(? using utf8mb4) as note, cast(? as signed) as ttl,
                    convert(? using utf8mb4) as by_role, convert(? using utf8mb4) as handle) as asked
       join tenure_lock as l on l.kind = asked.kind and l.id = asked.id and l.slot = ''
      where l.generation = asked.generation and not l.ended and l.expires_at > asked.clock
         on duplicate key update
            since       = if(",
    repeated!(),
    ", tenure_lock_request.since, asked.clock),
            later_until = if(",
    repeated!(),
    ", tenure_lock_request.later_until, null),
            declined    = if(",
    repeated!(),
    ", tenure_lock_request.declined, null),
            generation  = asked.generation,
            asker_name  = asked.by_name,
            asker_role  = asked.by_role,
            note        = asked.note,
            expires_at  = asked.clock + asked.ttl"
);

/// The number of other requesters of the same lease.
const OTHERS: &str = concat!(
    "select count(*) from tenure_lock_request
      where kind = ? and id = ? and generation = ? and asker <> unhex(sha2(?, 256)) and expires_at > ",
    clock!("?")
);

/// Deletes expired requests.
const GONE: &str =
    concat!("select asker from tenure_lock_request where kind = ? and id = ? and expires_at <= ", clock!("?"));

const SWEEP: &str = "delete from tenure_lock_request where kind = ? and id = ? and asker = ?";

/// A request ends with its lease.
const OPEN: &str = concat!(
    "select ",
    clock!("?"),
    " as clock, convert(r.kind using utf8mb4) as kind, convert(r.id using utf8mb4) as id, r.asker_id, r.asker_name,
            r.asker_role, r.handle, r.generation, r.note, r.since, r.expires_at, r.later_until, r.declined,
            l.shown_as, l.owner_id as holder, l.expires_at as held_until
       from tenure_lock_request as r
       join tenure_lock as l on l.kind = r.kind and l.id = r.id and l.slot = '' and l.generation = r.generation
      where r.kind = ? and r.id = ? and (? is null or r.asker = unhex(sha2(?, 256))) and not l.ended
     having expires_at > clock and held_until > clock
      order by since, asker_id"
);

/// Requests the lease, or repeats the request.
pub(super) async fn ask(session: &mut Session, asking: &Asking<'_>, now: Option<i64>) -> Result<Asked, DatabaseError> {
    let Asking { key, generation, by, note, handle, most } = asking;
    let (kind, id) = (key.kind().as_bytes(), key.id().as_bytes());
    let others = Statement::new(OTHERS).bind(kind).bind(id).bind(*generation).bind(by.id.as_str()).bind(now);
    let others = session.fetch_optional(others).await.map_err(classify)?;
    if others.map_or(Ok(0_i64), |row| row.try_get(0)).map_err(classify)? >= i64::from(*most) {
        return Ok(Asked::Full);
    }
    let ask = Statement::new(ASK)
        .bind(now)
        .bind(kind)
        .bind(id)
        .bind(*generation)
        .bind(by.id.as_str())
        .bind(by.name.as_str())
        .bind(*note)
        .bind(millis(TransferRequest::TTL))
        .bind(by.role.as_deref())
        .bind(handle.as_str());
    session.write(ask).await.map_err(classify)?;
    // Requests that are being repeated at this moment are locked, and skipped.
    let gone = Statement::new(GONE).bind(kind).bind(id).bind(now);
    for row in session.fetch_all_locked(gone, RowLock::SkipLocked).await.map_err(classify)? {
        let asker: Vec<u8> = row.try_get(0).map_err(classify)?;
        session.write(Statement::new(SWEEP).bind(kind).bind(id).bind(asker)).await.map_err(classify)?;
    }
    let asked = open(session, key, Some(&by.id), now).await?.pop();
    Ok(Asked::found(asked.map(|asked| asked.request), *generation))
}

/// The open requests for the live lease on a key, or that of one requester.
async fn open(
    session: &mut Session,
    key: &LockKey,
    asker: Option<&str>,
    now: Option<i64>,
) -> Result<Vec<OpenRequest>, DatabaseError> {
    let select = Statement::new(OPEN).bind(now).bind(key.kind().as_bytes()).bind(key.id().as_bytes());
    let rows = session.fetch_all(select.bind(asker).bind(asker)).await.map_err(classify)?;
    rows.iter().map(request).collect()
}

fn request(row: &MySqlRow) -> Result<OpenRequest, DatabaseError> {
    let text = |column| row.try_get::<String, _>(column).map_err(classify);
    let number = |column| row.try_get::<i64, _>(column).map_err(classify);
    let (now, later) = (number("clock")?, row.try_get::<Option<i64>, _>("later_until").map_err(classify)?);
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
    session: &mut Session,
    proof: &Proof,
    now: Option<i64>,
) -> Result<Result<Vec<TransferRequest>, NoLock>, DatabaseError> {
    match leases::check(session, proof, now).await? {
        Ok(holder) => {
            let open = open(session, &holder.key, None, now).await?;
            Ok(Ok(open.into_iter().filter(|open| open.is_for(&holder)).map(OpenRequest::for_holder).collect()))
        }
        Err(no_lock) => Ok(Err(no_lock)),
    }
}

const ANSWER: &str = concat!(
    "update tenure_lock_request set later_until = ",
    clock!("?"),
    " + ?, declined = ? where kind = ? and id = ? and asker = unhex(sha2(?, 256)) and generation = ?"
);

/// Replies to one of them.
pub(super) async fn answer(
    session: &mut Session,
    proof: &Proof,
    asker: &str,
    answer: &TransferReply,
    now: Option<i64>,
) -> Result<Result<Option<TransferRequest>, NoLock>, DatabaseError> {
    let holder = match leases::check(session, proof, now).await? {
        Ok(holder) => holder,
        Err(no_lock) => return Ok(Err(no_lock)),
    };
    let asking = open(session, &holder.key, None, now).await?;
    let Some(asked) = asking.into_iter().find(|open| open.is_for(&holder) && open.is_of(asker)) else {
        return Ok(Ok(None));
    };
    let Holder { key, generation, .. } = holder;
    let (later, declined) = answer.parts();
    let answer = Statement::new(ANSWER)
        .bind(now)
        .bind(later.map(millis))
        .bind(declined)
        .bind(key.kind().as_bytes())
        .bind(key.id().as_bytes())
        .bind(asked.request.by.id.as_str())
        .bind(generation);
    session.write(answer).await.map_err(classify)?;
    let asked = open(session, &key, Some(&asked.request.by.id), now).await?.pop();
    Ok(Ok(asked.map(OpenRequest::for_holder)))
}

const HAND_OVER: &str = "
    update tenure_lock
       set generation = generation + 1, lock_hash = ?, owner_id = ?, owner_name = ?, owner_role = ?, since = ?,
           last_active = ?, active_at = ?, expires_at = ?, ttl = 0, idle_limit = null, hard_until = ?
     where kind = ? and id = ? and slot = ''";

/// Ends the lease, and reserves the key for one of its requesters. It locks the row first, so it waits for a save in flight under this
/// lease.
pub(super) async fn hand_over(
    session: &mut Session,
    proof: &Proof,
    to: &str,
    reservation: LockHash,
    now: Option<i64>,
) -> Result<Result<Option<Holder>, NoLock>, DatabaseError> {
    let found = leases::by_lock_id(session, proof, RowLock::Update, now).await?;
    let Some(held) = found.filter(|lease| lease.alive() && lease.is_proven_by(proof)) else {
        return Ok(leases::check(session, proof, now).await?.map(|_| None));
    };
    let key = &held.holder.key;
    let asking = open(session, key, None, now).await?;
    let Some(by) =
        asking.into_iter().find(|open| open.is_for(&held.holder) && open.is_of(to)).map(|open| open.request.by)
    else {
        return Ok(Ok(None));
    };
    record_ended(session, &held, "handed over", Some(&by), None).await?;
    let until = held.now + millis(TransferRequest::RESERVATION);
    let hand_over = Statement::new(HAND_OVER)
        .bind(&reservation[..])
        .bind(by.id.as_str())
        .bind(by.name.as_str())
        .bind(by.role.as_deref())
        .bind(held.now)
        .bind(held.now)
        .bind(held.now)
        .bind(until)
        .bind(until)
        .bind(key.kind().as_bytes())
        .bind(key.id().as_bytes());
    session.write(hand_over).await.map_err(classify)?;
    let reserved = leases::exclusive(session, key, RowLock::None, now).await?;
    Ok(Ok(reserved.map(leases::StoredLease::into_holder)))
}

//! Asking the holder of a lease for it, and handing it over to whoever asks.

use sqlx::Row;
use sqlx::mysql::MySqlRow;

use super::deadline::RowLock;
use super::errors::classify;
use super::leases::{self, clock};
use super::lock::record_ended;
use super::session::{Session, Statement};
use crate::backend::{Asking, LockHash, Proof};
use crate::clock::{from_millis, millis, until};
use crate::error::DatabaseError;
use crate::lease::{Holder, LockKey, NoLock, Owner};
use crate::request::{Answer, Request};

/// A request that is repeated keeps its place and its answer; another note is another request. Assignments are made from
/// left to right, so what decides is overwritten last.
const ASK: &str = concat!(
    "insert into tenure_lock_request
            (kind, id, asker, asker_id, asker_name, generation, note, since, expires_at)
     select l.kind, l.id, unhex(sha2(asked.by_id, 256)), asked.by_id, asked.by_name, l.generation, asked.note,
            asked.clock, asked.clock + asked.ttl
       from (select ",
    clock!("?"),
    " as clock, cast(? as binary) as kind, cast(? as binary) as id, cast(? as signed) as generation,
                    convert(? using utf8mb4) as by_id, convert(? using utf8mb4) as by_name,
                    convert(? using utf8mb4) as note, cast(? as signed) as ttl) as asked
       join tenure_lock as l on l.kind = asked.kind and l.id = asked.id and l.slot = ''
      where l.generation = asked.generation and not l.ended and l.expires_at > asked.clock
         on duplicate key update
            since       = if(tenure_lock_request.generation = asked.generation
                             and tenure_lock_request.expires_at > asked.clock
                             and cast(tenure_lock_request.note as binary) = cast(asked.note as binary),
                             tenure_lock_request.since, asked.clock),
            later_until = if(tenure_lock_request.since = asked.clock, null, tenure_lock_request.later_until),
            declined    = if(tenure_lock_request.since = asked.clock, null, tenure_lock_request.declined),
            generation  = asked.generation,
            asker_name  = asked.by_name,
            note        = asked.note,
            expires_at  = asked.clock + asked.ttl"
);

/// Whoever went away is forgotten.
const GONE: &str =
    concat!("select asker from tenure_lock_request where kind = ? and id = ? and expires_at <= ", clock!("?"));

const SWEEP: &str = "delete from tenure_lock_request where kind = ? and id = ? and asker = ?";

/// A request ends with the lease that it is about.
const OPEN: &str = concat!(
    "select ",
    clock!("?"),
    " as clock, convert(r.kind using utf8mb4) as kind, convert(r.id using utf8mb4) as id, r.asker_id, r.asker_name,
            r.generation, r.note, r.since, r.expires_at, r.later_until, r.declined, l.expires_at as held_until
       from tenure_lock_request as r
       join tenure_lock as l on l.kind = r.kind and l.id = r.id and l.slot = '' and l.generation = r.generation
      where r.kind = ? and r.id = ? and (? is null or r.asker = unhex(sha2(?, 256))) and not l.ended
     having expires_at > clock and held_until > clock
      order by since, asker_id"
);

/// Asks, or asks again.
pub(super) async fn ask(
    session: &mut Session,
    asking: &Asking<'_>,
    now: Option<i64>,
) -> Result<Option<Request>, DatabaseError> {
    let Asking { key, generation, by, note } = asking;
    let (kind, id) = (key.kind().as_bytes(), key.id().as_bytes());
    let ask = Statement::new(ASK)
        .bind(now)
        .bind(kind)
        .bind(id)
        .bind(*generation)
        .bind(by.id.as_str())
        .bind(by.name.as_str())
        .bind(*note)
        .bind(millis(Request::TTL));
    session.write(ask).await.map_err(classify)?;
    // Theirs who repeat their requests at this moment are locked, and left alone.
    let gone = Statement::new(GONE).bind(kind).bind(id).bind(now);
    for row in session.fetch_all_locked(gone, RowLock::SkipLocked).await.map_err(classify)? {
        let asker: Vec<u8> = row.try_get(0).map_err(classify)?;
        session.write(Statement::new(SWEEP).bind(kind).bind(id).bind(asker)).await.map_err(classify)?;
    }
    let asked = open(session, key, Some(&by.id), now).await?.pop();
    Ok(asked.filter(|request| request.generation == *generation))
}

/// Who asks for the lease that is alive on a key, or whether this one does.
async fn open(
    session: &mut Session,
    key: &LockKey,
    asker: Option<&str>,
    now: Option<i64>,
) -> Result<Vec<Request>, DatabaseError> {
    let select = Statement::new(OPEN).bind(now).bind(key.kind().as_bytes()).bind(key.id().as_bytes());
    let rows = session.fetch_all(select.bind(asker).bind(asker)).await.map_err(classify)?;
    rows.iter().map(request).collect()
}

fn request(row: &MySqlRow) -> Result<Request, DatabaseError> {
    let text = |column| row.try_get::<String, _>(column).map_err(classify);
    let number = |column| row.try_get::<i64, _>(column).map_err(classify);
    let (now, later) = (number("clock")?, row.try_get::<Option<i64>, _>("later_until").map_err(classify)?);
    Ok(Request {
        key: LockKey::new(text("kind")?, text("id")?),
        generation: number("generation")?,
        by: Owner::new(text("asker_id")?, text("asker_name")?),
        note: text("note")?,
        since: from_millis(number("since")?),
        remaining: until(number("expires_at")?, now),
        answer: Answer::stored(later.map(|at| until(at, now)), row.try_get("declined").map_err(classify)?),
    })
}

/// Who asks whoever shows the lock id.
pub(super) async fn requests(
    session: &mut Session,
    proof: &Proof,
    now: Option<i64>,
) -> Result<Result<Vec<Request>, NoLock>, DatabaseError> {
    match leases::check(session, proof, now).await? {
        Ok(holder) => Ok(Ok(open(session, &holder.key, None, now).await?)),
        Err(no_lock) => Ok(Err(no_lock)),
    }
}

const ANSWER: &str = concat!(
    "update tenure_lock_request set later_until = ",
    clock!("?"),
    " + ?, declined = ? where kind = ? and id = ? and asker = unhex(sha2(?, 256)) and generation = ?"
);

/// Answers one of them.
pub(super) async fn answer(
    session: &mut Session,
    proof: &Proof,
    asker: &str,
    answer: &Answer,
    now: Option<i64>,
) -> Result<Result<Option<Request>, NoLock>, DatabaseError> {
    let Holder { key, generation, .. } = match leases::check(session, proof, now).await? {
        Ok(holder) => holder,
        Err(no_lock) => return Ok(Err(no_lock)),
    };
    let (later, declined) = answer.parts();
    let answer = Statement::new(ANSWER)
        .bind(now)
        .bind(later.map(millis))
        .bind(declined)
        .bind(key.kind().as_bytes())
        .bind(key.id().as_bytes())
        .bind(asker)
        .bind(generation);
    session.write(answer).await.map_err(classify)?;
    Ok(Ok(open(session, &key, Some(asker), now).await?.pop()))
}

const HAND_OVER: &str = "
    update tenure_lock
       set generation = generation + 1, lock_hash = ?, owner_id = ?, owner_name = ?, since = ?, last_active = ?,
           expires_at = ?, ttl = 0, hard_until = ?
     where kind = ? and id = ? and slot = ''";

/// Ends the lease, and keeps the key for one of those who ask. Takes the row first: whoever saves under this lease is
/// waited for.
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
    let Some(Request { by, .. }) = open(session, key, Some(to), now).await?.pop() else { return Ok(Ok(None)) };
    record_ended(session, &held, "handed over", Some(&by), None).await?;
    let until = held.now + millis(Request::RESERVATION);
    let hand_over = Statement::new(HAND_OVER)
        .bind(&reservation[..])
        .bind(by.id.as_str())
        .bind(by.name.as_str())
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

//! Several locks at once: all of them or none. The transaction has the write lock, so they are acquired one after the other, and every read
//! stays valid until the commit or rollback.

use sqlx::{Row, SqliteConnection};

use super::errors::classify;
use super::leases::lease;
use super::{lock, slots};
use crate::error::DatabaseError;
use crate::storage::{Attempt, AttemptAll, LockRequest};

/// The requests are sent as one JSON text: one call for all of them.
const BLOCKERS: &str = "
    select cast(asked.value ->> 0 as integer) as place, l.* from json_each(?1) as asked cross join tenure_lock as l
     where l.kind = asked.value ->> 1 and l.id = asked.value ->> 2 and l.slot = x''
     order by place";

/// The leases that conflict with a request for the exclusive lock, by the indexes of the requests.
pub(super) async fn blockers(
    connection: &mut SqliteConnection,
    requests: &[LockRequest],
    now: i64,
) -> Result<Vec<(usize, Attempt)>, DatabaseError> {
    let exclusive = requests.iter().enumerate().filter(|(_, request)| request.is_alone());
    let asked: Vec<_> = exclusive.map(|(at, request)| (at, request.key.kind(), request.key.id())).collect();
    let asked = serde_json::to_string(&asked).map_err(|error| classify(sqlx::Error::Encode(error.into())))?;
    let rows = sqlx::query(BLOCKERS).bind(asked).fetch_all(&mut *connection).await.map_err(classify)?;
    let mut found = Vec::new();
    for row in &rows {
        let at = usize::try_from(row.try_get::<i64, _>("place").map_err(classify)?).unwrap_or(usize::MAX);
        let (stored, Some(request)) = (lease(row, now)?, requests.get(at)) else { continue };
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

/// Acquires all of them. Only a full grant may be committed.
pub(super) async fn take_all(
    connection: &mut SqliteConnection,
    requests: &[LockRequest],
    now: i64,
) -> Result<AttemptAll, DatabaseError> {
    let mut refused = blockers(connection, requests, now).await?;
    if !refused.is_empty() {
        return Ok(AttemptAll::Refused(refused));
    }
    let mut granted = Vec::with_capacity(requests.len());
    for (at, request) in requests.iter().enumerate() {
        match lock::take(connection, request, now).await? {
            Attempt::Granted(holder) => granted.push(holder),
            refusal => refused.push((at, refusal)),
        }
    }
    Ok(if refused.is_empty() { AttemptAll::Granted(granted) } else { AttemptAll::Refused(refused) })
}

//! Transfer requests, replies, hand-overs.

use super::changes::Draft;
use super::{How, LastGeneration, LeaseRow, Past, RequestRow, Rows, check};
use crate::clock::millis;
use crate::lease::operations::{Asked, Asking, LockHash, OpenRequest, Proof};
use crate::lease::{Holder, LockKey, NoLock, TransferReply, TransferRequest};

/// Requests the lease from the holder of a generation. A repetition with the same note keeps its place and its reply.
pub(super) fn ask(draft: &mut Draft, asking: &Asking<'_>, now: i64) -> Asked {
    let Asking { key, generation, by, note, handle, most } = asking;
    let others = of_key(&draft.rows, key)
        .filter(|row| row.generation == *generation && row.expires_at > now && row.asker.id != by.id);
    if u32::try_from(others.count()).unwrap_or(u32::MAX) >= *most {
        return Asked::Full;
    }
    if is_held(&draft.rows, key, *generation, now) {
        let fresh = RequestRow {
            key: (*key).clone(),
            asker: (*by).clone(),
            handle: handle.clone(),
            generation: *generation,
            note: (*note).to_owned(),
            since: now,
            expires_at: now.saturating_add(millis(TransferRequest::TTL)),
            later_until: None,
            declined: None,
        };
        let row = match draft.rows.requests.get(&fresh.place()).cloned() {
            None => fresh,
            Some(before) if before.generation == *generation && before.expires_at > now && before.note == *note => {
                RequestRow { asker: fresh.asker, expires_at: fresh.expires_at, ..before }
            }
            Some(RequestRow { handle, .. }) => RequestRow { handle, ..fresh },
        };
        draft.put_request(row);
    }
    // Expired requests are deleted.
    let gone: Vec<_> = of_key(&draft.rows, key).filter(|row| row.expires_at <= now).map(RequestRow::place).collect();
    gone.iter().for_each(|place| draft.delete_request(place));
    let asked = open(&draft.rows, key, now).into_iter().find(|open| open.request.by.id == by.id);
    Asked::found(asked.map(|open| open.request), *generation)
}

/// The open requests for a lease, as they are visible to its holder.
pub(super) fn requests(rows: &Rows, proof: &Proof, now: i64) -> Result<Vec<TransferRequest>, NoLock> {
    check::check(rows, proof, now)?;
    Ok(open_for(rows, proof, now).into_iter().map(OpenRequest::for_holder).collect())
}

/// Replies to one of the requests. `None`: this owner has no open request.
pub(super) fn reply(
    draft: &mut Draft,
    proof: &Proof,
    asker: &str,
    reply: &TransferReply,
    now: i64,
) -> Result<Option<TransferRequest>, NoLock> {
    let holder = check::check(&draft.rows, proof, now)?;
    let asked = open_for(&draft.rows, proof, now).into_iter().find(|open| open.is_of(asker));
    let Some(by) = asked.map(|open| open.request.by.id) else { return Ok(None) };
    let (later, declined) = reply.parts();
    let (later, declined) = (later.map(|later| now.saturating_add(millis(later))), declined.map(str::to_owned));
    let row = of_key(&draft.rows, &holder.key).find(|row| row.asker.id == by).cloned();
    if let Some(row) = row {
        draft.put_request(RequestRow { later_until: later, declined, ..row });
    }
    let replied = open(&draft.rows, &holder.key, now).into_iter().find(|open| open.request.by.id == by);
    Ok(replied.map(OpenRequest::for_holder))
}

/// Ends a lease, and reserves the key for one of its requesters. `None`: this owner has no open request.
pub(super) fn hand_over(
    draft: &mut Draft,
    proof: &Proof,
    to: &str,
    reservation: &LockHash,
    now: i64,
) -> Result<Result<Option<Holder>, NoLock>, LastGeneration> {
    let holder = match check::check(&draft.rows, proof, now) {
        Ok(holder) => holder,
        Err(no_lock) => return Ok(Err(no_lock)),
    };
    let asked = open_for(&draft.rows, proof, now).into_iter().find(|open| open.is_of(to));
    let held = draft.rows.exclusive(&holder.key).cloned();
    let Some((by, held)) = asked.map(|open| open.request.by).zip(held) else { return Ok(Ok(None)) };
    draft.record(Past::ended(&held, How::HandedOver, Some(&by), None, now));
    let until = now.saturating_add(millis(TransferRequest::RESERVATION));
    let reserved = LeaseRow {
        generation: held.generation.checked_add(1).ok_or(LastGeneration)?,
        lock: reservation.to_vec(),
        owner: by,
        since: now,
        last_active: now,
        active_at: now,
        expires_at: until,
        ttl: 0,
        idle_limit: None,
        hard_until: until,
        ..held
    };
    let handed = reserved.holder(now);
    draft.put(reserved);
    Ok(Ok(Some(handed)))
}

fn of_key<'r>(rows: &'r Rows, key: &LockKey) -> impl Iterator<Item = &'r RequestRow> {
    let key = key.clone();
    rows.requests.values().filter(move |row| row.key == key)
}

fn is_held(rows: &Rows, key: &LockKey, generation: i64, now: i64) -> bool {
    rows.exclusive(key).is_some_and(|row| row.generation == generation && row.alive(now))
}

/// The requests for the live exclusive lease on a key, the longest-waiting first. A request ends with its lease.
fn open(rows: &Rows, key: &LockKey, now: i64) -> Vec<OpenRequest> {
    let Some(lease) = rows.exclusive(key).filter(|row| row.alive(now)) else { return Vec::new() };
    let mut open: Vec<_> =
        of_key(rows, key).filter(|row| row.generation == lease.generation && row.expires_at > now).collect();
    open.sort_by(|one, other| (one.since, &one.asker.id).cmp(&(other.since, &other.asker.id)));
    open.into_iter().map(|row| row.open(lease, now)).collect()
}

/// The requests for the lease of a lock id. A shared or advisory lease cannot be requested, and its owner does not see the requests for the
/// exclusive one, even if both have the same generation.
fn open_for(rows: &Rows, proof: &Proof, now: i64) -> Vec<OpenRequest> {
    let lease = rows.of_lock(&proof.lock).filter(|row| row.place.slot.is_empty());
    lease.map(|row| open(rows, &row.place.key, now)).unwrap_or_default()
}

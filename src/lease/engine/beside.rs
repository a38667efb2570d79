//! Advisory leases, which are beside each other on one key and exclude nothing.
//!
//! The row of the exclusive lease is their anchor: it carries the highest generation.

use sha2::{Digest, Sha256};

use super::changes::Draft;
use super::take::take_place;
use super::{LastGeneration, LeaseRow, Past};
use crate::lease::LockKey;
use crate::lease::operations::{Attempt, LockHash, LockRequest};

/// Takes a lease beside others.
pub(super) fn take(draft: &mut Draft<'_>, request: &LockRequest, now: i64) -> Result<Attempt, LastGeneration> {
    let key = &request.key;
    end_expired(draft, key, &request.lock, now);
    let taken = take_place(draft, request, now)?;
    let anchor = draft.rows.exclusive(key).cloned().unwrap_or_else(|| {
        // The generations of a swept key continue.
        let floor = draft.rows.floor(key);
        LeaseRow::anchor(key, floor, nobodys("anchor", &request.lock, key, floor).to_vec(), now)
    });
    if let (Attempt::Granted(holder), false) = (&taken, anchor.alive(now)) {
        let generation = anchor.generation.max(holder.generation);
        // A sweep leaves it for as long as any other ended row.
        let expires_at = anchor.expires_at.max(now);
        draft.put(LeaseRow { generation, ended: true, expires_at, ..anchor });
    }
    Ok(taken)
}

/// Records the expired leases on a key, and deletes their slots; the highest generation has to stay. The row of this lock id is skipped, and
/// so are rows that could not be locked: the next acquisition records them.
fn end_expired(draft: &mut Draft<'_>, key: &LockKey, lock: &LockHash, now: i64) {
    let rows = draft.rows;
    let highest = rows.generation(key);
    for row in rows.of_key(key).filter(|row| row.lock != lock && !rows.busy.contains(&row.place)) {
        let expired = row.ran_out_unrecorded(now);
        if expired {
            draft.record(Past::expired(row));
        }
        let is_obsolete = !row.place.slot.is_empty() && row.generation < highest;
        match (expired, row.ended) {
            (true, _) | (_, true) if is_obsolete => draft.delete(&row.place),
            (true, _) => draft.put(LeaseRow { ended: true, ..row.clone() }),
            (false, _) => {}
        }
    }
}

/// A lock hash that belongs to no lock id. It differs for each use, lock id, key and generation.
pub(super) fn nobodys(used_for: &str, lock: &[u8], key: &LockKey, generation: i64) -> LockHash {
    let kind_bytes = u64::try_from(key.kind().len()).unwrap_or(u64::MAX).to_be_bytes();
    let hash = Sha256::new()
        .chain_update(b"tenure: nobody's lock hash for an ")
        .chain_update(used_for)
        .chain_update(lock)
        .chain_update(kind_bytes);
    let hash = hash.chain_update(key.kind()).chain_update(key.id()).chain_update(generation.to_be_bytes());
    let mut nobodys: LockHash = hash.finalize().into();
    // It keeps the time prefix of its lock id, so that it is adjacent in the index to hashes of the same time.
    let time = lock.len().min(6);
    nobodys[..time].copy_from_slice(&lock[..time]);
    nobodys
}

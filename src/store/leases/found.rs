//! The rows on which operations depend: looked at without a lock, and locked before they are changed.
//!
//! What was read before its row was locked is still valid if the row is the same. Otherwise it is looked at again, in the transaction that
//! has locked the row by then.

use std::collections::BTreeSet;

use crate::db::Connection;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::lease::engine::{Answer, Changes, LeaseRow, Operation, Place, Rows, live};
use crate::lease::operations::{Attempt, KeyState, LockHash, LockRequest, Proof};
use crate::store::leases::rows::{self, Asked, Read};

/// The strength of the lock of a row, which is held to the end of the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// For a live lease that must not end before the transaction does. Its heartbeats go on, where the database can tell them apart.
    Guard,
    /// For a change that does not wait for a save under the lease, where the database can tell them apart.
    Change,
    /// For a change that waits for a save under the lease, also if the lease has ended since; or for a key that nobody may acquire before
    /// the transaction ends.
    Replace,
}

/// The lock id by which an operation finds its row, and how it locks the row.
fn by_lock_id(operation: &Operation) -> Option<(&LockHash, Strength)> {
    match operation {
        Operation::Check(proof) => Some((&proof.lock, Strength::Guard)),
        Operation::UndoGrant { lock, .. } => Some((lock, Strength::Replace)),
        Operation::Resume { proof, .. } => Some((&proof.lock, Strength::Replace)),
        _ => proof(operation).map(|proof| (&proof.lock, Strength::Change)),
    }
}

/// The other rows that an operation locks, of those that were looked at, and how.
fn by_key(operation: &Operation, rows: &Rows) -> Vec<(Place, Strength)> {
    match operation {
        // An advisory lease does not wait for a save under the exclusive one.
        Operation::Take(request) if !request.policy.is_exclusive() => {
            vec![(Place::exclusive(&request.key), Strength::Change)]
        }
        Operation::Take(request) | Operation::TakeOver { request, .. } => {
            vec![(Place::exclusive(&request.key), Strength::Replace)]
        }
        Operation::KeyState(key) => vec![(Place::exclusive(key), Strength::Replace)],
        Operation::Break { key, generation, .. } => {
            // The row of the key has the generation of the latest advisory lease, too.
            let all = rows.of_key(key).filter(|row| row.generation == *generation);
            all.map(|row| (row.place.clone(), Strength::Replace)).collect()
        }
        Operation::ReleaseAll { owner } => {
            let theirs = rows.leases.values().filter(|row| row.owner.id == *owner);
            theirs.map(|row| (row.place.clone(), Strength::Change)).collect()
        }
        _ => Vec::new(),
    }
}

/// What an operation asks of the tables, except for the rows of an owner.
fn asked(operation: &Operation) -> Option<Asked<'_>> {
    match operation {
        Operation::Take(request) | Operation::TakeOver { request, .. } => {
            Some(Asked { key: Some(&request.key), lock: Some(&request.lock) })
        }
        Operation::Break { key, .. } | Operation::KeyState(key) | Operation::Holders(key) => Some(Asked::key(key)),
        Operation::ReleaseAll { .. } => None,
        _ => by_lock_id(operation).map(|(lock, _)| Asked { key: None, lock: Some(lock) }),
    }
}

/// The lock id that an operation presents.
fn proof(operation: &Operation) -> Option<&Proof> {
    match operation {
        Operation::Check(proof)
        | Operation::Keep(proof, _)
        | Operation::Extend(proof, _)
        | Operation::ExpireWithin(proof, _)
        | Operation::Release(proof)
        | Operation::ReleaseHeld(proof) => Some(proof),
        _ => None,
    }
}

/// Rows, as far as they were read.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub rows: Rows,
    /// The database's time after the last wait. The latest of several readings would not do: if the clock is set back during a wait, an
    /// earlier reading shows a later time, by which a lease that was acquired or prolonged meanwhile has expired.
    pub now: i64,
    /// The rows that cannot change before the transaction ends.
    pub locked: BTreeSet<Place>,
    /// The keys whose rows were read.
    known: BTreeSet<LockKey>,
}

impl Found {
    /// Reads what operations depend on, and locks nothing.
    pub(super) async fn look(&mut self, db: &mut Connection, operations: &[&Operation]) -> Result<(), DatabaseError> {
        if operations.is_empty() {
            return Ok(());
        }
        let questions: Vec<Asked<'_>> = operations.iter().filter_map(|operation| asked(operation)).collect();
        self.forget(&questions);
        self.ask(db, &questions).await?;
        for operation in operations {
            if let Operation::ReleaseAll { owner } = operation {
                self.add(rows::of_owner(db, owner).await?);
            }
        }
        // A refusal names the present holder of the key for which a lock id was used.
        let mut unknown: BTreeSet<LockKey> = BTreeSet::new();
        for operation in operations.iter().filter(|operation| !self.is_live(operation)) {
            let Some(lock) = asked(operation).and_then(|asked| asked.lock) else { continue };
            let row = self.rows.of_lock(lock).map(|row| &row.place.key);
            let past = self.rows.past.get(&lock[..]).map(|past| &past.key);
            unknown.extend(row.into_iter().chain(past).filter(|key| !self.known.contains(key)).cloned());
        }
        self.ask(db, &unknown.iter().map(Asked::key).collect::<Vec<_>>()).await
    }

    async fn ask(&mut self, db: &mut Connection, asked: &[Asked<'_>]) -> Result<(), DatabaseError> {
        if !asked.is_empty() {
            self.known.extend(asked.iter().filter_map(|asked| asked.key).cloned());
            self.add(rows::look(db, asked).await?);
        }
        Ok(())
    }

    /// Forgets the rows that are asked about and not locked: they may have changed, or been deleted.
    fn forget(&mut self, asked: &[Asked<'_>]) {
        let keys: BTreeSet<&LockKey> = asked.iter().filter_map(|asked| asked.key).collect();
        let locks: BTreeSet<&[u8]> = asked.iter().filter_map(|asked| asked.lock.map(|lock| &lock[..])).collect();
        let Found { rows, locked, known, .. } = self;
        rows.leases.retain(|place, row| {
            locked.contains(place) || !keys.contains(&place.key) && !locks.contains(&row.lock[..])
        });
        known.clear();
    }

    /// Whether the row of a presented lock id is its live lease.
    fn is_live(&self, operation: &Operation) -> bool {
        proof(operation).is_some_and(|proof| live(&self.rows, proof, self.now).is_some())
    }

    /// Adds what was read without a lock. A locked row stays as it is, and so does one that was read a moment before: the row of a lock id and
    /// its entry in the history are of one moment, and the row of its key is read later.
    fn add(&mut self, read: Read) {
        self.tell(read.clock);
        for row in read.rows {
            self.rows.leases.entry(row.place.clone()).or_insert(row);
        }
        self.rows.past.extend(read.past.into_iter().map(|past| (past.lock.clone(), past)));
        self.rows.floors.extend(read.floors);
    }

    fn tell(&mut self, clock: Option<i64>) {
        self.now = clock.unwrap_or(self.now);
    }

    /// Locks the rows of operations, and reads what they depend on besides, unless it was looked at before and is still valid. If it does
    /// not wait for other sessions, rows that they have locked stay unlocked.
    pub(super) async fn lock(
        &mut self,
        db: &mut Connection,
        operations: &[&Operation],
        waits: bool,
    ) -> Result<(), DatabaseError> {
        if db.sheet().row_locks.is_none() {
            // The transaction has locked every row.
            *self = Found::default();
            self.look(db, operations).await?;
            self.locked = self.rows.leases.keys().cloned().collect();
            return Ok(());
        }
        let changed = self.lock_rows(db, operations, waits).await?;
        self.look_again(db, operations, &changed).await?;
        for operation in operations {
            if let Operation::Take(request) = operation
                && !request.policy.is_exclusive()
            {
                self.lock_slots(db, request, waits).await?;
            }
        }
        Ok(())
    }

    /// Locks the rows of lock ids, and those of keys that were looked at. Returns those that are not as they were looked at.
    async fn lock_rows(
        &mut self,
        db: &mut Connection,
        operations: &[&Operation],
        waits: bool,
    ) -> Result<BTreeSet<Place>, DatabaseError> {
        let mut changed = BTreeSet::new();
        for strength in [Strength::Guard, Strength::Change, Strength::Replace] {
            let locks = operations.iter().filter_map(|operation| by_lock_id(operation));
            let locks: BTreeSet<&LockHash> = locks.filter(|(_, of)| *of == strength).map(|(lock, _)| lock).collect();
            self.hold(rows::lock_ids(db, &locks, strength, waits).await?, &mut changed);
        }
        for strength in [Strength::Change, Strength::Replace] {
            let places = operations.iter().flat_map(|operation| by_key(operation, &self.rows));
            let places: BTreeSet<Place> = places.filter(|(_, of)| *of == strength).map(|(place, _)| place).collect();
            let read = rows::lock(db, &places, strength, waits).await?;
            // Another operation may have locked the row less strongly, beside a save that this one would have to wait for.
            self.locked.retain(|place| !places.contains(place));
            self.hold(read, &mut changed);
        }
        Ok(changed)
    }

    /// Looks again at what was read before its row was locked, if the row has changed since, or there is none.
    async fn look_again(
        &mut self,
        db: &mut Connection,
        operations: &[&Operation],
        changed: &BTreeSet<Place>,
    ) -> Result<(), DatabaseError> {
        let is_same = |key: &LockKey| {
            let place = Place::exclusive(key);
            self.locked.contains(&place) && !changed.contains(&place)
        };
        let locked = |lock: &LockHash| self.rows.of_lock(lock).filter(|row| self.locked.contains(&row.place));
        let is_valid = |operation: &Operation| match operation {
            // The other leases on the key do not change its row while an exclusive lease is alive.
            Operation::Take(request) if !request.policy.is_exclusive() => false,
            Operation::Take(request) | Operation::TakeOver { request, .. } => is_same(&request.key),
            Operation::KeyState(key) => self.locked.contains(&Place::exclusive(key)),
            Operation::UndoGrant { lock, .. } => locked(lock).is_some(),
            Operation::Resume { proof, key } => {
                locked(&proof.lock).is_some_and(|row| !row.ended && row.place.key == *key && proof.is_by(&row.owner.id))
            }
            // Without a lock id: the rows were looked at, and those that are not locked must not be changed.
            _ => proof(operation).is_none_or(|proof| locked(&proof.lock).is_some() && self.is_live(operation)),
        };
        let again: Vec<&Operation> = operations.iter().copied().filter(|operation| !is_valid(operation)).collect();
        self.look(db, &again).await
    }

    /// Locks the rows of the other leases on a key on which a request for an advisory lease depends, while the row of the key is locked.
    async fn lock_slots(
        &mut self,
        db: &mut Connection,
        request: &LockRequest,
        waits: bool,
    ) -> Result<(), DatabaseError> {
        let (own, now) = (Place::of(request), self.now);
        let slots = |rows: &Rows, is: &dyn Fn(&LeaseRow) -> bool| -> BTreeSet<Place> {
            let slots = rows.of_key(&request.key).filter(|row| !row.place.slot.is_empty() && is(row));
            slots.map(|row| row.place.clone()).collect()
        };
        let mut changed = BTreeSet::new();
        let mine = slots(&self.rows, &|row| row.place == own);
        self.hold(rows::lock(db, &mine, Strength::Replace, waits).await?, &mut changed);
        // A heartbeat, or a save under that lease, may be in flight on a row that another session has locked. The next acquisition
        // records it.
        let ended = slots(&self.rows, &|row| row.place != own && !row.alive(now));
        self.hold(rows::lock(db, &ended, Strength::Replace, false).await?, &mut changed);
        self.rows.busy = slots(&self.rows, &|row| !self.locked.contains(&row.place));
        Ok(())
    }

    /// Adds rows that were locked. Those that are not as they were looked at are changed.
    fn hold(&mut self, read: Read, changed: &mut BTreeSet<Place>) {
        self.tell(read.clock);
        for row in read.rows {
            if self.rows.leases.get(&row.place) != Some(&row) {
                changed.insert(row.place.clone());
            }
            self.locked.insert(row.place.clone());
            self.rows.leases.insert(row.place.clone(), row);
        }
    }

    /// Whether an operation changes, and relies on, rows that are locked, and no others. (It may insert some: if another session was
    /// first, that fails.)
    pub(super) fn are_held(&self, operation: &Operation, answer: &Answer, changes: &Changes) -> bool {
        let relied_on = match (operation, answer) {
            (Operation::Check(proof), Answer::Lease(Ok(_))) => self.rows.of_lock(&proof.lock),
            (Operation::KeyState(key), Answer::KeyState(KeyState::Free)) => self.rows.exclusive(key),
            // An advisory lease does not change the row of an exclusive one, whose lock keeps other requests away.
            (Operation::Take(request), Answer::Taken(Attempt::Granted(_))) => self.rows.exclusive(&request.key),
            _ => None,
        };
        relied_on.is_none_or(|row| self.locked.contains(&row.place))
            && changes.leases.keys().all(|place| self.locked.contains(place) || !self.rows.leases.contains_key(place))
    }
}

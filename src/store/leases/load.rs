//! Loads the rows on which an operation depends. The row of the exclusive lease on a key is locked before its other rows,
//! so that two operations cannot deadlock.

use crate::db::Connection;
use crate::error::DatabaseError;
use crate::lease::LockKey;
use crate::lease::engine::{LeaseRow, Operation, Place, Rows, conflict};
use crate::lease::operations::{LockHash, LockRequest, Proof};
use crate::store::leases::{Hold, Which, rows};

/// Rows, as they are loaded.
pub(super) struct Loader<'t> {
    db: &'t mut Connection,
    /// Whether rows are locked; otherwise they are only read.
    locking: bool,
    rows: Rows,
    now: i64,
    /// Keys whose exclusive row was looked up.
    known: Vec<LockKey>,
}

impl<'t> Loader<'t> {
    pub(super) fn new(db: &'t mut Connection, locking: bool) -> Self {
        Loader { db, locking, rows: Rows::default(), now: 0, known: Vec::new() }
    }

    /// The rows, and the time after the last wait. Without any row no decision depends on the time.
    pub(super) fn into_rows(self) -> (Rows, i64) {
        (self.rows, self.now)
    }

    /// Loads the rows of an operation. Returns false if another session was first, so that a row to change is not locked.
    pub(super) async fn load(&mut self, operation: &Operation<'_>) -> Result<bool, DatabaseError> {
        match *operation {
            Operation::Take(request) => return self.take(operation, request).await,
            Operation::Check(proof) => {
                self.live(proof, Hold::Guard).await?;
            }
            Operation::Extend(proof, _) | Operation::ExpireWithin(proof, _) | Operation::Release(proof) => {
                self.live(proof, Hold::Change).await?;
            }
            Operation::Keep(beats) => {
                // In one order for all callers, so that two of them cannot deadlock.
                let mut proofs: Vec<&Proof> = beats.iter().map(|(proof, _)| proof).collect();
                proofs.sort_by_key(|proof| proof.lock);
                for proof in proofs {
                    self.live(proof, Hold::Change).await?;
                }
            }
            Operation::UndoGrant { lock, .. } => self.leases(Which::Lock(lock), Hold::Replace).await?,
            Operation::Break { key, generation, .. } => {
                self.leases(Which::Generation(key, generation), Hold::Replace).await?;
            }
            Operation::TakeOver { request, generation, .. } => self.take_over(request, generation).await?,
            Operation::ReleaseAll { owner } => self.leases(Which::Owner(owner), Hold::Change).await?,
            Operation::Resume { proof, key } => self.resume(proof, key).await?,
            Operation::KeyState(key) => self.leases(Which::Exclusive(key), Hold::Replace).await?,
            Operation::Holders(key) => self.leases(Which::Key(key), Hold::No).await?,
        }
        Ok(true)
    }

    async fn take(&mut self, operation: &Operation<'_>, request: &LockRequest) -> Result<bool, DatabaseError> {
        // An advisory lease does not wait for a save under the exclusive one.
        let hold = if request.policy.exclusive { Hold::Replace } else { Hold::Change };
        self.leases(Which::Exclusive(&request.key), hold).await?;
        self.slots(request).await?;
        if !self.locking || conflict(operation, &self.rows, self.now).is_some() {
            return Ok(true);
        }
        let mut complete = true;
        if let Some(row) = self.trace(&request.lock, request.key.kind()).await? {
            // The row of the requested key was locked above, unless another session inserted it since.
            complete = Place::of(request) != row.place;
            self.rows.leases.insert(row.place.clone(), row);
        }
        self.explain(&request.lock).await?;
        Ok(complete)
    }

    /// The other rows of a requested key, if the request depends on them.
    async fn slots(&mut self, request: &LockRequest) -> Result<(), DatabaseError> {
        let key = &request.key;
        if request.policy.exclusive {
            // Generations continue above them.
            return match self.locking && self.rows.exclusive(key).is_none() {
                true => self.leases(Which::Slots(key), Hold::No).await,
                false => Ok(()),
            };
        }
        if !self.locking {
            return Ok(());
        }
        self.leases(Which::Slots(key), Hold::No).await?;
        let (now, own) = (self.now, Place::of(request));
        let seen: Vec<Place> =
            self.rows.of_key(key).map(|row| &row.place).filter(|place| !place.slot.is_empty()).cloned().collect();
        let mut locked = Vec::new();
        if self.rows.of_key(key).any(|row| !row.place.slot.is_empty() && row.place != own && !row.alive(now)) {
            // A heartbeat, or a save under that lease, may be in flight on a row that another session has locked. The next
            // acquisition records it.
            locked = self.fetch(Which::EndedSlots(key), Hold::Replace).await?;
        }
        if seen.contains(&own) {
            locked.extend(self.fetch(Which::Lock(&request.lock), Hold::Replace).await?);
        }
        self.rows.busy.extend(seen.into_iter().filter(|place| !locked.contains(place)));
        Ok(())
    }

    async fn take_over(&mut self, request: &LockRequest, generation: i64) -> Result<(), DatabaseError> {
        self.leases(Which::ExclusiveOf(&request.key, generation), Hold::Replace).await?;
        let now = self.now;
        if self.rows.exclusive(&request.key).is_some_and(|row| row.generation == generation && row.alive(now)) {
            if let Some(row) = self.trace(&request.lock, request.key.kind()).await? {
                self.rows.leases.insert(row.place.clone(), row);
            }
            self.explain(&request.lock).await?;
        }
        Ok(())
    }

    async fn resume(&mut self, proof: &Proof, key: &LockKey) -> Result<(), DatabaseError> {
        self.leases(Which::Lock(&proof.lock), Hold::Replace).await?;
        self.trace(&proof.lock, key.kind()).await?;
        let found = self.rows.of_lock(&proof.lock);
        let theirs = found.is_some_and(|row| !row.ended && row.place.key == *key && proof.is_by(&row.owner.id));
        if !theirs || self.rows.past.contains_key(&proof.lock[..]) {
            self.explain(&proof.lock).await?;
        }
        Ok(())
    }

    /// The live lease of a presented lock id; otherwise loads the reason that there is none.
    async fn live(&mut self, proof: &Proof, hold: Hold) -> Result<Option<LeaseRow>, DatabaseError> {
        self.leases(Which::Lock(&proof.lock), hold).await?;
        let now = self.now;
        let found = self.rows.of_lock(&proof.lock).filter(|row| row.alive(now) && proof.is_by(&row.owner.id));
        if let Some(row) = found {
            return Ok(Some(row.clone()));
        }
        self.trace(&proof.lock, "").await?;
        self.explain(&proof.lock).await?;
        Ok(None)
    }

    /// The present holder of the key for which a lock id was used: a refusal names it.
    async fn explain(&mut self, lock: &LockHash) -> Result<(), DatabaseError> {
        let used = self.rows.of_lock(lock).map(|row| &row.place.key);
        let used = used.into_iter().chain(self.rows.past.get(&lock[..]).map(|past| &past.key));
        let unknown: Vec<LockKey> = used.filter(|key| !self.known.contains(key)).cloned().collect();
        for key in unknown {
            self.leases(Which::Exclusive(&key), Hold::No).await?;
        }
        Ok(())
    }

    async fn leases(&mut self, which: Which<'_>, hold: Hold) -> Result<(), DatabaseError> {
        self.fetch(which, hold).await.map(drop)
    }

    /// Loads rows, and returns their places.
    async fn fetch(&mut self, which: Which<'_>, hold: Hold) -> Result<Vec<Place>, DatabaseError> {
        let hold = if self.locking { hold } else { Hold::No };
        let found = rows::leases(self.db, which, hold).await?;
        self.tell(found.clock);
        if let Which::Exclusive(key) = which {
            self.known.push(key.clone());
        }
        let mut places = Vec::with_capacity(found.rows.len());
        for row in found.rows {
            places.push(row.place.clone());
            match hold {
                // A locked row stays as it is.
                Hold::No => drop(self.rows.leases.entry(row.place.clone()).or_insert(row)),
                _ => drop(self.rows.leases.insert(row.place.clone(), row)),
            }
        }
        Ok(places)
    }

    /// Loads the history of a lock id and the floor of the generations of a type. Returns the row of the lock id if it is not loaded yet.
    async fn trace(&mut self, lock: &LockHash, kind: &str) -> Result<Option<LeaseRow>, DatabaseError> {
        let found = rows::trace(self.db, lock, kind).await?;
        self.tell(found.clock);
        let mut other = None;
        for trace in found.rows {
            other = trace.lease.filter(|row| !self.rows.leases.contains_key(&row.place));
            self.rows.past.extend(trace.past.map(|past| (past.lock.clone(), past)));
            self.rows.floors.extend(trace.floor.map(|floor| (kind.to_owned(), floor)));
        }
        Ok(other)
    }

    fn tell(&mut self, clock: Option<i64>) {
        self.now = clock.map_or(self.now, |clock| self.now.max(clock));
    }
}

//! Offline pessimistic locks: leases that a person holds while editing.

mod requests;
mod resume;
mod takeover;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::{Attempt, Backend, LockAnswer, LockOp, LockRequest, Proof};
use crate::batch::Batcher;
use crate::database::Database;
use crate::error::{BreakError, DatabaseError, LeaseError, LockError};
use crate::lease::{Holder, Lease, LockId, LockKey, NoLock, Owner};
use crate::policy::LockPolicy;
use crate::transaction::Transaction;

pub use takeover::TakeOverPermission;

/// Gives leases on aggregates, keeps them alive, and ends them.
///
/// ```
/// # use tenure::{Database, LockError, LockKey, LockManager, Owner};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
/// let locks = LockManager::new(&db);
/// let (kim, lee) = (Owner::new("kim", "Kim Minji"), Owner::new("lee", "Lee Junho"));
/// let order = LockKey::new("Order", "1234");
///
/// let lease = locks.try_lock(&order, &kim).await?;
/// match locks.try_lock(&order, &lee).await {
///     Err(LockError::AlreadyLocked(holder)) => assert_eq!(holder.owner, kim),
///     other => panic!("two people hold {other:?}"),
/// }
/// locks.keep_alive(&[lease.id().clone()]).await?;      // what an open form does once a minute
/// locks.release_lock(lease.id()).await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct LockManager {
    backend: Arc<dyn Backend>,
    batch: Batcher,
    policies: Arc<HashMap<String, LockPolicy>>,
    permissions: takeover::Permissions,
    owner: Option<String>,
}

impl LockManager {
    /// Locks in this database, [`LockPolicy::exclusive`] for every type.
    pub fn new(database: &Database) -> Self {
        LockManager {
            backend: Arc::clone(database.backend()),
            batch: database.batch().clone(),
            policies: Arc::default(),
            permissions: takeover::Permissions::default(),
            owner: None,
        }
    }

    /// Sets the policy of one aggregate type.
    pub fn with_policy(mut self, kind: impl Into<String>, policy: LockPolicy) -> Self {
        Arc::make_mut(&mut self.policies).insert(kind.into(), policy);
        self
    }

    /// The same locks, on behalf of one person: a lock id of somebody else is refused with
    /// [`Why::NotYours`](crate::Why::NotYours). Handlers of requests use this, with whoever is signed in.
    pub fn acting_for(&self, owner: &Owner) -> Self {
        LockManager { owner: Some(owner.id.clone()), ..self.clone() }
    }

    /// The policy of an aggregate type.
    pub fn policy(&self, kind: &str) -> LockPolicy {
        self.policies.get(kind).copied().unwrap_or_default()
    }

    /// Takes the lock, if it is free or its lease has run out. It never waits for somebody to finish editing.
    ///
    /// # Errors
    /// [`LockError::AlreadyLocked`] with the holder; [`LockError::Reserved`] when it was handed over to somebody who has not
    /// taken it yet; [`LockError::LockingFailed`] when somebody else was faster by a
    /// moment; [`LockError::InvalidKey`]; [`LockError::Database`].
    pub async fn try_lock(&self, key: &LockKey, owner: &Owner) -> Result<Lease, LockError> {
        self.try_lock_as(key, owner, LockId::random()).await
    }

    /// As [`try_lock`](Self::try_lock), with a lock id that the caller made. Asking again with the same id gives the same
    /// lease, same generation, so an answer that was lost can be asked for again, and a page can be reloaded.
    ///
    /// # Errors
    /// As [`try_lock`](Self::try_lock), and [`LockError::LockIdUsed`] when the lease of this id has ended already.
    pub async fn try_lock_as(&self, key: &LockKey, owner: &Owner, id: LockId) -> Result<Lease, LockError> {
        if let Some(problem) = key.problem() {
            return Err(LockError::InvalidKey { key: key.to_string().chars().take(60).collect(), problem });
        }
        let policy = self.policy(key.kind());
        let request = LockRequest { key: key.clone(), lock: id.hash(), owner: owner.clone(), policy };
        match self.batch.ask(LockOp::Take(request.clone())).await? {
            Some(LockAnswer::Yours(holder)) => return Ok(Lease { id, holder }),
            Some(LockAnswer::Held { holder, .. }) => return Err(LockError::AlreadyLocked(Box::new(holder))),
            None => {}
        }
        match self.backend.try_lock(&request).await? {
            Attempt::Granted(holder) => Ok(Lease { id, holder }),
            Attempt::Held(holder) => Err(LockError::AlreadyLocked(Box::new(holder))),
            Attempt::Reserved(Holder { key, owner, remaining, .. }) => {
                Err(LockError::Reserved { key, owner, remaining })
            }
            Attempt::Lost => Err(LockError::LockingFailed { key: key.clone() }),
            Attempt::Used(no_lock) => Err(LockError::LockIdUsed(Box::new(no_lock))),
        }
    }

    /// Whether the lease is alive. Only good for showing: by the time the answer arrives it may have ended. A save
    /// checks inside its own transaction, see [`Update::holding`](crate::Update::holding).
    ///
    /// # Errors
    /// [`LeaseError::NoLock`] tells why not.
    pub async fn check_lock(&self, id: &LockId) -> Result<Lease, LeaseError> {
        let proof = self.proof(id);
        match self.batch.ask(LockOp::Check(proof.clone())).await? {
            Some(answer) => Ok(yours(id, answer)),
            None => lease(id, self.backend.check_lock(&proof).await?),
        }
    }

    /// Moves the expiry by `by`, but not beyond now + ttl, nor beyond the absolute limit, and never backwards. What was
    /// not used up does not pile up, so prefer [`keep_alive`](Self::keep_alive): there a late beat costs nothing.
    ///
    /// # Errors
    /// [`LeaseError::NoLock`]: a lease that ran out is not revived.
    pub async fn extend_lock_expiration(&self, id: &LockId, by: Duration) -> Result<Lease, LeaseError> {
        let proof = self.proof(id);
        match self.batch.ask(LockOp::Extend(proof.clone(), by)).await? {
            Some(answer) => Ok(yours(id, answer)),
            None => lease(id, self.backend.extend(&proof, by).await?),
        }
    }

    /// Sets the expiry of each lease to now + ttl, within the absolute limit: the heartbeat of open forms. Answers in the
    /// order of the ids; one that has ended does not disturb the others.
    ///
    /// # Errors
    /// [`DatabaseError`] when the database failed: the leases are what they were, count down and try again.
    pub async fn keep_alive(&self, ids: &[LockId]) -> Result<Vec<Result<Lease, NoLock>>, DatabaseError> {
        let proofs: Vec<Proof> = ids.iter().map(|id| self.proof(id)).collect();
        let answers = match &proofs[..] {
            [proof] => vec![self.batch.ask(LockOp::KeepAlive(proof.clone())).await],
            _ => self.batch.ask_all(proofs.iter().cloned().map(LockOp::KeepAlive).collect()).await,
        };
        let mut kept: Vec<Option<Result<Lease, NoLock>>> = Vec::with_capacity(ids.len());
        for (id, answer) in ids.iter().zip(answers) {
            kept.push(answer?.map(|answer| Ok(yours(id, answer))));
        }
        // Those that have ended have to be told why, and a row that somebody has locked is waited for.
        let alone: Vec<usize> = (0..kept.len()).filter(|&at| kept[at].is_none()).collect();
        let asked: Vec<Proof> = alone.iter().map(|&at| proofs[at].clone()).collect();
        if !asked.is_empty() {
            for (at, answer) in alone.into_iter().zip(self.backend.keep_alive(&asked).await?) {
                kept[at] = Some(answer.map(|holder| Lease { id: ids[at].clone(), holder }));
            }
        }
        Ok(kept.into_iter().flatten().collect())
    }

    /// Brings the end of the lease forward to `within` from now: what a page does when it is left, perhaps for good.
    /// If it comes back in time (a reload, the Back button), [`keep_alive`](Self::keep_alive) restores the full time.
    ///
    /// # Errors
    /// [`LeaseError::NoLock`] when there is nothing (any more) to end.
    pub async fn expire_within(&self, id: &LockId, within: Duration) -> Result<Lease, LeaseError> {
        let proof = self.proof(id);
        match self.batch.ask(LockOp::ExpireWithin(proof.clone(), within)).await? {
            Some(answer) => Ok(yours(id, answer)),
            None => lease(id, self.backend.expire_within(&proof, within).await?),
        }
    }

    /// Gives the lock back.
    ///
    /// # Errors
    /// [`LeaseError::NoLock`] when there was nothing (any more) to give back.
    pub async fn release_lock(&self, id: &LockId) -> Result<(), LeaseError> {
        let proof = self.proof(id);
        match self.batch.ask(LockOp::Release(proof.clone())).await? {
            Some(_) => Ok(()),
            None => lease(id, self.backend.release_lock(&proof).await?).map(drop),
        }
    }

    /// Gives the lock back with the commit of a transaction: saved and free, or neither.
    ///
    /// # Errors
    /// [`LeaseError::NoLock`] when there is nothing (any more) to give back; the transaction goes on.
    pub async fn release_in(&self, tx: &mut Transaction, id: &LockId) -> Result<(), LeaseError> {
        let released = tx.usable()?.release_lock(&self.proof(id)).await;
        lease(id, tx.note(released)?).map(drop)
    }

    /// Checks the lease inside a transaction and holds it to the end: nobody takes it over before the commit, even if it
    /// runs out meanwhile.
    ///
    /// # Errors
    /// [`LeaseError::NoLock`]: do not save.
    pub async fn guard(&self, tx: &mut Transaction, id: &LockId) -> Result<Lease, LeaseError> {
        let guarded = tx.usable()?.guard(&self.proof(id)).await;
        lease(id, tx.note(guarded)?)
    }

    /// Ends somebody's lease. Names the generation that was seen, so that it cannot hit a newer one, and a reason, which
    /// the holder is told. Who may do this is for the caller to decide; no [`TakeOverPermission`] is asked.
    ///
    /// # Errors
    /// [`BreakError::HolderChanged`] when that generation is not held (any more); [`BreakError::NoReason`].
    pub async fn break_lock(
        &self,
        key: &LockKey,
        generation: i64,
        by: &Owner,
        reason: &str,
    ) -> Result<Holder, BreakError> {
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(BreakError::NoReason);
        }
        match self.backend.break_lock(key, generation, by, reason).await? {
            Some(broken) => {
                tracing::info!(lock = %key, generation, by = by.id, owner = broken.owner.id, "lock broken");
                Ok(broken)
            }
            None => Err(BreakError::HolderChanged { held_now: self.holders(key).await? }),
        }
    }

    /// Everybody who holds the key now, the longest-held first: at most one with an exclusive policy.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub async fn holders(&self, key: &LockKey) -> Result<Vec<Holder>, DatabaseError> {
        self.backend.holders(key).await
    }

    /// Everything that is held now, of one type or of all, the longest-held first, at most `limit`.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub async fn held(&self, kind: Option<&str>, limit: u32) -> Result<Vec<Holder>, DatabaseError> {
        self.backend.held(kind, limit).await
    }

    fn proof(&self, id: &LockId) -> Proof {
        Proof { lock: id.hash(), owner: self.owner.clone() }
    }
}

/// The lease that an answer confirms. (Nobody else's is ever the answer to a lock id.)
fn yours(id: &LockId, answer: LockAnswer) -> Lease {
    let (LockAnswer::Yours(holder) | LockAnswer::Held { holder, .. }) = answer;
    Lease { id: id.clone(), holder }
}

fn lease(id: &LockId, answer: Result<Holder, NoLock>) -> Result<Lease, LeaseError> {
    Ok(Lease { id: id.clone(), holder: answer? })
}

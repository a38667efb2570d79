//! Acquiring several locks at once: all of them or none.

use std::time::Duration;

use super::LockManager;
use super::claim::{IdFrom, RunToEnd, Unclaimed};
use crate::error::{LeaseError, LeaseSetError, LockError};
use crate::lease::{Lease, LockId, LockKey, NoLock, Owner};
use crate::lock_manager::set::{HeldSet, LeaseSet};
use crate::storage::{Attempt, AttemptAll, LockAnswer, LockOp, LockRequest, Proof};
use crate::telemetry::outcome::{Outcome, seen};
use crate::unit_of_work::retry::random_fraction;
use crate::unit_of_work::transaction::Transaction;

/// How often a set is retried after a lost race whose winners have released since.
const ATTEMPTS: u32 = 10;
/// The longest pause after the first of these attempts. Later ones are longer.
const PAUSE: Duration = Duration::from_millis(5);

/// The result for a member: its lease, or the reason of its end.
type Member = Result<Lease, NoLock>;

impl LockManager {
    /// Acquires several locks in one transaction: all of them, or none. Types may have different policies. A duplicate
    /// key counts once; the order does not matter, because all callers acquire them in the same one.
    ///
    /// It never waits for a holder to finish. Dropping the future acquires nothing, as with
    /// [`try_lock`](Self::try_lock). One secret holds them all, see [`LeaseSet`], and each is a lease like any other.
    ///
    /// ```
    /// # use tenure::{Database, LockKey, LockManager, Owner, lock_manager::LeaseSet, error::LockError};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let locks = LockManager::new(&db);
    /// # let (kim, lee) = (Owner::new("kim", "Kim Minji"), Owner::new("lee", "Lee Junho"));
    /// let keys = [LockKey::new("Order", "1234"), LockKey::new("Invoice", "99")];
    ///
    /// let held = locks.try_lock_all(keys.clone(), &kim).await?;
    /// let hidden_field = held.set().id().reveal();
    /// let refused = locks.try_lock_all(keys.clone(), &lee).await;
    /// assert!(matches!(refused, Err(LockError::SomeLocked { held, .. }) if held.len() == 2 && held[0].owner == kim));
    ///
    /// // The next request: the heartbeat of the form, then its end.
    /// let set = LeaseSet::of(hidden_field.parse()?, keys.clone())?;
    /// locks.keep_set_alive(&set).await?;
    /// locks.check_lock(&set.lock_id(&keys[1]).unwrap()).await?;
    /// locks.release_set(&set).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LockError::SomeLocked`] with all blocking holders; [`LockError::LockingFailed`] if a concurrent request won
    /// the race; [`LockError::LimitReached`]; [`LockError::NoKeys`], [`LockError::TooManyKeys`] and [`LockError::InvalidKey`];
    /// [`LockError::Database`]. After any of them nothing was acquired, and nothing was recorded.
    pub async fn try_lock_all(
        &self,
        keys: impl IntoIterator<Item = LockKey>,
        owner: &Owner,
    ) -> Result<HeldSet, LockError> {
        self.take_all(keys, owner, (LockId::random(), IdFrom::Call)).await
    }

    /// As [`try_lock_all`](Self::try_lock_all), with a secret that the caller created. Repeated with the same secret and
    /// the same keys, it returns the same leases with the same generations, so it can be repeated after a lost response.
    ///
    /// # Errors
    /// As [`try_lock_all`](Self::try_lock_all), and [`LockError::LockIdUsed`] if the lease of one of them has ended.
    pub async fn try_lock_all_as(
        &self,
        keys: impl IntoIterator<Item = LockKey>,
        owner: &Owner,
        id: LockId,
    ) -> Result<HeldSet, LockError> {
        self.take_all(keys, owner, (id, IdFrom::Caller)).await
    }

    async fn take_all(
        &self,
        keys: impl IntoIterator<Item = LockKey>,
        owner: &Owner,
        (id, from): (LockId, IdFrom),
    ) -> Result<HeldSet, LockError> {
        let set = LeaseSet::of(id, keys)?;
        let (locks, asked, owner) = (self.clone(), set.clone(), owner.clone());
        let taking = RunToEnd::new(|_gone| async move {
            let held = locks.take_set(asked, &owner).await;
            held.map(|held| Unclaimed::all(held.into_leases(), locks, from))
        });
        let taking =
            async { Result::<_, LockError>::map(taking.await, |leases| HeldSet::new(set, leases.claim_all())) };
        let held = seen(self.metrics(), "try_lock_all", None, taking).await?;
        self.count("try_lock", &held);
        Ok(held)
    }

    async fn take_set(&self, set: LeaseSet, owner: &Owner) -> Result<HeldSet, LockError> {
        owner.check()?;
        let request = |(key, id): (&LockKey, &LockId)| LockRequest {
            key: key.clone(),
            lock: id.hash(),
            owner: owner.clone(),
            policy: self.policy(key.kind()),
            shared: false,
        };
        let ids = set.lock_ids();
        let requests: Vec<LockRequest> = set.keys().iter().zip(&ids).map(request).collect();
        let _turn = self.admit_all(&requests).await?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.backend.try_lock_all(&requests).await? {
                AttemptAll::Granted(holders) => {
                    let leases = ids.into_iter().zip(holders).map(|(id, holder)| self.granted(id, holder)).collect();
                    return Ok(HeldSet::new(set, leases));
                }
                AttemptAll::Refused(refused) => match self.refusal(&set, refused, &owner.id) {
                    // A concurrent request won the race, and holds it now or has released it: a retry gets a definite result.
                    LockError::LockingFailed { .. } if attempts < ATTEMPTS => {
                        tokio::time::sleep(attempts * PAUSE.mul_f64(random_fraction())).await;
                    }
                    refusal => return Err(refusal),
                },
            }
        }
    }

    /// Whether all leases of a set are live. Use it for display only: a save checks inside its own transaction.
    ///
    /// # Errors
    /// [`LeaseSetError::Ended`] with the ended members and their reasons.
    pub async fn check_set(&self, set: &LeaseSet) -> Result<HeldSet, LeaseSetError> {
        let checked = self.of_set(set, LockOp::Check);
        seen(self.metrics(), "check_set", None, checked).await
    }

    /// Sets the expiry of each lease of a set to now + its ttl, within its absolute limit: one heartbeat for all of them.
    /// An ended member does not affect the others: they are kept alive.
    ///
    /// # Errors
    /// [`LeaseSetError::Ended`] with the ended members and their reasons: a save under the set would be refused.
    pub async fn keep_set_alive(&self, set: &LeaseSet) -> Result<HeldSet, LeaseSetError> {
        let kept = self.keep_alive(&set.lock_ids()).await?;
        self.held_set(set, kept)
    }

    /// Releases all leases of a set. An ended member does not prevent the release of the others.
    ///
    /// # Errors
    /// [`LeaseSetError::Ended`] with the members that had ended before, and their reasons.
    pub async fn release_set(&self, set: &LeaseSet) -> Result<(), LeaseSetError> {
        let (locks, set) = (self.clone(), set.clone());
        let releasing = RunToEnd::new(|_gone| async move {
            let released = locks.of_set(&set, LockOp::Release);
            let released = seen(locks.metrics(), "release_set", None, released).await;
            released.iter().for_each(|released| locks.count("release_lock", released));
            set.lock_ids().iter().for_each(|id| locks.metrics().forget(|| id.hash()));
            set.keys().iter().for_each(|key| locks.hub.touched(key));
            released.map(drop)
        });
        releasing.await
    }

    /// Checks all leases of a set inside a transaction and holds them to its end, in the order of the keys: for a unit of
    /// work that saves several of the aggregates.
    ///
    /// # Errors
    /// [`LeaseError::NoLock`] for the first ended member: do not save.
    pub async fn guard_set(&self, tx: &mut Transaction, set: &LeaseSet) -> Result<HeldSet, LeaseError> {
        let mut leases = Vec::with_capacity(set.keys().len());
        for id in set.lock_ids() {
            leases.push(self.guard(tx, &id).await?);
        }
        Ok(HeldSet::new(set.clone(), leases))
    }

    /// Counts the leases of a set like leases that are acquired and released one by one.
    fn count(&self, operation: &'static str, set: &HeldSet) {
        let leases = set.leases().iter();
        leases.for_each(|lease| self.metrics().ended(operation, lease.holder().key.kind(), &lease.report()));
    }

    /// Queries all of them in one round trip, and individually those that need a wait or a reason.
    async fn of_set(&self, set: &LeaseSet, op: fn(Proof) -> LockOp) -> Result<HeldSet, LeaseSetError> {
        let ids = set.lock_ids();
        let proofs: Vec<Proof> = ids.iter().map(|id| self.proof(id)).collect();
        let ops: Vec<LockOp> = proofs.iter().cloned().map(op).collect();
        let releases = matches!(ops.first(), Some(LockOp::Release(_)));
        let answers = self.batch.ask_all(ops).await;
        let mut members: Vec<Member> = Vec::with_capacity(ids.len());
        for ((id, proof), answer) in ids.into_iter().zip(&proofs).zip(answers) {
            members.push(match answer? {
                Some(LockAnswer::Yours(holder) | LockAnswer::Held { holder, .. }) => Ok(Lease { id, holder }),
                None if releases => self.backend.release_lock(proof).await?.map(|holder| Lease { id, holder }),
                None => self.backend.check_lock(proof).await?.map(|holder| Lease { id, holder }),
            });
        }
        self.held_set(set, members)
    }

    /// The set, if all members are live.
    fn held_set(&self, set: &LeaseSet, members: Vec<Member>) -> Result<HeldSet, LeaseSetError> {
        let (mut ended, mut others) = (Vec::new(), Vec::with_capacity(members.len()));
        for (key, member) in set.keys().iter().zip(members) {
            match member {
                Ok(lease) => others.push(lease),
                // If the lock id is unknown, only the set knows the key.
                Err(no_lock) => {
                    let no_lock = no_lock.seen_by(self.owner.as_deref());
                    ended.push(NoLock { key: Some(key.clone()), ..no_lock });
                }
            }
        }
        if ended.is_empty() {
            Ok(HeldSet::new(set.clone(), others))
        } else {
            Err(LeaseSetError::Ended { ended, others })
        }
    }

    /// The error for all blocked members. A used secret never works again; other causes may end.
    fn refusal(&self, set: &LeaseSet, refused: Vec<(usize, Attempt)>, asker: &str) -> LockError {
        let (mut held, mut reserved, mut lost) = (Vec::new(), Vec::new(), None);
        for (at, attempt) in refused {
            match attempt {
                Attempt::Used(used) => {
                    let key = used.key.clone().or_else(|| set.keys().get(at).cloned());
                    return LockError::LockIdUsed(Box::new(NoLock { key, ..used.seen_by(Some(asker)) }));
                }
                Attempt::Held(holder) => held.push(self.seen_by(holder, Some(asker))),
                Attempt::Reserved(holder) => reserved.push(self.seen_by(holder, Some(asker))),
                Attempt::Lost | Attempt::Granted(_) => lost = lost.or(set.keys().get(at)),
            }
        }
        match lost.or(set.keys().first()) {
            Some(key) if held.is_empty() && reserved.is_empty() => LockError::LockingFailed { key: key.clone() },
            _ => LockError::SomeLocked { held, reserved },
        }
    }
}

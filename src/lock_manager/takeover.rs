//! Taking over a lease from its holder, and releasing all leases of one owner.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::LockManager;
use super::claim::{IdFrom, RunToEnd, Unclaimed};
use crate::error::{DatabaseError, TakeOverError};
use crate::lease::engine::Operation;
use crate::lease::operations::{Attempt, LockRequest, Proof, TakenOver};
use crate::lease::{Holder, Lease, LockId, LockKey, Owner, askable, checked_reason};
use crate::telemetry::outcome::seen;

/// The application's rule for takeovers of leases of an aggregate type, see
/// [`LockManager::with_take_over_permission`]. It applies only to leases of other owners. A closure implements it.
pub trait TakeOverPermission: Send + Sync {
    /// Whether `by` may end the lease of `holder` and acquire the lock. `holder` is never redacted here, even if the policy hides it from
    /// `by`, and includes the presence: see [`Holder::presence`].
    fn may_take_over(&self, by: &Owner, holder: &Holder) -> bool;
}

impl<F: Fn(&Owner, &Holder) -> bool + Send + Sync> TakeOverPermission for F {
    fn may_take_over(&self, by: &Owner, holder: &Holder) -> bool {
        self(by, holder)
    }
}

/// The rules, by aggregate type.
#[derive(Clone, Default)]
pub(super) struct Permissions(Arc<HashMap<String, Arc<dyn TakeOverPermission>>>);

impl Permissions {
    /// A person may always move their own lease to another tab. Without a rule, taking over from others is refused.
    fn permit(&self, by: &Owner, holder: &Holder) -> bool {
        let rule = self.0.get(holder.key.kind());
        by.id == holder.owner.id || rule.is_some_and(|rule| rule.may_take_over(by, holder))
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl LockManager {
    /// Sets the rule for takeovers of leases on aggregates of one type. Without it, taking over from others is refused.
    pub fn with_take_over_permission(
        mut self,
        kind: impl Into<String>,
        permission: impl TakeOverPermission + 'static,
    ) -> Self {
        Arc::make_mut(&mut self.permissions.0).insert(kind.into(), Arc::new(permission));
        self
    }

    /// Ends a lease and acquires the lock, in one transaction, so that no other request can acquire it in between. It requires the
    /// generation that was seen, so that it cannot end a newer lease, and a reason, which the holder sees
    /// ([`LeaseLossReason::TakenOver`](crate::lease::LeaseLossReason::TakenOver)). The call waits for a save in flight under the lease.
    ///
    /// A person may always move their own lease to another tab; the [`TakeOverPermission`] of the type decides about leases of others. (A
    /// [`break_lock`](Self::break_lock) has no such rule: there the caller decides.) The lock id is a new one from the caller; repeated
    /// with it, the call returns the same lease. If the future is dropped, the new lease is released, as with [`try_lock`](Self::try_lock);
    /// the former lease has still ended.
    ///
    /// ```
    /// # use tenure::{Database, LockId, LockKey, LockManager, Owner, lease::Holder, error::TakeOverError};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// let supervisors = |by: &Owner, _holder: &Holder| by.id == "park";
    /// let locks = LockManager::new(&db).with_take_over_permission("Order", supervisors);
    /// let (kim, lee, park) = (Owner::new("kim", "Kim Minji"), Owner::new("lee", "Lee Junho"), Owner::new("park", "Park"));
    /// let order = LockKey::new("Order", "1234");
    ///
    /// let seen = locks.try_lock(&order, &kim).await?.holder().generation;
    /// let refused = locks.take_over(&order, seen, &lee, LockId::random(), "I am in a hurry").await;
    /// assert!(matches!(refused, Err(TakeOverError::NotPermitted(_))));
    /// let lease = locks.take_over(&order, seen, &park, LockId::random(), "Kim is on holiday").await?;
    /// assert_eq!(lease.holder().generation, seen + 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`TakeOverError::HolderChanged`] if that generation is not held (any more); [`TakeOverError::NotPermitted`];
    /// [`TakeOverError::InvalidReason`]; [`TakeOverError::InvalidOwner`]; [`TakeOverError::Advisory`]; [`TakeOverError::LimitReached`];
    /// [`TakeOverError::LockIdUsed`]; [`TakeOverError::Database`]. After any of them the holder keeps the lease.
    pub async fn take_over(
        &self,
        key: &LockKey,
        generation: i64,
        owner: &Owner,
        id: LockId,
        reason: &str,
    ) -> Result<Lease, TakeOverError> {
        let (locks, asked, owner, reason) = (self.clone(), key.clone(), owner.clone(), reason.to_owned());
        let taking = RunToEnd::new(|_gone| async move {
            let lease = locks.take_from(&asked, generation, &owner, id, &reason).await;
            lease.map(|lease| Unclaimed::new(lease, locks, IdFrom::Caller))
        });
        let taking = async { Result::<_, TakeOverError>::map(taking.await, Unclaimed::claim) };
        seen(self.metrics(), "take_over", Some(key.kind()), taking).await
    }

    async fn take_from(
        &self,
        key: &LockKey,
        generation: i64,
        owner: &Owner,
        id: LockId,
        reason: &str,
    ) -> Result<Lease, TakeOverError> {
        let reason = checked_reason(reason)?;
        let policy = self.policy(key.kind());
        if !policy.is_exclusive() {
            return Err(TakeOverError::Advisory { key: key.clone() });
        }
        owner.check()?;
        if key.problem().is_some() {
            return Err(TakeOverError::HolderChanged { held_now: Vec::new() });
        }
        let request = LockRequest { key: key.clone(), lock: id.hash(), owner: owner.clone(), policy };
        // A generation always has the same owner, so a permission given now is still valid when the takeover happens.
        // The application's rule gets the unredacted holder.
        let holders = self.batch.ask(Operation::Holders(key.clone())).await?.holders();
        let Some(holder) = holders.iter().find(|holder| holder.generation == generation) else {
            return self.taken_before(request, generation, id).await;
        };
        if !self.permissions.permit(owner, holder) {
            return Err(TakeOverError::NotPermitted(Box::new(holder.clone().seen_by(Some(&owner.id)))));
        }
        // A move of one's own lease to another tab does not add a lock.
        let _turn = if owner.id == holder.owner.id { None } else { self.admit(&request).await? };
        let taking = Operation::TakeOver { request: request.clone(), generation, reason: reason.to_owned() };
        match self.batch.ask(taking).await?.taken_over() {
            // The lock id held it before: the repetition must be recorded, see `taken_before`.
            TakenOver::Granted(granted) if granted.generation == generation => self.again(&request, granted, id).await,
            TakenOver::Granted(granted) => {
                tracing::info!(lock = ?key, generation, by = ?owner.id, owner = ?holder.owner.id, "lock taken over");
                Ok(Lease { id, holder: granted })
            }
            TakenOver::Changed => self.taken_before(request, generation, id).await,
            TakenOver::Used(no_lock) => Err(TakeOverError::LockIdUsed(Box::new(no_lock.seen_by(Some(&owner.id))))),
        }
    }

    /// The generation does not hold the lock any more: perhaps the same request succeeded before, and its response was lost.
    async fn taken_before(&self, request: LockRequest, generation: i64, id: LockId) -> Result<Lease, TakeOverError> {
        let LockRequest { key, lock, owner, .. } = &request;
        let proof = Proof { lock: *lock, owner: Some(owner.id.clone()) };
        match self.batch.ask(Operation::Check(proof)).await?.lease() {
            Ok(holder) if holder.key == *key && Some(holder.generation) == generation.checked_add(1) => {
                self.again(&request, holder, id).await
            }
            _ => Err(TakeOverError::HolderChanged { held_now: self.holders_seen_by(key, Some(&owner.id)).await? }),
        }
    }

    /// Requests again the lease that the lock id already holds, so that its first caller, who is gone, does not release it.
    async fn again(&self, request: &LockRequest, held: Holder, id: LockId) -> Result<Lease, TakeOverError> {
        match self.batch.ask(Operation::Take(request.clone())).await?.taken() {
            Attempt::Granted(holder) if holder.generation == held.generation => Ok(Lease { id, holder }),
            _ => {
                let held_now = self.holders_seen_by(&request.key, Some(&request.owner.id)).await?;
                Err(TakeOverError::HolderChanged { held_now })
            }
        }
    }

    /// Releases all leases of an owner, in all tabs: at sign-out, or when the account is closed. Returns the released
    /// leases, the longest-held first. The caller decides who may do this.
    ///
    /// # Cancel safety
    /// As [`release_lock`](Self::release_lock).
    ///
    /// # Errors
    /// [`DatabaseError`]: nothing was released.
    pub async fn release_all(&self, owner_id: &str) -> Result<Vec<Holder>, DatabaseError> {
        let (locks, owner_id) = (self.clone(), askable(owner_id));
        let releasing = RunToEnd::new(|_gone| async move {
            let releasing = async {
                let released = locks.batch.ask(Operation::ReleaseAll { owner: owner_id }).await?;
                Ok::<_, DatabaseError>(released.released())
            };
            let mut released = seen(locks.metrics(), "release_all", None, releasing).await?;
            released.sort_by(|one, other| (one.since, &one.key).cmp(&(other.since, &other.key)));
            Ok(released)
        });
        releasing.await
    }
}

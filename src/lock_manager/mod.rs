//! The lock manager: acquires leases, keeps them alive, and ends them; lists them, and sweeps old ones.
//! The rules are in [`lease`](crate::lease), the statements in `store`.

mod claim;
mod history;
mod hold;
mod keep;
mod list;
mod observe;
mod quota;
mod resume;
mod sweep;
mod takeover;
mod wait;

use std::collections::HashMap;
use std::sync::Arc;

use crate::aggregate::Aggregate;
use crate::db::Backend;
use crate::error::{BreakError, DatabaseError, LeaseError, LockError};
use crate::lease::engine::Operation;
use crate::lease::limits::Limits;
use crate::lease::operations::{Attempt, LockRequest, Proof};
use crate::lease::policy::LockPolicy;
use crate::lease::{Holder, Lease, LockId, LockKey, NoLock, Owner, askable, checked_reason};
use crate::lock_table::batch::{Batcher, Gone};
use crate::lock_table::grants::Grants;
use crate::store::leases;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::outcome::seen;
use crate::unit_of_work::database::Database;
use crate::unit_of_work::transaction::Transaction;
use claim::{IdFrom, RunToEnd, Unclaimed, is_unanswered};

pub use history::History;
pub use hold::{Hold, LeaseGuard};
pub use list::Listing;
pub use sweep::{Sweep, Swept};
pub use takeover::TakeOverPermission;
pub use wait::Acquisition;

/// Grants leases on aggregates, keeps them alive, and ends them.
///
/// ```
/// # use tenure::{Database, LockKey, LockManager, Owner, error::LockError};
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
    backend: Arc<Backend>,
    batch: Batcher,
    grants: Grants,
    limits: Limits,
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
            grants: database.grants().clone(),
            limits: Limits::default(),
            policies: Arc::default(),
            permissions: takeover::Permissions::default(),
            owner: None,
        }
    }

    /// The same locks without batching, to measure its effect.
    #[doc(hidden)]
    pub fn one_by_one(mut self) -> Self {
        self.batch = self.batch.one_by_one();
        self
    }

    /// Sets the policy of one aggregate type.
    pub fn with_policy(mut self, kind: impl Into<String>, policy: LockPolicy) -> Self {
        Arc::make_mut(&mut self.policies).insert(kind.into(), policy);
        self
    }

    /// Sets the policy of one aggregate type: [`with_policy`](Self::with_policy) under the name of its mapping, which is that of its
    /// lock keys.
    ///
    /// ```
    /// # use tenure::{Aggregate, Database, LockKey, LockManager, LockPolicy, Owner};
    /// # #[derive(Aggregate, Debug)]
    /// # #[aggregate(table = "orders")]
    /// # struct Order { #[aggregate(id)] no: String }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// let locks = LockManager::new(&db).with_policy_for::<Order>(LockPolicy::advisory());
    /// # let order = LockKey::of::<Order>(&"1".to_owned());
    /// # for owner in [Owner::new("kim", "Kim"), Owner::new("lee", "Lee")] { locks.try_lock(&order, &owner).await?; }
    /// # Ok(()) }
    /// ```
    pub fn with_policy_for<A: Aggregate>(self, policy: LockPolicy) -> Self {
        self.with_policy(A::mapping().name.clone(), policy)
    }

    /// The same locks, on behalf of one person: a lock id of another owner is refused with
    /// [`LeaseLossReason::NotYours`](crate::lease::LeaseLossReason::NotYours). Request handlers use this, with the signed-in person.
    pub fn acting_for(&self, owner: &Owner) -> Self {
        LockManager { owner: Some(askable(&owner.id)), ..self.clone() }
    }

    /// The policy of an aggregate type.
    pub fn policy(&self, kind: &str) -> LockPolicy {
        self.policies.get(kind).copied().unwrap_or_default()
    }

    /// Acquires the lock if it is free or its lease has expired. It never waits for the holder to finish.
    ///
    /// # Cancel safety
    /// Dropping the future acquires nothing: a lease that was granted by then is released in the background. With a lock id of
    /// the caller's own ([`try_lock_as`](Self::try_lock_as)) it is kept if another request with that id has received the lease.
    /// The id can be used again. A request without an answer ([`OutcomeUnknown`](DatabaseError::OutcomeUnknown)) is undone in the
    /// background as well; with a lock id of the caller's own, the caller repeats it.
    ///
    /// # Errors
    /// [`LockError::AlreadyLocked`] with the holder; [`LockError::LockingFailed`] if a concurrent request won the race (if that one is
    /// seen in time, it is a holder as any other); [`LockError::LimitReached`]; [`LockError::InvalidKey`]; [`LockError::InvalidOwner`];
    /// [`LockError::Database`].
    pub async fn try_lock(&self, key: &LockKey, owner: &Owner) -> Result<Lease, LockError> {
        self.take(key, owner, (LockId::random(), IdFrom::Call)).await
    }

    /// As [`try_lock`](Self::try_lock), with a lock id that the caller created. Repeated with the same id, it returns the same
    /// lease with the same generation, so a request can be repeated after a lost response, and a page can be reloaded.
    ///
    /// # Errors
    /// As [`try_lock`](Self::try_lock), and [`LockError::LockIdUsed`] if the lease of this id has already ended.
    pub async fn try_lock_as(&self, key: &LockKey, owner: &Owner, id: LockId) -> Result<Lease, LockError> {
        self.take(key, owner, (id, IdFrom::Caller)).await
    }

    async fn take(&self, key: &LockKey, owner: &Owner, id: (LockId, IdFrom)) -> Result<Lease, LockError> {
        let taking = async { Result::<_, LockError>::map(self.take_once(key, owner, id).await, Unclaimed::claim) };
        seen(self.metrics(), "try_lock", Some(key.kind()), taking).await
    }

    /// As [`take`](Self::take), without a span and without metrics: a wait sends many.
    async fn take_once(
        &self,
        key: &LockKey,
        owner: &Owner,
        (id, from): (LockId, IdFrom),
    ) -> Result<Unclaimed, LockError> {
        let (locks, asked, asker) = (self.clone(), key.clone(), owner.clone());
        RunToEnd::new(|gone| async move {
            let lease = locks.take_unseen(&asked, &asker, id.clone(), &gone).await;
            if from == IdFrom::Call && lease.as_ref().is_err_and(is_unanswered) {
                locks.undo_unanswered(&id, &asked);
            }
            lease.map(|lease| Unclaimed::new(lease, locks, from))
        })
        .await
    }

    async fn take_unseen(&self, key: &LockKey, owner: &Owner, id: LockId, gone: &Gone) -> Result<Lease, LockError> {
        if let Some(invalid) = LockError::of_invalid(key) {
            return Err(invalid);
        }
        owner.check()?;
        let policy = self.policy(key.kind());
        let request = LockRequest { key: key.clone(), lock: id.hash(), owner: owner.clone(), policy };
        let (viewer, _turn) = (Some(&*owner.id), self.admit(&request).await?);
        match self.batch.ask_unless(Operation::Take(request), gone).await?.taken() {
            Attempt::Granted(holder) => Ok(Lease { id, holder }),
            Attempt::Held(holder) => Err(LockError::AlreadyLocked(Box::new(holder.seen_by(viewer)))),
            Attempt::Lost => Err(LockError::LockingFailed { key: key.clone() }),
            Attempt::Used(no_lock) => Err(LockError::LockIdUsed(Box::new(no_lock.seen_by(viewer)))),
        }
    }

    /// Whether the lease is live. Use it for display only: it may have ended when the result arrives. A save
    /// checks inside its own transaction, see [`Update::holding`](crate::unit_of_work::Update::holding).
    ///
    /// # Errors
    /// [`LeaseError::NoLock`] with the reason.
    pub async fn check_lock(&self, id: &LockId) -> Result<Lease, LeaseError> {
        seen(self.metrics(), "check_lock", None, self.check(id)).await
    }

    async fn check(&self, id: &LockId) -> Result<Lease, LeaseError> {
        self.ask(id, Operation::Check(self.proof(id))).await
    }

    /// Releases the lock.
    ///
    /// # Cancel safety
    /// A release that has begun runs to its end, even if the future is dropped.
    ///
    /// # Errors
    /// [`LeaseError::NoLock`] if there was no lease (any more) to release.
    pub async fn release_lock(&self, id: &LockId) -> Result<(), LeaseError> {
        let (locks, id) = (self.clone(), id.clone());
        let releasing = RunToEnd::new(|_gone| async move {
            let releasing = locks.ask(&id, Operation::Release(locks.proof(&id)));
            seen(locks.metrics(), "release_lock", None, releasing).await.map(drop)
        });
        releasing.await
    }

    /// Releases the lock with the commit of a transaction: both the save and the release happen, or neither.
    ///
    /// # Errors
    /// [`LeaseError::NoLock`] if there is no lease (any more) to release; the transaction continues.
    pub async fn release_within(&self, tx: &mut Transaction, id: &LockId) -> Result<(), LeaseError> {
        let release = async {
            let proof = self.proof(id);
            let released = tx.database.guard(async |tx| leases::release(tx, &proof).await).await?;
            self.lease(id, released)
        };
        seen(self.metrics(), "release_within", None, release).await.map(drop)
    }

    /// Checks the lease inside a transaction and holds it to the end: nobody can take it over before the commit, even if it
    /// expires meanwhile.
    ///
    /// # Errors
    /// [`LeaseError::NoLock`]: do not save.
    pub async fn guard(&self, tx: &mut Transaction, id: &LockId) -> Result<Lease, LeaseError> {
        let guard = async {
            let proof = self.proof(id);
            let guarded = tx.database.guard(async |tx| leases::guard(tx, &proof).await).await?;
            self.lease(id, guarded)
        };
        seen(self.metrics(), "guard", None, guard).await
    }

    /// Ends the lease of another owner. It requires the generation that was seen, so that it cannot end a newer lease, and
    /// a reason, which the holder sees. The caller decides who may do this; no [`TakeOverPermission`] applies. The result
    /// is for the operator, so the holder is not redacted.
    ///
    /// # Errors
    /// [`BreakError::HolderChanged`] if that generation is not held (any more); [`BreakError::InvalidReason`];
    /// [`BreakError::InvalidOwner`]; [`BreakError::Database`].
    pub async fn break_lock(
        &self,
        key: &LockKey,
        generation: i64,
        by: &Owner,
        reason: &str,
    ) -> Result<Holder, BreakError> {
        seen(self.metrics(), "break_lock", Some(key.kind()), self.end(key, generation, by, reason)).await
    }

    async fn end(&self, key: &LockKey, generation: i64, by: &Owner, reason: &str) -> Result<Holder, BreakError> {
        let reason = checked_reason(reason)?;
        by.check()?;
        if key.problem().is_some() {
            return Err(BreakError::HolderChanged { held_now: Vec::new() });
        }
        let ending = Operation::Break { key: key.clone(), generation, by: by.clone(), reason: reason.to_owned() };
        match self.batch.ask(ending).await?.broken() {
            Some(broken) => {
                tracing::info!(lock = ?key, generation, by = ?by.id, owner = ?broken.owner.id, "lock broken");
                Ok(broken)
            }
            None => Err(BreakError::HolderChanged { held_now: self.holders_seen_by(key, Some(&by.id)).await? }),
        }
    }

    /// All present holders of the key, the longest-held first: at most one with an exclusive policy. Holders other than the
    /// person of [`acting_for`](Self::acting_for) are redacted by the policy.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub async fn holders(&self, key: &LockKey) -> Result<Vec<Holder>, DatabaseError> {
        self.holders_seen_by(key, self.owner.as_deref()).await
    }

    async fn holders_seen_by(&self, key: &LockKey, viewer: Option<&str>) -> Result<Vec<Holder>, DatabaseError> {
        // An invalid key has no holder, and some databases reject some texts.
        if key.problem().is_some() {
            return Ok(Vec::new());
        }
        let holders = self.batch.ask(Operation::Holders(key.clone())).await?.holders();
        Ok(holders.into_iter().map(|holder| holder.seen_by(viewer)).collect())
    }

    /// Asks about the lease of a lock id.
    async fn ask(&self, id: &LockId, operation: Operation) -> Result<Lease, LeaseError> {
        self.lease(id, self.batch.ask(operation).await?.lease())
    }

    /// The lease that an answer confirms, or the reason that there is none, redacted for the acting person.
    fn lease(&self, id: &LockId, answer: Result<Holder, NoLock>) -> Result<Lease, LeaseError> {
        let holder = answer.map_err(|no_lock| no_lock.seen_by(self.owner.as_deref()))?;
        Ok(Lease { id: id.clone(), holder })
    }

    /// The metrics of this manager.
    fn metrics(&self) -> &Metrics {
        self.batch.metrics()
    }

    fn proof(&self, id: &LockId) -> Proof {
        Proof { lock: id.hash(), owner: self.owner.clone() }
    }
}

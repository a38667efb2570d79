//! Resuming an expired lease.

use super::LockManager;
use crate::aggregate::Aggregate;
use crate::error::Error;
use crate::lease::operations::Resumption;
use crate::lease::{Lease, LockId, LockKey};
use crate::store::leases;
use crate::telemetry::outcome::seen;
use crate::unit_of_work::repository::{Repository, check_token};
use crate::version::token::Expected;

impl LockManager {
    /// Resumes an expired lease, for example after a laptop slept: the same lock id, the same generation, a full time to
    /// live. It requires that no other owner acquired the lock since, and that the aggregate still has the version with which the
    /// form was opened, so the form's content is still a change of the stored state. One transaction checks both: nobody
    /// can acquire the lock, or save, in between.
    ///
    /// A lease cannot be resumed after a release, a break or a takeover, nor beyond the absolute limit. It can be resumed beyond
    /// the idle limit, because the returning person is present. `since` is then the time of the resume; the absolute limit
    /// stays. A live lease is kept
    /// alive, so the request can be repeated after a lost response.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tenure::{Aggregate, Database, LockKey, LockManager, Owner, Repository, db::ConnectOptions, clock::ManualClock};
    /// # #[derive(Aggregate, Debug)]
    /// # #[aggregate(table = "orders")]
    /// # struct Order { #[aggregate(id)] no: String, message: String }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let clock = ManualClock::new();
    /// # let url = format!("sqlite://{}/shop.db", directory.path().display());
    /// # let db = Database::connect_with(&url, ConnectOptions::new().clock(clock.clone())).await?;
    /// # let mut tx = db.begin().await?;
    /// # sqlx::query("create table orders (no text primary key, message text not null, version integer not null)").execute(tx.sqlite()?).await?;
    /// # let orders = Repository::<Order>::new(&db);
    /// # orders.insert(&mut tx, Order { no: "1234".into(), message: String::new() }).await?;
    /// # tx.commit().await?;
    /// # let (locks, kim, no) = (LockManager::new(&db), Owner::new("kim", "Kim Minji"), String::from("1234"));
    /// let seen = orders.get(&no).await?.expect("it was inserted").token();
    /// let lease = locks.try_lock(&LockKey::of::<Order>(&no), &kim).await?;
    /// clock.advance(Duration::from_secs(3600));                     // the laptop slept
    /// assert!(locks.check_lock(lease.id()).await.is_err());
    /// let resumed = locks.resume(&orders, &no, lease.id(), seen).await?;
    /// assert_eq!(resumed.holder().generation, lease.holder().generation);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::VersionConflict`]: another session saved since; it contains the changes, their author and time. [`Error::AlreadyLocked`]:
    /// another owner acquired the lock, and holds it. [`Error::NoLock`]: it ended permanently, for this
    /// [`LeaseLossReason`](crate::lease::LeaseLossReason); [`LeaseLossReason::LimitReached`](crate::lease::LeaseLossReason::LimitReached)
    /// at its absolute limit. [`Error::NotFound`]:
    /// the aggregate was deleted. [`Error::VersionTokenMismatch`]; [`Error::Database`]. After any of them the lease is
    /// unchanged.
    pub async fn resume<A: Aggregate>(
        &self,
        repository: &Repository<A>,
        id: &A::Id,
        lock: &LockId,
        version: impl Into<Expected<A>>,
    ) -> Result<Lease, Error> {
        let (kind, version) = (A::mapping().name.as_str(), version.into());
        seen(self.metrics(), "resume", Some(kind), self.revive(repository, id, lock, version)).await
    }

    async fn revive<A: Aggregate>(
        &self,
        repository: &Repository<A>,
        id: &A::Id,
        lock: &LockId,
        seen: Expected<A>,
    ) -> Result<Lease, Error> {
        let key = LockKey::of::<A>(id);
        check_token(&key, &seen)?;
        let mut tx = repository.database.begin().await?;
        // The lease first, then the aggregate: the order of every save under a lease.
        let proof = self.proof(lock);
        let holder = match tx.database.guard(async |tx| leases::resume(tx, &proof, &key).await).await? {
            Resumption::Resumed(holder) => holder,
            Resumption::Held(holder) => {
                return Err(Error::AlreadyLocked(Box::new(holder.seen_by(self.owner.as_deref()))));
            }
            Resumption::Ended(no_lock) => {
                return Err(Error::NoLock(Box::new(no_lock.seen_by(self.owner.as_deref()))));
            }
        };
        repository.assert_unchanged(&mut tx, id, seen).await?;
        tx.commit().await?;
        tracing::info!(lock = ?key, generation = holder.generation, owner = ?holder.owner.id, "lock resumed");
        Ok(Lease { id: lock.clone(), holder })
    }
}

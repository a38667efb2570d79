//! Shared locks, which several people hold together to read while nobody changes the aggregate.

use super::LockManager;
use super::claim::IdFrom;
use crate::error::LockError;
use crate::lease::{Lease, LockId, LockKey, Owner};

impl LockManager {
    /// Acquires a share of the lock: several people may hold it together. While one of them does, nobody can acquire the
    /// exclusive lock, and no save with [`unless_locked`](crate::unit_of_work::Update::unless_locked) succeeds. It is for
    /// reading, so it permits no save either ([`LeaseLossReason::SharedOnly`](crate::lease::LeaseLossReason::SharedOnly)):
    /// to change something, release it and acquire the exclusive lock. It requires the policy
    /// [`LockPolicy::shared`](crate::LockPolicy::shared).
    ///
    /// It is a lease like others: the same calls keep it alive, release it and break it, and it has its own generation. It
    /// cannot be requested from its holder, nor taken over.
    ///
    /// ```
    /// # use tenure::{Database, LockKey, LockManager, LockPolicy, Owner, error::LockError};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let (kim, lee) = (Owner::new("kim", "Kim Minji"), Owner::new("lee", "Lee Junho"));
    /// let locks = LockManager::new(&db).with_policy("PriceList", LockPolicy::shared());
    /// let prices = LockKey::new("PriceList", "2026");
    /// let (hers, his) = (locks.try_lock_shared(&prices, &kim).await?, locks.try_lock_shared(&prices, &lee).await?);
    /// assert!(matches!(locks.try_lock(&prices, &lee).await, Err(LockError::AlreadyLocked(reader)) if reader.shared));
    ///
    /// locks.release_lock(hers.id()).await?;
    /// locks.release_lock(his.id()).await?;
    /// let alone = locks.try_lock(&prices, &lee).await?;
    /// assert!(locks.try_lock_shared(&prices, &kim).await.is_err());
    /// assert_eq!(alone.holder().generation, 3);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LockError::AlreadyLocked`] with the exclusive holder; [`LockError::NotShared`] if the policy is not shared; and
    /// as [`try_lock`](Self::try_lock).
    pub async fn try_lock_shared(&self, key: &LockKey, owner: &Owner) -> Result<Lease, LockError> {
        self.take_share(key, owner, (LockId::random(), IdFrom::Call)).await
    }

    /// As [`try_lock_shared`](Self::try_lock_shared), with a lock id that the caller created: repeated with it, it returns
    /// the same lease.
    ///
    /// # Errors
    /// As [`try_lock_shared`](Self::try_lock_shared), and [`LockError::LockIdUsed`] if the lease of this id has ended.
    pub async fn try_lock_shared_as(&self, key: &LockKey, owner: &Owner, id: LockId) -> Result<Lease, LockError> {
        self.take_share(key, owner, (id, IdFrom::Caller)).await
    }

    async fn take_share(&self, key: &LockKey, owner: &Owner, id: (LockId, IdFrom)) -> Result<Lease, LockError> {
        if !self.policy(key.kind()).is_shared() {
            return Err(LockError::NotShared { key: key.clone() });
        }
        self.take(key, owner, id, true).await
    }
}

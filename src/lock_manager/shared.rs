//! Locks that several people hold together, to read what is not to change meanwhile.

use super::LockManager;
use crate::error::LockError;
use crate::lease::{Lease, LockId, LockKey, Owner};

impl LockManager {
    /// Takes a share of the lock: several people may hold it together, and as long as one of them does nobody gets the lock
    /// alone, and no save that asks ([`unless_locked`](crate::unit_of_work::Update::unless_locked)) goes through. It is for reading, so it
    /// does not allow to save either ([`LeaseLossReason::SharedOnly`](crate::lease::LeaseLossReason::SharedOnly)): whoever wants to change something releases
    /// it and takes the lock alone. Only types whose policy is [`LockPolicy::shared`](crate::LockPolicy::shared) have it.
    ///
    /// A lease like others: it is kept alive, released and broken by the same calls, and its generation is its own. It
    /// cannot be asked for, nor taken over.
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
    /// [`LockError::AlreadyLocked`] with whoever holds it alone; [`LockError::NotShared`] where the policy does not say so; and
    /// as [`try_lock`](Self::try_lock).
    pub async fn try_lock_shared(&self, key: &LockKey, owner: &Owner) -> Result<Lease, LockError> {
        self.try_lock_shared_as(key, owner, LockId::random()).await
    }

    /// As [`try_lock_shared`](Self::try_lock_shared), with a lock id that the caller made: asking again with it gives the same
    /// lease.
    ///
    /// # Errors
    /// As [`try_lock_shared`](Self::try_lock_shared), and [`LockError::LockIdUsed`] when the lease of this id has ended.
    pub async fn try_lock_shared_as(&self, key: &LockKey, owner: &Owner, id: LockId) -> Result<Lease, LockError> {
        if !self.policy(key.kind()).is_shared() {
            return Err(LockError::NotShared { key: key.clone() });
        }
        self.take(key, owner, id, true).await
    }
}

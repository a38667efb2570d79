//! tenure's side.

use std::time::Duration;

use async_trait::async_trait;
use tenure::{Database, Lease, LockId, LockKey, LockManager, LockPolicy, Owner, lease::Limits};

use super::KIND;
use super::verbs::Locks;
use crate::Outcome;
use crate::together::together;

/// The number of callers that acquire many leases.
const CALLERS: usize = 32;

/// A lock manager and its database.
#[derive(Debug, Clone)]
pub(super) struct Tenure {
    pub(super) database: Database,
    pub(super) locks: LockManager,
}

impl Tenure {
    /// With leases that outlive every measurement.
    pub(super) async fn open(url: &str) -> Outcome<Self> {
        let database = Database::connect(url).await?;
        let days = |days: u64| Duration::from_secs(days * 24 * 3600);
        let policy = LockPolicy::exclusive().absolute_limit(days(7))?.ttl(days(1))?;
        // One owner holds thousands of leases here.
        let limits = Limits { locks_per_owner: 1_000_000, ..Limits::default() };
        let locks = LockManager::new(&database).with_policy(KIND, policy).with_limits(limits);
        Ok(Tenure { database, locks })
    }

    /// The same statements, but each request is sent alone: it shows the effect of batching.
    pub(super) fn one_by_one(self) -> Self {
        Tenure { locks: self.locks.one_by_one(), ..self }
    }

    /// Acquires the leases `<name>-0` to `<name>-<count - 1>`.
    pub(super) async fn hold(&self, name: &'static str, count: usize) -> Outcome<Vec<Lease>> {
        let held = together((0..CALLERS).map(|caller| {
            let tenure = self.clone();
            async move {
                let mut held = Vec::new();
                for number in (caller..count).step_by(CALLERS) {
                    held.push(tenure.take(&format!("{name}-{number}"), "kim").await?);
                }
                Outcome::Ok(held)
            }
        }));
        let held: Vec<Vec<Lease>> = held.await?.into_iter().collect::<Outcome<_>>()?;
        Ok(held.into_iter().flatten().collect())
    }

    /// Acquires one lease.
    pub(super) async fn take(&self, id: &str, owner: &str) -> Outcome<Lease> {
        Ok(self.locks.try_lock(&LockKey::new(KIND, id), &Owner::new(owner, "Kim Minji")).await?)
    }
}

#[async_trait]
impl Locks for Tenure {
    type Ticket = LockId;

    async fn try_lock(&self, id: &str, owner: &str) -> Outcome<LockId> {
        Ok(self.take(id, owner).await?.id().clone())
    }

    async fn check_lock(&self, ticket: &LockId) -> Outcome<()> {
        self.locks.check_lock(ticket).await?;
        Ok(())
    }

    async fn extend(&self, ticket: &LockId) -> Outcome<()> {
        self.locks.extend_lock_expiration(ticket, Duration::from_secs(60)).await?;
        Ok(())
    }

    async fn release(&self, ticket: &LockId) -> Outcome<()> {
        Ok(self.locks.release_lock(ticket).await?)
    }
}

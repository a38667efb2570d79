//! The lock console: who is editing what, and ending a lease for somebody who is not coming back.

use tenure::{Holder, LockKey};

use super::{Refusal, Shop};
use crate::domain::{Member, Role};

/// How many leases the console shows.
const SHOWN: u32 = 500;

impl Shop {
    /// Everything that is being edited now, of one type or of all, the longest-held first.
    pub async fn held(&self, actor: &Member, kind: Option<&str>) -> Result<Vec<Holder>, Refusal> {
        actor.must_be(Role::Operator)?;
        let all = self.locks.list().limit(SHOWN);
        let held = kind.into_iter().fold(all, |list, kind| list.of_type(kind)).run().await?;
        Ok(held.items.into_iter().map(|listed| listed.holder).collect())
    }

    /// Ends the lease that the operator saw, with a reason that its holder is told.
    pub async fn break_lock(
        &self,
        actor: &Member,
        key: &LockKey,
        generation: i64,
        reason: &str,
    ) -> Result<Holder, Refusal> {
        actor.must_be(Role::Operator)?;
        Ok(self.locks.break_lock(key, generation, &actor.owner(), reason).await?)
    }
}

//! The lock console: the current leases, and ending a lease whose holder does not return.

use std::time::Duration;

use tenure::{
    LockKey,
    lease::{Cursor, Holder},
};
use tenure_web::verdict::free_in;

use super::{Refusal, Shop};
use crate::domain::{Member, Role};

/// Leases per page of the console.
const SHOWN: u32 = 50;

/// A page of current leases.
#[derive(Debug, Clone)]
pub struct HeldPage {
    /// The longest-held first.
    pub items: Vec<Holder>,
    /// Where the next page begins, if there is one.
    pub next: Option<Cursor>,
}

impl Shop {
    /// The time until this lock is free, if its holder does nothing more.
    pub fn free_in(&self, holder: &Holder) -> Duration {
        free_in(holder, &self.locks.policy(holder.key.kind()))
    }

    /// Whether locks of this type keep others away.
    pub fn is_exclusive(&self, kind: &str) -> bool {
        self.locks.policy(kind).is_exclusive()
    }

    /// The current leases, of one type or of all, page by page; `after` is the end of the previous page.
    pub async fn held(&self, actor: &Member, kind: Option<&str>, after: Option<Cursor>) -> Result<HeldPage, Refusal> {
        actor.must_be(Role::Operator)?;
        let all = self.locks.list().limit(SHOWN);
        let of_kind = kind.into_iter().fold(all, |list, kind| list.of_type(kind));
        let page = after.into_iter().fold(of_kind, |list, after| list.after(after)).run().await?;
        Ok(HeldPage { items: page.items.into_iter().map(|listed| listed.holder).collect(), next: page.next })
    }

    /// Ends the lease that the operator saw, with a reason that the holder sees.
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

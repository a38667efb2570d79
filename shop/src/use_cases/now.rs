//! What a visible page asks every few seconds: one look at the version, and one at the lock. It writes nothing.

use tenure::{LockKey, VersionToken, error::DatabaseError, lease::Holder};

use super::{Refusal, Shop, no_such_order};
use crate::domain::{Member, Note, Order, OrderNo, Role};
use crate::storage::{self, OrderNow};

/// The version of an aggregate, and the holders of its lock.
#[derive(Debug, Clone)]
pub struct Watched<A> {
    /// The version; `None` if there is no such aggregate yet.
    pub version: Option<VersionToken<A>>,
    /// The state of the order.
    pub state: &'static str,
    /// The holders, as this member may see them.
    pub holders: Vec<Holder>,
}

impl Shop {
    /// How an order is now, if this member may see it.
    ///
    /// # Errors
    /// As for [`order`](Self::order).
    pub async fn order_now(&self, viewer: &Member, no: &OrderNo) -> Result<Watched<Order>, Refusal> {
        let now = self.look(viewer, no).await?;
        Ok(Watched {
            version: Some(VersionToken::new(no, now.version)),
            state: now.state.code(),
            holders: self.holders_seen_by(viewer, &LockKey::of::<Order>(no)).await?,
        })
    }

    /// How the note on an order is now, for operators.
    ///
    /// # Errors
    /// As for [`noted`](Self::noted).
    pub async fn note_now(&self, viewer: &Member, no: &OrderNo) -> Result<Watched<Note>, Refusal> {
        viewer.must_be(Role::Operator)?;
        self.look(viewer, no).await?;
        let version = storage::note_now(&self.db, no).await?;
        Ok(Watched {
            version: version.map(|version| VersionToken::new(no, version)),
            state: "",
            holders: self.holders_seen_by(viewer, &LockKey::of::<Note>(no)).await?,
        })
    }

    async fn look(&self, viewer: &Member, no: &OrderNo) -> Result<OrderNow, Refusal> {
        let now = storage::order_now(&self.db, no).await?.filter(|now| viewer.may_see_orders_of(&now.orderer));
        now.ok_or_else(|| no_such_order(no))
    }

    async fn holders_seen_by(&self, viewer: &Member, key: &LockKey) -> Result<Vec<Holder>, DatabaseError> {
        self.locks.acting_for(&viewer.owner()).holders(key).await
    }
}

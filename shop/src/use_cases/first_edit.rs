//! Changing the delivery address, in a form that acquires its lock with the first change, or not at all: without scripts, or
//! while the server is unreachable, only the version decides.

use tenure::{
    Error, Lease, LockId, VersionToken,
    error::{LeaseError, LockError},
    lease::{Acquire, LeaseLossReason},
};

use super::save_both::{Changes, SavedBoth};
use super::{Doing, Refusal, Shop};
use crate::domain::{Member, Order, OrderNo, ShippingInfo};

/// The submitted change.
#[derive(Debug, Clone)]
pub enum ShippingForm {
    /// On the version that they saw.
    Alone(ShippingInfo),
    /// Their changes, on top of what others have saved since.
    WithTheirs(Changes),
}

impl Shop {
    /// When the form acquires its lock, by the policy of orders. (The form for the whole order is opened by an explicit button,
    /// and acquires it at once.)
    pub fn acquire(&self) -> Acquire {
        self.locks.policy("Order").acquire()
    }

    /// The lease of this lock id, for display.
    pub async fn lease(&self, actor: &Member, id: &LockId) -> Result<Lease, LeaseError> {
        self.locks.acting_for(&actor.owner()).check_lock(id).await
    }

    /// Saves the form and releases the order: under its lease; or, without one, unless somebody holds the lock. A form that
    /// lost its lease is refused.
    pub async fn save_shipping(
        &self,
        actor: &Member,
        no: &OrderNo,
        seen: VersionToken<Order>,
        id: &LockId,
        form: &ShippingForm,
        doing: &Doing,
    ) -> Result<SavedBoth, Refusal> {
        let save = |lease| self.save_under(actor, no, seen, lease, form, doing);
        let saved = match save(Some(id)).await {
            Err(refusal) if has_none(&refusal) => save(None).await,
            saved => saved,
        };
        match saved {
            // Typing one letter and pressing Enter sends both requests at once, and the lock request may arrive second.
            Err(Refusal::Failed(Error::AlreadyLocked(own))) if own.owner.id == actor.id().as_str() => {
                match save(Some(id)).await {
                    Err(refusal) if has_none(&refusal) => Err(Refusal::Lock(LockError::AlreadyLocked(own))),
                    saved => saved,
                }
            }
            // The same request may be repeated.
            Err(Refusal::Failed(Error::Database(error))) => Err(error.into()),
            // The text is compared next, or only kept for copying, which must not block others.
            Err(refusal) if matches!(doing, Doing::Save(_)) => {
                self.leave(actor, id).await?;
                Err(refusal)
            }
            saved => saved,
        }
    }

    async fn save_under(
        &self,
        actor: &Member,
        no: &OrderNo,
        seen: VersionToken<Order>,
        lease: Option<&LockId>,
        form: &ShippingForm,
        doing: &Doing,
    ) -> Result<SavedBoth, Refusal> {
        match form {
            ShippingForm::Alone(info) => {
                let version = self.change_shipping(actor, no, seen, lease, info.clone(), doing).await?;
                Ok(SavedBoth { version, with: Vec::new() })
            }
            ShippingForm::WithTheirs(changes) => self.save_both(actor, no, seen, lease, changes, doing).await,
        }
    }
}

/// It was never acquired, or was released: the text was for an older version, or is sent twice.
fn has_none(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Failed(Error::NoLock(no_lock)) if matches!(no_lock.why, LeaseLossReason::Unknown | LeaseLossReason::Released { .. }))
}

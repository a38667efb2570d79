//! Changing the delivery address, in a form that acquires its lock with the first change, or not at all: without scripts, or
//! while the server is unreachable, only the version decides.

use tenure::{Error, Lease, LockId, VersionToken, error::LeaseError, lease::Acquire};

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

    /// Saves the form and releases the order: under its lease; or, if it has none or it expired, unless another person holds the lock.
    /// A form whose lease was broken or taken over is refused.
    pub async fn save_shipping(
        &self,
        actor: &Member,
        no: &OrderNo,
        seen: VersionToken<Order>,
        id: &LockId,
        form: &ShippingForm,
        doing: &Doing,
    ) -> Result<SavedBoth, Refusal> {
        let saved = match form {
            ShippingForm::Alone(info) => {
                let saved = self.change_shipping(actor, no, seen, id, info.clone(), doing).await;
                saved.map(|version| SavedBoth { version, with: Vec::new() })
            }
            ShippingForm::WithTheirs(changes) => self.save_both(actor, no, seen, id, changes, doing).await,
        };
        match saved {
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
}

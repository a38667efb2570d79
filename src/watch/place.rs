//! A place in the line for a key, as this process knows of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use super::hub::Hub;
use super::topics;
use crate::lease::LockKey;
use crate::storage::watching::Ticket;

/// Somebody waits in line, until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    hub: Hub,
    key: LockKey,
    waiter: i64,
    offer: Arc<Offer>,
}

impl Place {
    pub(crate) fn new(hub: &Hub, number: i64, ticket: &Ticket) -> Self {
        let offer = Arc::new(Offer::default());
        let Ticket { key, lock, owner, waiter, .. } = ticket.clone();
        let place = topics::Place { ticket: number, waiter, lock, owner: owner.id, offer: Arc::clone(&offer) };
        hub.subscribe(|topics| topics.wait(&key, place));
        Place { hub: hub.clone(), key, waiter, offer }
    }

    /// Waits until something is to be done. Somebody who does not stand in line may still be faster; then this is called
    /// again.
    pub(crate) async fn called(&self) -> Called {
        self.offer.bell.notified().await;
        if self.hub.topics().is_closed() {
            Called::Closed
        } else if self.offer.lost.swap(false, Ordering::AcqRel) {
            Called::PlaceLost
        } else {
            Called::Offered
        }
    }

    /// There is another ticket for it.
    pub(crate) fn has_ticket(&self, number: i64) {
        self.hub.subscribe(|topics| topics.has_ticket(&self.key, self.waiter, number));
    }
}

/// What somebody who waits is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Called {
    /// The key may be had.
    Offered,
    /// The place may be lost: the database was restored, or its clock was wrong for long. It is to be asked for again.
    PlaceLost,
    /// The database was closed.
    Closed,
}

/// How somebody who waits is called.
#[derive(Debug, Default)]
pub(super) struct Offer {
    bell: Notify,
    lost: AtomicBool,
}

impl Offer {
    pub(super) fn ring(&self) {
        self.bell.notify_one();
    }

    pub(super) fn lost(&self) {
        self.lost.store(true, Ordering::Release);
        self.ring();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.hub.subscribe(|topics| topics.stop_waiting(&self.key, self.waiter));
    }
}

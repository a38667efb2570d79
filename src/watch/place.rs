//! A queue entry for a key, as this process knows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use super::hub::Hub;
use super::topics;
use crate::lease::LockKey;
use crate::storage::watching::Ticket;

/// A waiter in the queue, until this is dropped.
#[derive(Debug)]
pub(crate) struct QueueEntry {
    hub: Hub,
    key: LockKey,
    waiter: i64,
    offer: Arc<Offer>,
}

impl QueueEntry {
    pub(crate) fn new(hub: &Hub, number: i64, ticket: &Ticket) -> Self {
        let offer = Arc::new(Offer::default());
        let Ticket { key, lock, waiter, .. } = ticket.clone();
        let place = topics::Waiter { ticket: number, waiter, lock, offer: Arc::clone(&offer) };
        hub.subscribe(|topics| topics.wait(&key, place));
        QueueEntry { hub: hub.clone(), key, waiter, offer }
    }

    /// Waits until the key can be acquired, or the entry is lost. A caller outside the queue may still win the race; then this is called
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

    /// It has a new ticket.
    pub(crate) fn has_ticket(&self, number: i64) {
        self.hub.subscribe(|topics| topics.has_ticket(&self.key, self.waiter, number));
    }
}

/// The reason that a waiter is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Called {
    /// The key can be acquired.
    Offered,
    /// The queue entry may be lost: the database was restored, or its clock was wrong for long. Request a new one.
    PlaceLost,
    /// The database was closed.
    Closed,
}

/// Wakes a waiter.
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

impl Drop for QueueEntry {
    fn drop(&mut self) {
        self.hub.subscribe(|topics| topics.stop_waiting(&self.key, self.waiter));
    }
}

//! The stream of events of a subscriber.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;

use super::event::LockEvent;
use super::hub::Hub;
use crate::lease::LockKey;

/// The events of some locks, see [`LockManager::watch`](crate::LockManager::watch). Dropping it ends the subscription.
///
/// It ends when the database is closed. While the database is unreachable no events arrive; the missed ones
/// arrive afterwards.
#[derive(Debug)]
#[must_use = "a subscription reports nothing unless it is read"]
pub struct Watch {
    hub: Hub,
    id: u64,
    /// The viewer, for redaction.
    viewer: Option<String>,
}

impl Watch {
    pub(crate) fn new(hub: &Hub, keys: impl IntoIterator<Item = (LockKey, Duration)>, viewer: Option<String>) -> Self {
        let mut seen = std::collections::HashSet::new();
        let keys: Vec<_> = keys.into_iter().filter(|(key, _)| seen.insert(key.clone())).collect();
        let id = hub.subscribe(|topics| topics.watch(keys));
        Watch { hub: hub.clone(), id, viewer }
    }

    /// The next event; `None` when the database was closed.
    ///
    /// # Cancel safety
    /// Dropping the future loses no event.
    pub async fn next(&mut self) -> Option<LockEvent> {
        poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<LockEvent>> {
        // The runtime of the poll loop may be gone, or there was none when the subscription began.
        self.hub.start();
        self.hub.topics().next(self.id, self.viewer.as_deref(), context.waker())
    }
}

impl Stream for Watch {
    type Item = LockEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<LockEvent>> {
        self.poll_event(context)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let id = self.id;
        self.hub.subscribe(|topics| topics.unwatch(id));
    }
}

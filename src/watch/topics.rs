//! Subscriptions and waiters by key, and the known state of each key. Decides which keys to poll, and which
//! events to report to each subscriber; no I/O here.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;

use super::announce::mark;
use super::diff::State;
use super::event::LockEvent;
use super::place::Offer;
use super::unredacted::UnredactedEvent;
use super::watcher::{Stage, Watcher};
use crate::aggregate::version::Version;
use crate::lease::LockKey;
use crate::lease::seen::Seen;
use crate::storage::LockHash;
use crate::storage::watching::Look;

/// A lease that expires is polled then, but not more often than this, even if a test's clock shows a later time.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
/// The poll interval of a free key whose first waiter, perhaps dead, is of another process.
const IDLE_LINE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Topics {
    /// In order, so that nothing that follows from a poll depends on the hashes of keys: a simulated run has to repeat.
    by_key: BTreeMap<LockKey, Topic>,
    /// The keys by their short form in notifications.
    by_mark: HashMap<u64, LockKey>,
    watchers: HashMap<u64, Watcher>,
    next: u64,
    /// Number of polls begun.
    round: u64,
    closed: bool,
}

#[derive(Debug, Default)]
struct Topic {
    known: Option<State>,
    dirty: bool,
    heartbeat: Option<Duration>,
    /// When the next expiry is due.
    due: Option<Instant>,
    watchers: Vec<u64>,
    waiting: Vec<Waiter>,
}

/// A waiter in the queue.
#[derive(Debug, Clone)]
pub(super) struct Waiter {
    pub(super) ticket: i64,
    pub(super) waiter: i64,
    pub(super) lock: LockHash,
    /// Wakes it when the key can be acquired.
    pub(super) offer: Arc<Offer>,
}

/// A poll.
pub(super) struct KeyPoll {
    number: u64,
    pub(super) looks: Vec<Look>,
}

impl Topics {
    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    pub(super) fn anybody_waits(&self) -> bool {
        self.by_key.values().any(|topic| !topic.waiting.is_empty())
    }

    /// Number of queue entries of this process. Waiters with the same lock id share one.
    pub(super) fn places(&self) -> usize {
        self.by_key.values().flat_map(|topic| &topic.waiting).map(|place| place.lock).collect::<HashSet<_>>().len()
    }

    /// Some queue entries are lost: all waiters request theirs again.
    pub(super) fn lost_places(&mut self) {
        for place in self.by_key.values().flat_map(|topic| &topic.waiting) {
            place.offer.lost();
        }
    }

    /// Subscribes to keys, with the expected interval of their heartbeats.
    pub(super) fn watch(&mut self, keys: Vec<(LockKey, Duration)>) -> u64 {
        self.next += 1;
        let id = self.next;
        for (key, heartbeat) in &keys {
            let topic = self.topic(key);
            (topic.dirty, topic.heartbeat) = (true, Some(*heartbeat));
            topic.watchers.push(id);
        }
        let keys: Vec<LockKey> = keys.into_iter().map(|(key, _)| key).collect();
        self.watchers.insert(id, Watcher::new(keys, self.round));
        id
    }

    pub(super) fn unwatch(&mut self, id: u64) {
        let Some(watcher) = self.watchers.remove(&id) else { return };
        for key in watcher.keys {
            if let Some(topic) = self.by_key.get_mut(&key) {
                topic.watchers.retain(|watcher| *watcher != id);
            }
            self.forget(&key);
        }
    }

    pub(super) fn wait(&mut self, key: &LockKey, place: Waiter) {
        let topic = self.topic(key);
        topic.dirty = true;
        topic.waiting.push(place);
    }

    /// A waiter has a new ticket.
    pub(super) fn has_ticket(&mut self, key: &LockKey, waiter: i64, ticket: i64) {
        let Some(topic) = self.by_key.get_mut(key) else { return };
        topic.dirty = true;
        for place in topic.waiting.iter_mut().filter(|place| place.waiter == waiter) {
            place.ticket = ticket;
        }
    }

    pub(super) fn stop_waiting(&mut self, key: &LockKey, waiter: i64) {
        if let Some(topic) = self.by_key.get_mut(key) {
            topic.waiting.retain(|place| place.waiter != waiter);
        }
        self.forget(key);
    }

    fn topic(&mut self, key: &LockKey) -> &mut Topic {
        if !self.by_key.contains_key(key) {
            self.by_mark.insert(mark(key), key.clone());
        }
        self.by_key.entry(key.clone()).or_default()
    }

    /// The key has no subscribers or waiters any more.
    fn forget(&mut self, key: &LockKey) {
        if self.by_key.get(key).is_some_and(|topic| topic.watchers.is_empty() && topic.waiting.is_empty()) {
            self.by_key.remove(key);
            self.by_mark.remove(&mark(key));
        }
    }

    /// A key changed. Returns whether it has subscribers or waiters.
    pub(super) fn touch(&mut self, key: &LockKey) -> bool {
        self.by_key.get_mut(key).map(|topic| topic.dirty = true).is_some()
    }

    /// As [`touch`](Self::touch), by the short form in a notification.
    pub(super) fn touch_marked(&mut self, mark: u64) -> bool {
        let Some(key) = self.by_mark.get(&mark) else { return false };
        self.by_key.get_mut(key).map(|topic| topic.dirty = true).is_some()
    }

    /// An unknown key changed. Returns whether there are any subscribers or waiters.
    pub(super) fn touch_all(&mut self) -> bool {
        self.by_key.values_mut().for_each(|topic| topic.dirty = true);
        !self.by_key.is_empty()
    }

    /// When the next lease expires.
    pub(super) fn due(&self) -> Option<Instant> {
        self.by_key.values().filter_map(|topic| topic.due).min()
    }

    /// The keys to poll now: touched or due ones, or all.
    pub(super) fn round(&mut self, now: Instant, everything: bool) -> KeyPoll {
        self.round += 1;
        let mut looks = Vec::new();
        for (key, topic) in &mut self.by_key {
            if everything || topic.dirty || topic.due.is_some_and(|due| due <= now) {
                (topic.dirty, topic.due) = (false, None);
                let after = topic.known.as_ref().map_or(i64::MAX, State::after);
                looks.push(Look { key: key.clone(), after });
            }
        }
        KeyPoll { number: self.round, looks }
    }

    /// Processes the result of a poll, or of a part of it: queues the events and returns the subscribers to wake.
    pub(super) fn seen(&mut self, round: u64, looks: &[Look], seen: Vec<(LockKey, Seen)>, now: Instant) -> Vec<Waker> {
        let mut states: HashMap<LockKey, State> = HashMap::new();
        for (key, seen) in seen {
            states.entry(key).or_default().see(seen);
        }
        let mut wakers = Vec::new();
        for Look { key, .. } in looks {
            let Some(topic) = self.by_key.get_mut(key) else { continue };
            let mut state = states.remove(key).unwrap_or_default();
            if let Some(heartbeat) = topic.heartbeat {
                state.expect_heartbeat(heartbeat);
            }
            let (events, state) = match &topic.known {
                Some(before) => before.until(key, state),
                None => (Vec::new(), state),
            };
            topic.due = topic.offer(&state, now);
            topic.known = Some(state);
            for id in &topic.watchers {
                let Some(watcher) = self.watchers.get_mut(id) else { continue };
                watcher.looked_at(round, key);
                watcher.push(&events);
                wakers.extend(watcher.woken());
            }
        }
        wakers
    }

    /// This process saved an aggregate without revisions.
    pub(super) fn saved(&mut self, key: &LockKey, version: Version) -> Vec<Waker> {
        let mut wakers = Vec::new();
        let Some(topic) = self.by_key.get_mut(key) else { return wakers };
        if let Some(known) = topic.known.as_mut().filter(|known| known.version != Some(version)) {
            known.version = Some(version);
            let event = [UnredactedEvent::Plain(LockEvent::VersionChanged { key: key.clone(), version })];
            for id in &topic.watchers {
                let Some(watcher) = self.watchers.get_mut(id) else { continue };
                watcher.push(&event);
                wakers.extend(watcher.woken());
            }
        }
        wakers
    }

    /// The next event of a subscriber, redacted for the owner with this id. `None`: the database was closed, and no event
    /// will come.
    pub(super) fn next(&mut self, id: u64, viewer: Option<&str>, waker: &Waker) -> Poll<Option<LockEvent>> {
        let Some(watcher) = self.watchers.get_mut(&id) else { return Poll::Ready(None) };
        if let Stage::Due { missed } = watcher.stage {
            watcher.stage = Stage::Following;
            let state = |key| self.by_key.get(key).and_then(|topic| topic.known.as_ref());
            let keys =
                watcher.keys.iter().filter_map(|key| state(key).map(|state| state.snapshot(key, viewer))).collect();
            return Poll::Ready(Some(LockEvent::Snapshot { missed, keys }));
        }
        if let Some(event) = watcher.queue.pop_front() {
            return Poll::Ready(Some(event.to(viewer)));
        }
        if self.closed {
            return Poll::Ready(None);
        }
        watcher.waker = Some(waker.clone());
        Poll::Pending
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// No event will come any more.
    pub(super) fn close(&mut self) -> Vec<Waker> {
        self.closed = true;
        for place in self.by_key.values().flat_map(|topic| &topic.waiting) {
            place.offer.ring();
        }
        self.watchers.values_mut().filter_map(|watcher| watcher.waker.take()).collect()
    }
}

impl Topic {
    /// Offers the key to the waiter who can acquire it. Returns when to poll again, if nothing else happens.
    fn offer(&self, state: &State, now: Instant) -> Option<Instant> {
        let mut offered = false;
        for place in &self.waiting {
            let may = match state.holder() {
                None => state.first == Some(place.ticket),
                // Requested twice, and granted to the other one: both have the lease.
                Some(holder) => holder.lock == place.lock,
            };
            if may {
                offered = true;
                place.offer.ring();
            }
        }
        let line_idles = !self.waiting.is_empty() && state.holder().is_none() && !offered;
        let pause = state.runs_out_in().map(|remaining| remaining.max(SHORTEST_PAUSE));
        pause.or(line_idles.then_some(IDLE_LINE)).and_then(|pause| now.checked_add(pause))
    }
}

impl KeyPoll {
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::super::watcher::MOST_EVENTS;
    use super::*;

    fn keys(count: usize) -> Vec<(LockKey, Duration)> {
        (0..count).map(|id| (LockKey::new("Order", id.to_string()), Duration::MAX)).collect()
    }

    fn next(topics: &mut Topics, id: u64) -> Option<LockEvent> {
        match topics.next(id, None, Waker::noop()) {
            Poll::Ready(event) => event,
            Poll::Pending => None,
        }
    }

    /// A poll that finds this many waiters for the first key.
    fn round(topics: &mut Topics, waiting: u32) -> usize {
        let round = topics.round(Instant::now(), true);
        let seen = match (round.looks.iter().find(|look| look.key.id() == "0"), waiting) {
            (None, _) | (_, 0) => Vec::new(),
            (Some(look), waiting) => vec![(look.key.clone(), Seen::Line { first: 1, waiting })],
        };
        topics.seen(round.number(), &round.looks, seen, Instant::now());
        round.looks.len()
    }

    #[test]
    fn key_is_polled_once_for_many_watchers_and_not_without() {
        let mut topics = Topics::default();
        let watchers: Vec<u64> = (0..100).map(|_| topics.watch(keys(3))).collect();
        assert_eq!(round(&mut topics, 0), 3);
        watchers.into_iter().for_each(|id| topics.unwatch(id));
        assert!(topics.is_empty() && topics.by_mark.is_empty());
        assert_eq!(round(&mut topics, 0), 0);
    }

    #[test]
    fn poll_from_before_the_watch_is_no_snapshot() {
        let mut topics = Topics::default();
        topics.watch(keys(1));
        let before = topics.round(Instant::now(), true);
        let late = topics.watch(keys(1));
        topics.seen(before.number(), &before.looks, Vec::new(), Instant::now());
        assert_eq!(next(&mut topics, late), None);
        round(&mut topics, 0);
        assert!(matches!(next(&mut topics, late), Some(LockEvent::Snapshot { missed: false, .. })));
    }

    #[test]
    fn unread_events_are_bounded_and_the_snapshot_reports_misses() {
        let mut topics = Topics::default();
        let (slow, quick) = (topics.watch(keys(2)), topics.watch(keys(2)));
        round(&mut topics, 0);
        for id in [slow, quick] {
            assert!(matches!(next(&mut topics, id), Some(LockEvent::Snapshot { missed: false, .. })));
        }
        for waiting in 1..=2 * MOST_EVENTS as u32 {
            round(&mut topics, waiting);
            assert!(
                matches!(next(&mut topics, quick), Some(LockEvent::Waiting { waiting: now, .. }) if now == waiting)
            );
            assert!(topics.watchers[&slow].queue.len() <= MOST_EVENTS);
        }
        let Some(LockEvent::Snapshot { missed: true, keys }) = next(&mut topics, slow) else { panic!("not told") };
        assert_eq!((keys[0].waiting, keys.len()), (2 * MOST_EVENTS as u32, 2));
        round(&mut topics, 0);
        assert!(matches!(next(&mut topics, slow), Some(LockEvent::Waiting { waiting: 0, .. })));
    }
}

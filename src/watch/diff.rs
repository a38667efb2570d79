//! The events of a key between two polls. No I/O here.

use std::collections::BTreeMap;
use std::time::Duration;

use super::event::{LockEvent, LockSnapshot};
use super::unredacted::UnredactedEvent;
use crate::aggregate::version::Version;
use crate::lease::seen::{PastLease, Seen, SeenLease};
use crate::lease::{Holder, LockKey};

/// The state of a key at a poll.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State {
    /// The leases that were not ended by anybody, live or expired, by generation.
    leases: BTreeMap<i64, SeenLease>,
    past: BTreeMap<i64, PastLease>,
    pub(super) version: Option<Version>,
    /// The first waiter in the queue.
    pub(super) first: Option<i64>,
    waiting: u32,
    /// The highest generation ever seen.
    generation: i64,
}

impl State {
    pub(super) fn see(&mut self, seen: Seen) {
        match seen {
            Seen::Lease(lease) => {
                self.generation = self.generation.max(lease.holder.generation);
                // An ended lease is in the history. Its row may only exist to keep the generation.
                if !lease.ended {
                    self.leases.insert(lease.holder.generation, lease);
                }
            }
            Seen::Past(past) => {
                self.generation = self.generation.max(past.holder.generation);
                self.past.insert(past.holder.generation, past);
            }
            Seen::Version(version) => self.version = Some(version),
            Seen::Line { first, waiting } => (self.first, self.waiting) = (Some(first), waiting),
        }
    }

    /// Ended leases are new above this generation: those that were live, and those that were not known yet.
    pub(super) fn after(&self) -> i64 {
        self.live().map(|lease| lease.holder.generation - 1).min().unwrap_or(self.generation)
    }

    fn live(&self) -> impl Iterator<Item = &SeenLease> {
        self.leases.values().filter(|lease| lease.alive())
    }

    fn live_at(&self, generation: i64) -> Option<&SeenLease> {
        self.leases.get(&generation).filter(|lease| lease.alive())
    }

    /// The holder who blocks an exclusive acquisition.
    pub(super) fn holder(&self) -> Option<&SeenLease> {
        self.live().find(|lease| lease.exclusive)
    }

    /// The time until the next lease expires, from the poll.
    pub(super) fn runs_out_in(&self) -> Option<Duration> {
        self.live().map(|lease| lease.holder.remaining).min()
    }

    /// Sets the expected interval of heartbeats.
    pub(super) fn expect_heartbeat(&mut self, heartbeat: Duration) {
        self.leases.values_mut().for_each(|lease| lease.holder.heartbeat = heartbeat);
    }

    /// The snapshot as it is visible to the owner with this id.
    pub(super) fn snapshot(&self, key: &LockKey, viewer: Option<&str>) -> LockSnapshot {
        let mut holders: Vec<Holder> = self.live().map(|lease| lease.holder.clone().seen_by(viewer)).collect();
        holders.sort_by_key(|holder| (holder.since, holder.generation));
        let (generation, waiting, version) = (self.generation, self.waiting, self.version);
        LockSnapshot { key: key.clone(), generation, holders, waiting, version }
    }

    /// The events since `self`, in order, and the new state.
    pub(super) fn until(&self, key: &LockKey, mut now: State) -> (Vec<UnredactedEvent>, State) {
        now.generation = now.generation.max(self.generation);
        // A version that this process reported is kept, because it may not be stored.
        now.version = now.version.or(self.version);
        let mut events = Vec::new();
        let mut generations: Vec<i64> =
            self.leases.keys().chain(now.leases.keys()).chain(now.past.keys()).copied().collect();
        generations.sort_unstable();
        generations.dedup();
        for generation in generations {
            let (was, is) = (self.live_at(generation), now.live_at(generation));
            let new = generation > self.generation;
            if new {
                events.extend(begun(now.leases.get(&generation), now.past.get(&generation)));
            } else if let (None, Some(lease)) = (was, is) {
                events.push(UnredactedEvent::Holder(LockEvent::Resumed, lease.holder.clone()));
            }
            if let (Some(was), Some(is)) = (was, is)
                && was.holder.presence() != is.holder.presence()
            {
                events.push(UnredactedEvent::Holder(LockEvent::PresenceChanged, is.holder.clone()));
            }
            if is.is_none() && (new || was.is_some()) {
                let lease = now.leases.get(&generation).or(was);
                events.extend(ended(lease, now.past.get(&generation)));
            }
        }
        if now.waiting != self.waiting {
            events.push(UnredactedEvent::Plain(LockEvent::Waiting { key: key.clone(), waiting: now.waiting }));
        }
        if let Some(version) = now.version.filter(|_| now.version != self.version) {
            events.push(UnredactedEvent::Plain(LockEvent::VersionChanged { key: key.clone(), version }));
        }
        // Reported history is dropped.
        now.past.clear();
        (events, now)
    }
}

/// The event for the begin of a new lease.
fn begun(lease: Option<&SeenLease>, past: Option<&PastLease>) -> Option<UnredactedEvent> {
    match (lease, past) {
        (Some(lease), _) => Some(UnredactedEvent::Holder(LockEvent::Acquired, lease.holder.clone())),
        (None, past) => past.map(|past| UnredactedEvent::Holder(LockEvent::Acquired, past.holder.clone())),
    }
}

/// The event for the end of a lease.
fn ended(lease: Option<&SeenLease>, past: Option<&PastLease>) -> Option<UnredactedEvent> {
    match (past, lease) {
        (Some(past), _) => Some(UnredactedEvent::Ended(past.holder.clone(), past.why.clone())),
        (None, Some(lease)) if lease.holder.remaining.is_zero() => {
            Some(UnredactedEvent::Ended(lease.holder.clone(), lease.ran_out.clone()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;

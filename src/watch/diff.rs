//! The events of a key between two polls. No I/O here.

use std::collections::BTreeMap;
use std::time::Duration;

use super::event::{LockEvent, LockSnapshot};
use super::unredacted::{UnredactedEvent, request_to};
use crate::aggregate::version::Version;
use crate::lease::seen::{PastLease, Seen, SeenLease, SeenRequest};
use crate::lease::transfer::TransferRequest;
use crate::lease::{Holder, LockKey};

/// The state of a key at a poll.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State {
    /// The leases that were not ended by anybody, live or expired, by generation.
    leases: BTreeMap<i64, SeenLease>,
    past: BTreeMap<i64, PastLease>,
    requests: Vec<SeenRequest>,
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
            Seen::Request(request) => self.requests.push(request),
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
        self.live().find(|lease| lease.exclusive || lease.holder.shared)
    }

    /// The time until the next lease expires, from the poll.
    pub(super) fn runs_out_in(&self) -> Option<Duration> {
        self.live().map(|lease| lease.holder.remaining).min()
    }

    /// A request ends with its lease.
    fn open(&self) -> impl Iterator<Item = (&SeenRequest, &Holder)> {
        let held = |seen: &SeenRequest| self.live_at(seen.request.generation).map(|lease| &lease.holder);
        self.requests.iter().filter_map(move |seen| held(seen).map(|holder| (seen, holder)))
    }

    /// Sets the expected interval of heartbeats.
    pub(super) fn expect_heartbeat(&mut self, heartbeat: Duration) {
        self.leases.values_mut().for_each(|lease| lease.holder.heartbeat = heartbeat);
    }

    /// The snapshot as it is visible to the owner with this id.
    pub(super) fn snapshot(&self, key: &LockKey, viewer: Option<&str>) -> LockSnapshot {
        let mut holders: Vec<Holder> = self.live().map(|lease| lease.holder.clone().seen_by(viewer)).collect();
        holders.sort_by_key(|holder| (holder.since, holder.generation));
        let mut requests: Vec<(&SeenRequest, &Holder)> = self.open().collect();
        requests.sort_by_key(|(seen, _)| (seen.request.since, &seen.request.by.id));
        let requests = requests.into_iter().map(|(seen, holder)| request_to(seen.clone(), holder, viewer)).collect();
        let (generation, waiting, version) = (self.generation, self.waiting, self.version);
        LockSnapshot { key: key.clone(), generation, holders, requests, waiting, version }
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
        let name = |request: &TransferRequest| (request.generation, request.by.id.clone(), request.since);
        let before: Vec<_> = self.open().map(|(seen, _)| name(&seen.request)).collect();
        let new = now.open().filter(|(seen, _)| !before.contains(&name(&seen.request)));
        events.extend(new.map(|(seen, holder)| UnredactedEvent::Requested(seen.clone(), holder.clone())));
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
        (Some(lease), _) if lease.reserved => Some(UnredactedEvent::Holder(LockEvent::Reserved, lease.holder.clone())),
        (Some(lease), _) => Some(UnredactedEvent::Holder(LockEvent::Acquired, lease.holder.clone())),
        (None, past) => past.map(|past| UnredactedEvent::Holder(LockEvent::Acquired, past.holder.clone())),
    }
}

/// The event for the end of a lease. An acquired reservation has no history: its recipient holds the lock.
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
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::lease::{LeaseLossReason, Owner};

    const MINUTE: Duration = Duration::from_secs(60);
    const AT: SystemTime = SystemTime::UNIX_EPOCH;

    fn key() -> LockKey {
        LockKey::new("Order", "1")
    }

    fn holder(generation: i64, remaining: Duration) -> Holder {
        let owner = Owner::new(format!("owner {generation}"), "Owner");
        Holder { owner, generation, remaining, ttl: MINUTE, heartbeat: MINUTE, ..Holder::to_be(key()) }
    }

    fn lease(generation: i64, remaining: Duration) -> Seen {
        let holder = holder(generation, remaining);
        let ran_out = LeaseLossReason::Expired { at: AT };
        Seen::Lease(SeenLease { holder, lock: Vec::new(), exclusive: true, reserved: false, ended: false, ran_out })
    }

    fn ended(generation: i64) -> Seen {
        let Seen::Lease(lease) = lease(generation, MINUTE) else { unreachable!() };
        Seen::Lease(SeenLease { ended: true, ..lease })
    }

    fn past(generation: i64) -> Seen {
        Seen::Past(PastLease { holder: holder(generation, Duration::ZERO), why: LeaseLossReason::Released { at: AT } })
    }

    fn state(seen: impl IntoIterator<Item = Seen>) -> State {
        let mut state = State::default();
        seen.into_iter().for_each(|seen| state.see(seen));
        state
    }

    /// The events: `+2` began, `-2` ended, `=2` resumed.
    fn told(before: &State, now: State) -> String {
        let (events, _) = before.until(&key(), now);
        let told = events.into_iter().map(|told| match told.to(None) {
            LockEvent::Acquired(holder) => format!("+{}", holder.generation),
            LockEvent::Resumed(holder) => format!("={}", holder.generation),
            LockEvent::Ended { holder, .. } => format!("-{}", holder.generation),
            other => format!("{other:?}"),
        });
        told.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn unchanged_state_reports_no_event() {
        for same in [vec![], vec![lease(1, MINUTE)], vec![lease(1, Duration::ZERO)], vec![ended(1)]] {
            let before = state(same.clone());
            assert_eq!(told(&before, state(same)), "");
        }
        // A heartbeat.
        assert_eq!(told(&state([lease(1, MINUTE)]), state([lease(1, 2 * MINUTE)])), "");
    }

    #[test]
    fn every_holder_change_is_reported_in_order() {
        let before = state([lease(3, MINUTE)]);
        assert_eq!(before.after(), 2);
        assert_eq!(told(&before, state([past(3), past(4), past(5), lease(6, MINUTE)])), "-3 +4 -4 +5 -5 +6");
        assert_eq!(told(&before, state([past(3), past(4), ended(4)])), "-3 +4 -4");
        // An acquired reservation leaves no history.
        assert_eq!(told(&before, state([past(3), lease(5, MINUTE)])), "-3 +5");
    }

    #[test]
    fn expired_lease_is_reported_once() {
        let (_, out) = state([lease(3, MINUTE)]).until(&key(), state([lease(3, Duration::ZERO)]));
        assert_eq!(told(&state([lease(3, MINUTE)]), out.clone()), "-3");
        assert_eq!((told(&out, out.clone()), out.after()), (String::new(), 3));
        // Its history comes with the next one.
        assert_eq!(told(&out, state([past(3), lease(4, MINUTE)])), "+4");
        assert_eq!(told(&out, state([lease(3, MINUTE)])), "=3");
        // It began and ended between two polls.
        assert_eq!(told(&State::default(), state([lease(1, Duration::ZERO)])), "+1 -1");
    }

    #[test]
    fn shared_leases_are_reported_one_by_one() {
        let before = state([lease(1, MINUTE), lease(2, MINUTE)]);
        assert_eq!(before.after(), 0);
        assert_eq!(told(&before, state([past(1), lease(2, MINUTE), ended(3), lease(3, MINUTE)])), "-1 +3");
    }
}

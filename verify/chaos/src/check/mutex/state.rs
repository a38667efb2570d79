//! The mutex: who holds the lease, and what each call does to it.

use super::calls::{Call, Calls, Kind, Until};

/// The lease of a key, at some place of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct State {
    /// The lock to which it was granted last, and how it stands.
    last: Option<(usize, Until)>,
    live: bool,
    generation: i64,
    /// The earliest moment at which all of this can have happened: a lease that ends by itself does so at some time.
    now: u64,
}

impl State {
    /// The state after a call, or none if it cannot be next.
    pub(super) fn after(self, call: &Call, calls: &Calls) -> Option<State> {
        if self.now > call.to {
            return None;
        }
        match call.kind {
            Kind::Granted { lock, generation, until } => {
                let returns = calls.may_return[lock] && self.generation != generation;
                if self.holds(lock) && !returns {
                    return (self.generation == generation).then(|| self.until(lock, until));
                }
                let free = self.ended(calls, call.to)?;
                (generation == free.generation + 1).then(|| State { generation, ..free }.granted(lock, until))
            }
            Kind::Confirmed { lock, until } => self.alive(lock, call, calls).then(|| self.until(lock, until)),
            Kind::Relied { lock } => self.alive(lock, call, calls).then_some(self),
            // Also of one that ended by itself, and was not granted to another since.
            Kind::Released { lock } => self.is_last(lock).then_some(State { live: false, ..self }),
            Kind::Broken { generation } => (self.generation == generation).then_some(State { live: false, ..self }),
            Kind::RefusedAsHeld { lock } => {
                let (holder, _) = self.last?;
                (lock != Some(holder) && self.alive(holder, call, calls)).then_some(self)
            }
            Kind::RefusedAsLost { lock } => {
                if self.holds(lock) {
                    self.ended(calls, call.to)
                } else {
                    Some(self)
                }
            }
            Kind::NobodyHeld => self.ended(calls, call.to),
        }
    }

    /// The state after a request of unknown outcome was granted after all, at this time or later.
    pub(super) fn after_unknown(self, sent: u64, lock: usize, by: u64, calls: &Calls) -> Option<State> {
        // Each number is granted once, and this one was granted to another.
        if calls.numbered.get(&(self.generation + 1)).is_some_and(|other| *other != lock) {
            return None;
        }
        let free = self.ended(calls, by)?;
        let until = Until { earliest: sent, latest: u64::MAX };
        let granted = State { generation: free.generation + 1, now: sent.max(free.now), ..free };
        (granted.now <= by && (calls.may_return[lock] || !self.is_last(lock))).then(|| granted.granted(lock, until))
    }

    fn granted(self, lock: usize, until: Until) -> Self {
        State { last: Some((lock, until)), live: true, ..self }
    }

    fn until(self, lock: usize, until: Until) -> Self {
        State { last: Some((lock, until)), ..self }
    }

    fn is_last(&self, lock: usize) -> bool {
        self.last.is_some_and(|(last, _)| last == lock)
    }

    fn holds(&self, lock: usize) -> bool {
        self.live && self.is_last(lock)
    }

    /// Whether the lock can hold the lease when this call happens.
    fn alive(&self, lock: usize, call: &Call, calls: &Calls) -> bool {
        let (Some((last, until)), true) = (self.last, self.live) else { return false };
        last == lock && (calls.may_last[lock] || call.from <= until.latest)
    }

    /// The same with no holder, if the lease can have ended by itself by then.
    fn ended(self, calls: &Calls, by: u64) -> Option<Self> {
        let (Some((lock, until)), true) = (self.last, self.live) else { return Some(self) };
        let now = self.now.max(until.earliest.min(calls.may_end[lock]));
        (now <= by).then_some(State { live: false, now, ..self })
    }
}

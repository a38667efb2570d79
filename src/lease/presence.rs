//! Alive is not active: whether a person is behind a lease, as far as one can tell from outside. No I/O here.

use std::time::Duration;

use crate::lease::{Holder, LockId};

/// A sign of life of an open form, and what it knows of the person in front of it.
///
/// A form beats for as long as its tab is open, also when its person went home: a beat alone proves nothing. So it says
/// how long ago they last did something. It says so as a duration, because the tab's clock may be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// The lock id of the form.
    pub id: LockId,
    /// How long ago the person last did something there: a key, a click, a touch.
    pub idle: Duration,
}

impl Heartbeat {
    /// The person does something at this moment.
    pub fn active(id: LockId) -> Self {
        Heartbeat { id, idle: Duration::ZERO }
    }

    /// The person last did something so long ago.
    pub fn idle(id: LockId, idle: Duration) -> Self {
        Heartbeat { id, idle }
    }
}

/// What can be told from outside about the person who holds a lock, see [`Holder::presence`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Presence {
    /// The tab is open, and the person did something there a short while ago.
    Active,
    /// The tab is open, but nobody did anything there for a while: ask, they may have forgotten it.
    Idle,
    /// The tab does not answer: closed, asleep, or without a network. The lock will free itself.
    Unreachable,
}

/// Without input for so long somebody counts as idle. Not sooner: who reads a long form, or answers the telephone about
/// it, is still at work on it; and with a beat a minute this is five beats in a row without input.
const IDLE_AFTER: Duration = Duration::from_secs(300);

impl Holder {
    /// Whether somebody is there, as of the answer that this holder came with. Decided from what the database measured,
    /// so it is right whatever the clocks of tabs and servers show.
    ///
    /// [`Unreachable`](Presence::Unreachable) when two heartbeats in a row did not come: two and a half intervals, because
    /// the second may be under way. [`Idle`](Presence::Idle) without input for five minutes, or for two intervals
    /// where heartbeats are rarer than that. Whom a lock is kept for has just asked for it, and counts as active.
    pub fn presence(&self) -> Presence {
        if self.ttl.is_zero() {
            Presence::Active
        } else if self.silent > self.heartbeat.saturating_mul(5) / 2 {
            Presence::Unreachable
        } else if self.idle >= IDLE_AFTER.max(self.heartbeat.saturating_mul(2)) {
            Presence::Idle
        } else {
            Presence::Active
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::lease::policy::{LockPolicy, ShowOwner};
    use crate::lease::{LockKey, Owner};

    fn presence(policy: LockPolicy, idle: u64, silent: u64) -> Presence {
        let holder = Holder {
            key: LockKey::new("Order", "1"),
            owner: Owner::new("kim", "Kim"),
            generation: 1,
            since: SystemTime::now(),
            last_active: SystemTime::now(),
            last_input: SystemTime::now(),
            remaining: Duration::from_secs(1),
            ttl: policy.ttl,
            idle: Duration::from_secs(idle),
            silent: Duration::from_secs(silent),
            shared: false,
            heartbeat: policy.heartbeat_interval(),
            shown: ShowOwner::ByName,
        };
        holder.presence()
    }

    #[test]
    fn somebody_without_input_for_five_minutes_is_idle_and_without_two_heartbeats_unreachable() {
        let usual = LockPolicy::exclusive();
        assert_eq!(presence(usual, 299, 59), Presence::Active);
        assert_eq!(presence(usual, 300, 59), Presence::Idle);
        // One heartbeat was missed, and the second is late.
        assert_eq!(presence(usual, 150, 150), Presence::Active);
        assert_eq!(presence(usual, 151, 151), Presence::Unreachable);
    }

    #[test]
    fn where_heartbeats_are_rare_nobody_is_idle_between_two_of_them() {
        let rare = LockPolicy::exclusive().ttl(Duration::from_secs(3_000)).expect("a valid policy");
        let rare = rare.heartbeat(Duration::from_secs(600)).expect("a valid policy");
        assert_eq!(presence(rare, 1_199, 599), Presence::Active);
        assert_eq!(presence(rare, 1_200, 1_200), Presence::Idle);
        assert_eq!(presence(rare, 1_501, 1_501), Presence::Unreachable);
    }
}

//! Alive is not active: the presence of a lease's holder, as far as heartbeats show it. No I/O here.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::lease::policy::heartbeat_interval;
use crate::lease::{Holder, LockId};

/// A heartbeat of an open form, with the idle time of its person.
///
/// A form sends heartbeats as long as its tab is open, also after the person went home: a heartbeat alone proves nothing. So it
/// carries the time since the last input. It is a duration, because the tab's clock may be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// The lock id of the form.
    pub id: LockId,
    /// The time since the person's last input there: a key, a click, a touch.
    pub idle: Duration,
}

impl Heartbeat {
    /// A heartbeat of a person who is active now.
    pub fn active(id: LockId) -> Self {
        Heartbeat { id, idle: Duration::ZERO }
    }

    /// A heartbeat of a person whose last input was this long ago.
    pub fn idle(id: LockId, idle: Duration) -> Self {
        Heartbeat { id, idle }
    }
}

/// The visible presence of the person who holds a lock, see [`Holder::presence`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Presence {
    /// The tab is open, and there was input recently.
    Active,
    /// The tab is open, but there was no input for a while: ask, the person may have forgotten it.
    Idle,
    /// The tab sends no heartbeats: closed, asleep, or without a network. The lock will expire.
    Unreachable,
}

/// The time without input after which a person counts as idle. Not shorter: a person who reads a long form, or talks on the
/// telephone about it, still works on it; and at one heartbeat a minute it is five consecutive heartbeats without input.
const IDLE_AFTER: Duration = Duration::from_secs(300);

impl Holder {
    /// The presence at the time of the response that contained this holder. It is computed from times of the database's clock,
    /// so clocks of tabs and servers do not affect it.
    ///
    /// [`Unreachable`](Presence::Unreachable) if two consecutive heartbeats are missing: after two and a half intervals, because
    /// the second may be in flight. [`Idle`](Presence::Idle) without input for five minutes.
    pub fn presence(&self) -> Presence {
        if self.silent > heartbeat_interval(self.ttl) * 5 / 2 {
            Presence::Unreachable
        } else if self.idle >= IDLE_AFTER {
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
            shown: ShowOwner::ByName,
        };
        holder.presence()
    }

    #[test]
    fn presence_is_idle_after_five_minutes_then_unreachable() {
        let usual = LockPolicy::exclusive();
        assert_eq!(presence(usual, 299, 59), Presence::Active);
        assert_eq!(presence(usual, 300, 59), Presence::Idle);
        // One heartbeat was missed, and the second is late.
        assert_eq!(presence(usual, 150, 150), Presence::Active);
        assert_eq!(presence(usual, 151, 151), Presence::Unreachable);
    }
}

//! Checks answers against the promises, by the answers alone and not by the engine's rows.

use super::database::TTL;
use super::state::{Live, Lock, Promise, State};

impl State {
    /// A lease was granted, or returned again to the same lock id.
    pub(super) fn granted(&mut self, lock: Lock, generation: i64) {
        let now = self.now();
        let facts = &mut self.facts;
        match &mut facts.lease {
            Some(live) if live.lock == lock && live.until > now => {
                live.until = live.until.max(now + TTL);
                return;
            }
            Some(live) if live.until > now => drop(facts.broken.insert(Promise::OneLiveLease)),
            Some(expired) => {
                facts.ended.insert(expired.lock);
                facts.followed = true;
            }
            None => {}
        }
        if facts.ended.contains(&lock) {
            facts.broken.insert(Promise::EndedStaysEnded);
        }
        if generation <= facts.highest {
            facts.broken.insert(Promise::GenerationRises);
        }
        facts.highest = facts.highest.max(generation);
        facts.lease = Some(Live { lock, generation, until: now + TTL });
    }

    /// A lease was kept alive, or revived.
    pub(super) fn kept(&mut self, lock: Lock, revived: bool) {
        let now = self.now();
        match &mut self.facts.lease {
            Some(live) if live.lock == lock && (revived || live.until > now) => {
                live.until = live.until.max(now + TTL);
            }
            _ => drop(self.facts.broken.insert(Promise::EndedStaysEnded)),
        }
    }

    /// A lease ended before it expired.
    pub(super) fn ended_early(&mut self, which: impl FnOnce(&Live) -> bool) {
        if let Some(live) = self.facts.lease.filter(which) {
            self.facts.ended.insert(live.lock);
            self.facts.lease = None;
        }
    }
}

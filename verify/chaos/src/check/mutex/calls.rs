//! What each call says about the lease of its key.

use std::collections::HashMap;

use crate::clock::ms;
use crate::history::{Function, Guarded, Operation, Outcome};

/// Times of the database are whole milliseconds.
const MARGIN: u64 = ms(2);

/// Codes that say that a lease is not held (any more).
const LOST: [&str; 7] = [
    "lock-unknown",
    "lock-expired",
    "lock-idle",
    "lock-held-too-long",
    "lock-released",
    "lock-broken",
    "lock-taken-over",
];

/// What happened, if the call happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The lease of this number was granted, or was already that lock's.
    Granted { lock: usize, generation: i64, until: Until },
    /// The lease is held, and its end is known anew.
    Confirmed { lock: usize, until: Until },
    /// A write relied upon the lease.
    Relied { lock: usize },
    /// The lease was ended by its holder.
    Released { lock: usize },
    /// The lease of this number was ended by another client.
    Broken { generation: i64 },
    /// Another one held the lease.
    RefusedAsHeld { lock: Option<usize> },
    /// The lease was not held by this lock.
    RefusedAsLost { lock: usize },
    /// Nobody held the lease.
    NobodyHeld,
}

/// Between which moments a lease ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Until {
    pub(super) earliest: u64,
    pub(super) latest: u64,
}

/// A call, with the time in which it happened.
#[derive(Debug, Clone)]
pub(super) struct Call {
    op: String,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) kind: Kind,
}

/// The calls about one key.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Those that surely happened, in the order of their requests.
    pub(super) sure: Vec<Call>,
    /// To which lock each number was granted, as far as that was answered.
    pub(super) numbered: HashMap<i64, usize>,
    /// Requests for the lease that may have been granted at any time from then on: when, and by which lock.
    pub(super) unknown: Vec<(u64, usize)>,
    /// From when on each lock may have been ended by a call of unknown outcome.
    pub(super) may_end: Vec<u64>,
    /// Which locks may have been extended by one, or by a dropped request.
    pub(super) may_last: Vec<bool>,
    /// Which locks may be granted anew: a request of theirs was dropped, and may have been undone.
    pub(super) may_return: Vec<bool>,
}

impl Calls {
    /// Those of a key. Around a step of the clock no time says when a lease ends, and one that had expired is live again while the clock
    /// is set back. What a refusal rests upon may be undone by a crash.
    pub(super) fn of(
        operations: &[&Operation],
        clock_stepped: bool,
        may_be_undone: impl Fn(&Operation) -> bool,
    ) -> Self {
        let mut calls = Calls::default();
        let mut locks: HashMap<&str, usize> = HashMap::new();
        for operation in operations {
            if let Some(lock) = operation.call.args.lock.as_deref() {
                let next = locks.len();
                let lock = *locks.entry(lock).or_insert(next);
                if let Some(generation) = operation.ok().and_then(|args| args.generation) {
                    calls.numbered.insert(generation, lock);
                }
            }
        }
        calls.may_end = vec![if clock_stepped { 0 } else { u64::MAX }; locks.len()];
        calls.may_last = vec![clock_stepped; locks.len()];
        calls.may_return = vec![false; locks.len()];
        for operation in operations {
            let lock = operation.call.args.lock.as_deref().and_then(|lock| locks.get(lock)).copied();
            // A form ends its lease if it still had it: the answer does not say.
            let may_have_ended = operation.call.args.guard == Some(Guarded::Form) && operation.outcome() == Outcome::Ok;
            if operation.outcome() == Outcome::Info || may_have_ended {
                calls.note_unknown(operation, lock);
            } else if let Some(kind) = kind(operation, lock)
                && !(clock_stepped && matches!(kind, Kind::RefusedAsLost { .. } | Kind::NobodyHeld))
                && !(matches!(kind, Kind::RefusedAsHeld { .. } | Kind::RefusedAsLost { .. })
                    && may_be_undone(operation))
            {
                let (from, to) = (operation.called_at(), operation.answered_at());
                calls.sure.push(Call { op: operation.id().to_owned(), from, to, kind });
            }
        }
        calls
    }

    fn note_unknown(&mut self, operation: &Operation, lock: Option<usize>) {
        let (sent, args) = (operation.called_at(), &operation.call.args);
        let mut may_end = |lock: usize, from: u64| self.may_end[lock] = from.min(self.may_end[lock]);
        match (operation.call.f, lock) {
            (Function::Lock | Function::Wait, Some(lock)) => {
                self.unknown.push((sent, lock));
                // It may also come after the same request that was repeated, and then keeps that lease alive.
                self.may_return[lock] |= operation.is_dropped();
                self.may_last[lock] |= operation.is_dropped();
            }
            (Function::Extend, Some(lock)) => self.may_last[lock] = true,
            (Function::Shorten, Some(lock)) => may_end(lock, sent + ms(args.within_ms.unwrap_or(0))),
            (Function::Release, Some(lock)) => may_end(lock, sent),
            (_, Some(lock)) if releases(args.guard) => may_end(lock, sent),
            (Function::Break, _) => {
                if let Some(lock) = args.generation.and_then(|generation| self.numbered.get(&generation)) {
                    may_end(*lock, sent);
                }
            }
            _ => {}
        }
    }

    /// A call, for people.
    pub(super) fn describe(&self, at: usize) -> String {
        format!("{} ({:?})", self.sure[at].op, self.sure[at].kind)
    }
}

/// Whether a write ends the lease. That of a form may hold one.
fn releases(guard: Option<Guarded>) -> bool {
    matches!(guard, Some(Guarded::LeaseReleased | Guarded::Form))
}

fn kind(operation: &Operation, lock: Option<usize>) -> Option<Kind> {
    let call = &operation.call.args;
    if let Some(code) = operation.code() {
        let is_write = operation.appends();
        return match (code, lock) {
            ("already-locked", _) if operation.is(Function::Lock) || call.guard == Some(Guarded::UnlessLocked) => {
                Some(Kind::RefusedAsHeld { lock })
            }
            // A form without its lease is saved by its version.
            (code, Some(lock)) if LOST.contains(&code) && !(is_write && call.guard == Some(Guarded::Form)) => {
                Some(Kind::RefusedAsLost { lock })
            }
            _ => None,
        };
    }
    let answer = operation.ok()?;
    let until = answer.remaining_ms.map(|left| Until {
        earliest: (operation.called_at() + ms(left)).saturating_sub(MARGIN),
        latest: operation.answered_at() + ms(left) + MARGIN,
    });
    match (operation.call.f, lock) {
        (Function::Lock | Function::Wait, Some(lock)) => {
            Some(Kind::Granted { lock, generation: answer.generation?, until: until? })
        }
        (Function::Extend | Function::Shorten, Some(lock)) => Some(Kind::Confirmed { lock, until: until? }),
        (Function::Release, Some(lock)) => Some(Kind::Released { lock }),
        (Function::Break, _) => Some(Kind::Broken { generation: call.generation? }),
        _ => match (call.guard?, lock) {
            (Guarded::Lease, Some(lock)) => Some(Kind::Relied { lock }),
            (Guarded::LeaseReleased, Some(lock)) => Some(Kind::Released { lock }),
            (Guarded::UnlessLocked, _) => Some(Kind::NobodyHeld),
            _ => None,
        },
    }
}

//! The permitted actions on an aggregate, and the blocked people: decided in one place, from facts. No I/O here.
//!
//! Lists, pages, buttons, open forms and their heartbeats all call [`decide`], so no two of them contradict each other. It
//! decides what people see; the save itself decides in its transaction whether it succeeds, by the same
//! rules.

use std::time::{Duration, SystemTime};

use tenure::{
    LockPolicy, Owner,
    lease::{Holder, LeaseLossReason, NoLock, Presence},
    version::Change,
};

use crate::leases::{PARTING_GRACE, was_left_by};

/// The known facts. `F` is the application's own reason that an aggregate in this state cannot be changed.
#[derive(Debug, Clone)]
pub struct Facts<F> {
    /// The reason that it cannot be changed any more, if there is one: shipped, cancelled, closed.
    pub frozen: Option<F>,
    /// The state of the form's own lease.
    pub mine: Mine,
    /// The holders of the lock, except the form's own lease.
    pub others: Vec<Holder>,
    /// The saves since the version of the form, if any.
    pub moved: Option<Moved>,
    /// Whether this form itself was saved.
    pub saved: bool,
    /// Whether its lock excludes others. If not, everybody may save, and the version decides.
    pub exclusive: bool,
}

/// The state of a form's own lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mine {
    /// It has none, and a save needs none: the version decides.
    None,
    /// It is live.
    Alive(Holder),
    /// It was resumed: it had expired, the lock was not acquired, and nothing was saved since.
    Resumed(Holder),
    /// It has ended.
    Ended(Box<NoLock>),
}

/// Saves since the form was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The latest change, if the aggregate keeps revisions.
    pub change: Option<Change>,
}

/// The verdict. The order is the priority: the first that applies is the verdict.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict<F> {
    /// This form was saved. Nothing is left to do with it.
    Saved,
    /// It cannot be changed any more.
    Frozen(F),
    /// The form has the lock. If the lock excludes nobody, other people with the form open are named.
    Editing {
        /// The form's own lease.
        lease: Holder,
        /// Whether it had expired and was resumed.
        resumed: bool,
        /// All other people who have it open.
        others: Vec<Holder>,
    },
    /// It is editable, but was saved since it was opened, so a save compares.
    Outdated {
        /// The author and the change.
        moved: Moved,
        /// The form's own lease, if it has one.
        lease: Option<Holder>,
    },
    /// The person holds the lock themselves, elsewhere: in another tab, on another device.
    Elsewhere {
        /// Their other lease.
        holder: Holder,
        /// How this form's own lease ended, if it had one.
        ended: Option<LeaseLossReason>,
    },
    /// Another person holds the lock.
    Taken {
        /// The holder.
        holder: Holder,
        /// How this form's own lease ended, if it had one.
        ended: Option<LeaseLossReason>,
    },
    /// The form's lease has ended, and the lock is free.
    Ended {
        /// The reason of the end.
        why: LeaseLossReason,
        /// The saves since the form was opened, if any.
        moved: Option<Moved>,
    },
    /// The lock is free, and nothing was saved since.
    Free,
}

/// The expected result of a save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saving {
    /// It succeeds.
    Goes,
    /// It is compared with the saves of others.
    Compares,
    /// It is refused, and the typed text is kept.
    Refused,
}

/// Decides. `me` is the viewer.
pub fn decide<F>(me: &Owner, facts: Facts<F>) -> Verdict<F> {
    let Facts { frozen, mine, others, moved, saved, exclusive } = facts;
    if saved {
        return Verdict::Saved;
    }
    if let Some(reason) = frozen {
        return Verdict::Frozen(reason);
    }
    let blocker = others.iter().find(|holder| exclusive && !was_left_by(holder, &me.id)).cloned();
    let (lease, resumed, ended) = match mine {
        Mine::Alive(lease) => (Some(lease), false, None),
        Mine::Resumed(lease) => (Some(lease), true, None),
        Mine::Ended(no_lock) => (None, false, Some(no_lock.why)),
        Mine::None => (None, false, None),
    };
    match (lease, moved, blocker, ended) {
        (lease @ Some(_), Some(moved), ..) => Verdict::Outdated { moved, lease },
        (Some(lease), None, ..) => Verdict::Editing { lease, resumed, others },
        (None, _, Some(holder), ended) if holder.owner.id == me.id => Verdict::Elsewhere { holder, ended },
        (None, _, Some(holder), ended) => Verdict::Taken { holder, ended },
        (None, moved, None, Some(why)) => Verdict::Ended { why, moved },
        (None, Some(moved), None, None) => Verdict::Outdated { moved, lease: None },
        (None, None, None, None) => Verdict::Free,
    }
}

/// Whether nothing is known to renew the lease: its form is silent, was left, or has sent no heartbeat yet, as a form without scripts never
/// does. A person who renews it there, with a button, does something in that moment; a heartbeat tells of an input before it.
fn ends_by_itself(holder: &Holder) -> bool {
    let is_by_hand = holder.last_active == holder.last_input;
    is_by_hand || holder.presence() == Presence::Unreachable || holder.remaining <= PARTING_GRACE
}

/// The time until a held lock is free, if its person does nothing more: its expiry if the form is silent, was left or has sent no heartbeat
/// since it was renewed by hand; while heartbeats arrive, the idle limit of the policy, and its absolute limit in any case.
///
/// A renewal in the very moment of the person's last input counts as one by hand: [`Beat`](crate::beat::Beat) tells of inputs at least a
/// millisecond ago.
///
/// Without an idle limit, and with heartbeats, that is the absolute limit: a form that is open keeps the lock until then. A lease that was
/// resumed reaches it earlier.
pub fn free_in(holder: &Holder, policy: &LockPolicy) -> Duration {
    if ends_by_itself(holder) {
        return holder.remaining;
    }
    let held = holder.last_active.duration_since(holder.since).unwrap_or_default() + holder.silent;
    let limit = policy.longest_held().saturating_sub(held);
    policy.longest_idle().map_or(limit, |idle| limit.min(idle.saturating_sub(holder.idle)))
}

/// When a held lock is free, if its person does nothing more, by the database's clock: as [`free_in`], for pages that stay open, because
/// time alone does not change it.
pub fn free_at(holder: &Holder, policy: &LockPolicy) -> SystemTime {
    let expires = holder.last_active + holder.silent + holder.remaining;
    if ends_by_itself(holder) {
        return expires;
    }
    let limit = holder.since + policy.longest_held();
    policy.longest_idle().map_or(limit, |idle| limit.min(holder.last_input + idle))
}

impl<F> Verdict<F> {
    /// The expected result of a save now.
    pub fn saving(&self) -> Saving {
        match self {
            Verdict::Editing { .. } | Verdict::Free => Saving::Goes,
            Verdict::Outdated { .. } => Saving::Compares,
            Verdict::Saved
            | Verdict::Frozen(_)
            | Verdict::Elsewhere { .. }
            | Verdict::Taken { .. }
            | Verdict::Ended { .. } => Saving::Refused,
        }
    }

    /// Its name for the page's script, see [`told`](crate::beat::HeartbeatResponse).
    pub fn mode(&self) -> &'static str {
        match self {
            Verdict::Saved => "saved",
            Verdict::Editing { .. } => "held",
            Verdict::Outdated { .. } => "moved",
            Verdict::Free => "free",
            Verdict::Taken { ended: None, .. } | Verdict::Elsewhere { ended: None, .. } => "refused",
            Verdict::Frozen(_) | Verdict::Taken { .. } | Verdict::Elsewhere { .. } | Verdict::Ended { .. } => "lost",
        }
    }
}

impl<F> Facts<F> {
    /// The facts for a viewer without a form: of a list or a page.
    pub fn of_a_look(frozen: Option<F>, others: Vec<Holder>) -> Self {
        Facts { frozen, mine: Mine::None, others, moved: None, saved: false, exclusive: true }
    }
}

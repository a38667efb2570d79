//! What may be done with an aggregate now, and in whose way it is: decided in one place, from facts. No I/O here.
//!
//! Lists, pages, buttons, open forms and their heartbeats all ask [`decide`], so no two of them contradict each other. It
//! decides what people are told; whether a save goes through is decided by the save itself, in its transaction, by the same
//! rules.

use tenure::{
    Owner,
    lease::{Holder, LeaseLossReason, NoLock},
    version::Change,
};

use crate::leases::PARTING_GRACE;

/// What is known. `F` is the application's own reason why an aggregate in this state is not to be changed.
#[derive(Debug, Clone)]
pub struct Facts<F> {
    /// Why nobody can change it any more, if so: shipped, cancelled, closed.
    pub frozen: Option<F>,
    /// What is known of the form's own lease.
    pub mine: Mine,
    /// Who holds the lock, but for the form's own lease.
    pub others: Vec<Holder>,
    /// What was saved since the version that the form shows, if anything was.
    pub moved: Option<Moved>,
    /// Whether this very form was saved.
    pub saved: bool,
    /// Whether its lock keeps others out. Where it does not, everybody may save, and the version decides.
    pub exclusive: bool,
}

/// What is known of a form's own lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mine {
    /// It has none, and needs none to be saved: the version decides.
    None,
    /// It is alive.
    Alive(Holder),
    /// It is alive again: it had run out, nobody took the lock, and nothing was saved since.
    Resumed(Holder),
    /// It has ended.
    Ended(Box<NoLock>),
}

/// Somebody saved since the form was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The latest change, if the aggregate keeps revisions.
    pub change: Option<Change>,
}

/// The answer. In this order: what is listed first is decided first.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict<F> {
    /// This form was saved. There is nothing left to do with it.
    Saved,
    /// Nobody can change it any more.
    Frozen(F),
    /// The form has the lock. Others who have it open as well are named where the lock keeps nobody out.
    Editing {
        /// The form's own lease.
        lease: Holder,
        /// Whether it had run out, and goes on.
        resumed: bool,
        /// Everybody else who has it open.
        others: Vec<Holder>,
    },
    /// It can be typed on; but somebody saved since it was opened, so saving compares.
    Outdated {
        /// Who, and what.
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
    /// Somebody else holds the lock.
    Taken {
        /// Who.
        holder: Holder,
        /// How this form's own lease ended, if it had one.
        ended: Option<LeaseLossReason>,
    },
    /// The form's lease has ended, nobody holds the lock.
    Ended {
        /// How.
        why: LeaseLossReason,
        /// What was saved since the form was opened, if anything was.
        moved: Option<Moved>,
    },
    /// Nobody holds the lock, nobody has saved since.
    Free,
}

/// What a save would meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saving {
    /// It goes through.
    Goes,
    /// It is compared with what others have saved.
    Compares,
    /// It is refused: what was typed is kept.
    Refused,
}

/// Decides. `me` is who looks.
pub fn decide<F>(me: &Owner, facts: Facts<F>) -> Verdict<F> {
    let Facts { frozen, mine, others, moved, saved, exclusive } = facts;
    if saved {
        return Verdict::Saved;
    }
    if let Some(reason) = frozen {
        return Verdict::Frozen(reason);
    }
    // The person's own lease of a page that was left a moment ago is in nobody's way.
    let is_leaving = |holder: &&Holder| holder.owner.id == me.id && holder.remaining <= PARTING_GRACE;
    let in_the_way = others.iter().find(|holder| exclusive && !is_leaving(holder)).cloned();
    let (lease, resumed, ended) = match mine {
        Mine::Alive(lease) => (Some(lease), false, None),
        Mine::Resumed(lease) => (Some(lease), true, None),
        Mine::Ended(no_lock) => (None, false, Some(no_lock.why)),
        Mine::None => (None, false, None),
    };
    match (lease, moved, in_the_way, ended) {
        (lease @ Some(_), Some(moved), ..) => Verdict::Outdated { moved, lease },
        (Some(lease), None, ..) => Verdict::Editing { lease, resumed, others },
        (None, _, Some(holder), ended) if holder.owner.id == me.id => Verdict::Elsewhere { holder, ended },
        (None, _, Some(holder), ended) => Verdict::Taken { holder, ended },
        (None, moved, None, Some(why)) => Verdict::Ended { why, moved },
        (None, Some(moved), None, None) => Verdict::Outdated { moved, lease: None },
        (None, None, None, None) => Verdict::Free,
    }
}

impl<F> Verdict<F> {
    /// What a save would meet now.
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

    /// Whether the fields of an open form are for typing. Where a save would be refused they are to be read and copied.
    pub fn lets_type(&self) -> bool {
        self.saving() != Saving::Refused
    }

    /// How the page's script calls it, see [`told`](crate::beat::Told).
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
    /// Of somebody who only looks: at a list, or at a page without a form.
    pub fn of_a_look(frozen: Option<F>, others: Vec<Holder>) -> Self {
        Facts { frozen, mine: Mine::None, others, moved: None, saved: false, exclusive: true }
    }
}

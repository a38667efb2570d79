//! The state of an open form in words: the text of the verdict, for the rendered page and for heartbeats.

use std::time::Duration;

use tenure::{
    LockPolicy, Owner,
    lease::{Holder, LeaseLossReason, Presence},
};
use tenure_web::beat::HeartbeatResponse;
use tenure_web::verdict::{Moved, Saving, Verdict};

use super::frame::Frame;
use super::order_url;
use super::refusal::What;
use crate::domain::{OrderError, OrderNo, OrderState};
use crate::texts::Html;
use crate::use_cases;

/// The kind of form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The delivery address: it acquires the lock with the first change.
    Shipping,
    /// The whole order: it is edited under a lease.
    Edit,
    /// The operators' note: its lock excludes nobody.
    Note,
    /// The comparison of a refused form of an order with the changes of others: nothing is typed there.
    Comparison,
}

impl Kind {
    /// Its code in addresses.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Kind::Shipping => "shipping",
            Kind::Edit => "edit",
            Kind::Note => "note",
            Kind::Comparison => "comparison",
        }
    }

    /// The end of the address that says whether its subject has changed.
    pub(crate) fn now(self) -> &'static str {
        if self == Kind::Note { "/note/now" } else { "/now" }
    }

    /// The end of the address to which text is posted that is to go on in such a form.
    pub(crate) fn restore(self) -> &'static str {
        match self {
            Kind::Shipping | Kind::Comparison => What::ChangeShipping,
            Kind::Edit => What::OpenEdit,
            Kind::Note => What::OpenNote,
        }
        .path()
    }

    /// Whether its lock keeps others away.
    pub(crate) fn keeps_others_away(self) -> bool {
        self.policy().is_exclusive()
    }

    /// Its heartbeat interval, by the policy of its aggregate.
    fn heartbeat(self) -> Duration {
        self.policy().heartbeat_interval()
    }

    /// The lock policy of its aggregate.
    fn policy(self) -> LockPolicy {
        match self {
            Kind::Shipping | Kind::Edit | Kind::Comparison => use_cases::order_policy(),
            Kind::Note => use_cases::note_policy(),
        }
    }

    /// The kind with this code.
    pub(crate) fn from_code(code: &str) -> Option<Kind> {
        [Kind::Shipping, Kind::Edit, Kind::Note, Kind::Comparison].into_iter().find(|kind| kind.code() == code)
    }
}

/// The state of a form.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    /// The state, from the list of states.
    pub(crate) state: &'static str,
    /// The script's name for it.
    pub(crate) mode: &'static str,
    /// Its text.
    pub(crate) said: Html,
    /// The visible buttons.
    pub(crate) actions: Vec<&'static str>,
    /// The heartbeat interval, in milliseconds.
    pub(crate) heartbeat_ms: u128,
    /// The time until the form's own lease expires, in milliseconds.
    pub(crate) expires_in_ms: Option<u64>,
    /// The time until its idle limit ends it, in milliseconds.
    pub(crate) idle_in_ms: Option<u64>,
    told: HeartbeatResponse,
    quiet: bool,
}

impl Standing {
    /// The state of this form, for the viewer.
    pub(crate) fn new(f: &Frame, me: &Owner, kind: Kind, no: &OrderNo, verdict: &Verdict<OrderState>) -> Standing {
        let taken = match verdict {
            Verdict::Taken { holder, ended } => {
                Some(Verdict::Taken { holder: f.sees(holder.clone()), ended: ended.clone() })
            }
            _ => None,
        };
        let verdict = taken.as_ref().unwrap_or(verdict);
        let (state, said) = words(f, kind, verdict);
        let actions = actions(kind, verdict);
        let told = HeartbeatResponse::new(me, verdict).under(&kind.policy());
        let told = told.state(state).said(said.plain()).actions(actions.iter().copied());
        let told = if let Verdict::Saved = verdict { told.next(order_url(no)) } else { told };
        let (mode, expires_in_ms, idle_in_ms) = (told.mode, told.expires_in_ms, told.idle_in_ms);
        Standing {
            state,
            mode,
            said,
            actions,
            heartbeat_ms: kind.heartbeat().as_millis(),
            expires_in_ms,
            idle_in_ms,
            told,
            quiet: false,
        }
    }

    /// Shown only once it changes: for pages that show something else first.
    pub(crate) fn quietly(self) -> Standing {
        Standing { quiet: true, ..self }
    }

    /// Whether it is not shown on the rendered page.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet || self.said.plain().is_empty()
    }

    /// For the page's script.
    pub(crate) fn told(self) -> HeartbeatResponse {
        self.told
    }

    /// Whether a button is visible.
    pub(crate) fn shows(&self, action: &str) -> bool {
        self.actions.contains(&action)
    }
}

fn actions(kind: Kind, verdict: &Verdict<OrderState>) -> Vec<&'static str> {
    let mut actions = buttons(kind, verdict);
    // Nothing is left to choose in a comparison whose text was saved, or cannot be saved any more.
    let is_over = matches!(verdict, Verdict::Saved | Verdict::Frozen(_));
    if matches!(kind, Kind::Comparison | Kind::Note) && !is_over {
        actions.push("choose");
    }
    actions
}

fn buttons(kind: Kind, verdict: &Verdict<OrderState>) -> Vec<&'static str> {
    match verdict {
        verdict if verdict.saving() != Saving::Refused => vec!["save"],
        verdict if kind == Kind::Comparison && taken_away(verdict).is_some() => Vec::new(),
        Verdict::Elsewhere { .. } | Verdict::Taken { .. } if kind == Kind::Comparison => vec!["retry"],
        Verdict::Elsewhere { ended: None, .. } => vec!["move", "retry"],
        Verdict::Taken { ended: None, .. } => vec!["retry"],
        Verdict::Elsewhere { .. } | Verdict::Taken { .. } | Verdict::Ended { .. } => vec!["again"],
        // The response to its save may have been lost, and more text typed since.
        Verdict::Saved => vec!["see", "again"],
        _ => vec!["see"],
    }
}

fn words(f: &Frame, kind: Kind, verdict: &Verdict<OrderState>) -> (&'static str, Html) {
    let t = f.t;
    match verdict {
        // Nothing is typed there.
        Verdict::Saved if kind == Kind::Comparison => ("OE-20", t.standing_saved().into()),
        Verdict::Saved => ("OE-20", t.standing_saved_again().into()),
        Verdict::Frozen(state) => {
            let why = t.refusal(&match state {
                OrderState::Cancelled => OrderError::AlreadyCancelled,
                state => OrderError::AlreadyShipped { state: *state },
            });
            // Nothing is typed in a comparison.
            ("OE-15", if kind == Kind::Comparison { why } else { t.standing_frozen(why) })
        }
        Verdict::Editing { lease, others, .. } if kind == Kind::Note => ("OE-24", note(f, lease, others)),
        // It cannot be saved either once nobody else has the order.
        verdict
            if kind == Kind::Comparison
                && let Some(why) = no_longer_open(verdict) =>
        {
            let ended = ended(f, why);
            let ended = match verdict {
                Verdict::Ended { moved: Some(moved), .. } => {
                    t.ended_since(ended, t.compared_older(who(f, kind, moved)))
                }
                Verdict::Taken { holder, .. } => t.ended_since(ended, t.held_other(&holder.owner, f.at(holder.since))),
                _ => ended,
            };
            ("OE-11", t.compared_ended(ended))
        }
        // The form of the compared text was sent, so any other end of its lease says nothing.
        Verdict::Elsewhere { holder, .. } if kind == Kind::Comparison => {
            ("LP-16", t.compared_elsewhere(f.at(holder.since)))
        }
        Verdict::Taken { holder, .. } if kind == Kind::Comparison => {
            ("LP-1", t.compared_held(&holder.owner, f.at(holder.since)))
        }
        Verdict::Free if kind == Kind::Comparison => ("OE-0b", "".into()),
        Verdict::Outdated { moved, .. } if kind == Kind::Comparison => {
            ("OE-25", t.compared_outdated(t.compared_older(who(f, kind, moved))))
        }
        Verdict::Editing { resumed: true, .. } => ("OE-7", t.standing_resumed().into()),
        Verdict::Editing { .. } => ("OE-1", t.you_edit().into()),
        // The form, and the comparison.
        Verdict::Outdated { moved, .. } if kind == Kind::Note => ("OE-25", t.note_outdated(who(f, kind, moved))),
        Verdict::Outdated { moved, .. } => ("OE-25", t.standing_outdated(who(f, kind, moved))),
        Verdict::Elsewhere { holder, ended: None | Some(LeaseLossReason::Unknown) }
            if holder.presence() == Presence::Unreachable =>
        {
            ("LP-16", t.standing_silent(f.at(holder.since), f.at(holder.last_active)))
        }
        Verdict::Elsewhere { holder, ended: None | Some(LeaseLossReason::Unknown) } => {
            ("LP-16", t.standing_elsewhere(f.at(holder.since)))
        }
        Verdict::Elsewhere { holder, .. } => ("OE-12", t.standing_moved(f.at(holder.since))),
        Verdict::Taken { holder, ended: None | Some(LeaseLossReason::Unknown) } => {
            ("LP-1", t.standing_held(&holder.owner, f.at(holder.since)))
        }
        Verdict::Taken { holder, ended: Some(why) } => {
            ("OE-9", t.standing_taken(ended(f, why), &holder.owner, f.at(holder.since)))
        }
        Verdict::Ended { why, moved } if why.ended_by().is_some_and(|by| !f.is_me(by)) => {
            let ended = ended(f, why);
            let said = match moved {
                Some(moved) => t.standing_lapsed_changed(ended, who(f, kind, moved)),
                None => t.standing_ended(ended),
            };
            ("OE-11", said)
        }
        Verdict::Ended { why, moved: Some(moved) } => {
            ("OE-8", t.standing_lapsed_changed(ended(f, why), who(f, kind, moved)))
        }
        Verdict::Ended { why, moved: None } => ("OE-7", t.standing_lapsed(ended(f, why))),
        // Without a lock of its own nobody knows of it.
        Verdict::Free if kind == Kind::Note => ("OE-24", t.note_unseen().into()),
        // Its form had a lease.
        Verdict::Free if kind == Kind::Edit => ("OE-7", t.standing_lapsed_free().into()),
        Verdict::Free => ("OE-0b", t.reserved_when_changed().into()),
    }
}

/// How the lease of a compared form ended, if that is to be said: nobody else has the order, or it cannot be saved any more.
fn no_longer_open(verdict: &Verdict<OrderState>) -> Option<&LeaseLossReason> {
    if let Verdict::Ended { why, .. } = verdict { Some(why) } else { taken_away(verdict) }
}

/// How somebody ended its lease, so that it cannot be saved any more.
fn taken_away(verdict: &Verdict<OrderState>) -> Option<&LeaseLossReason> {
    let why = match verdict {
        Verdict::Ended { why, .. } => why,
        Verdict::Elsewhere { ended, .. } | Verdict::Taken { ended, .. } => ended.as_ref()?,
        _ => return None,
    };
    (!why.permits_a_save_by_version()).then_some(why)
}

/// The author, the change and the time.
fn who(f: &Frame, kind: Kind, moved: &Moved) -> Html {
    match &moved.change {
        Some(change) => f.t.did(change, change.by.as_ref().is_some_and(|by| f.is_me(by)), f.at(change.at)),
        None if kind == Kind::Note => f.t.note_changed_since().into(),
        None => f.t.changed_since().into(),
    }
}

/// How a lease ended.
pub(crate) fn ended(f: &Frame, why: &LeaseLossReason) -> Html {
    let t = f.t;
    match why {
        LeaseLossReason::TakenOver { by, at, .. } if f.is_me(by) => t.lost_moved(f.at(*at)),
        LeaseLossReason::Broken { by, at, .. } if f.is_me(by) => t.lost_ended_self(f.at(*at)),
        LeaseLossReason::Broken { by, at, reason } | LeaseLossReason::TakenOver { by, at, reason } => {
            t.lost_broken(by, f.at(*at), reason.as_str())
        }
        LeaseLossReason::IdleLimitReached { at } => t.lost_idle(f.at(*at)),
        LeaseLossReason::Expired { at } | LeaseLossReason::LimitReached { at } => t.lost_lapsed(f.at(*at)),
        LeaseLossReason::Released { at } => t.lost_finished(f.at(*at)),
        _ => t.lost_unknown().into(),
    }
}

/// The first lease of each person.
pub(super) fn each_person_once<'h>(holders: impl IntoIterator<Item = &'h Holder>) -> Vec<&'h Holder> {
    let mut people: Vec<&Holder> = Vec::new();
    for holder in holders {
        if people.iter().all(|known| known.owner.id != holder.owner.id) {
            people.push(holder);
        }
    }
    people
}

/// The other people who have the note open.
fn note(f: &Frame, lease: &Holder, others: &[Holder]) -> Html {
    let t = f.t;
    let (own, others): (Vec<_>, Vec<_>) = others.iter().partition(|holder| holder.owner.id == lease.owner.id);
    match (others.first(), own.first()) {
        (Some(first), _) => {
            let people = each_person_once(others.iter().copied());
            let names: Vec<_> = people.iter().map(|holder| holder.owner.name.clone()).collect();
            t.note_other(t.names(&names), f.at(first.since))
        }
        (None, Some(own)) => t.note_other_self(f.at(own.since)),
        (None, None) => t.note_alone().into(),
    }
}

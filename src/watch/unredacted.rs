//! Redaction of other people in events. No I/O here.

use super::event::LockEvent;
use crate::lease::policy::ShowOwner;
use crate::lease::{Holder, LeaseLossReason, Owner};

/// An event, with the data that decides what a viewer may see of it.
#[derive(Debug, Clone)]
pub(super) enum UnredactedEvent {
    /// It contains nothing to redact.
    Plain(LockEvent),
    Holder(fn(Holder) -> LockEvent, Holder),
    Ended(Holder, LeaseLossReason),
}

impl UnredactedEvent {
    /// As it is visible to the owner with this id.
    pub(super) fn to(self, viewer: Option<&str>) -> LockEvent {
        match self {
            UnredactedEvent::Plain(event) => event,
            UnredactedEvent::Holder(event, holder) => event(holder.seen_by(viewer)),
            UnredactedEvent::Ended(holder, why) => {
                let why = seen_by(why, holder.shown, viewer);
                LockEvent::Ended { holder: holder.seen_by(viewer), why }
            }
        }
    }
}

/// The author of a lease's end, as visible to the viewer.
fn seen_by(why: LeaseLossReason, how: ShowOwner, viewer: Option<&str>) -> LeaseLossReason {
    let shown = |owner: Owner| if viewer == Some(&*owner.id) { owner } else { owner.shown(how) };
    match why {
        LeaseLossReason::Broken { by, at, reason } => LeaseLossReason::Broken { by: shown(by), at, reason },
        LeaseLossReason::TakenOver { by, at, reason } => LeaseLossReason::TakenOver { by: shown(by), at, reason },
        other => other,
    }
}

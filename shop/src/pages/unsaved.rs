//! What was typed into a form that is gone: the script fills a box on the page that says so, to be read and copied.

use super::order_url;
use crate::domain::OrderNo;

/// The box for drafts of forms that cannot be opened any more. It is hidden until the script finds one of this person.
#[derive(Debug, Clone)]
pub(super) struct Unsaved {
    /// The names of the forms, as in `data-tenure-form`, separated by `|`: an order number may contain anything but that.
    pub(super) forms: String,
    /// The address to which the script posts what is dropped.
    pub(super) text: String,
}

impl Unsaved {
    /// The forms of an order that is frozen.
    pub(super) fn of(no: &OrderNo) -> Unsaved {
        Unsaved { forms: forms(&["shipping", "edit"], no), text: text(no) }
    }

    /// All forms of an order that is not there (any more).
    pub(super) fn of_missing(no: &str) -> Unsaved {
        Unsaved { forms: forms(&["shipping", "edit", "note"], no), text: text(no) }
    }
}

fn text(no: impl std::fmt::Display) -> String {
    format!("{}/text", order_url(no))
}

fn forms(kinds: &[&str], no: impl std::fmt::Display) -> String {
    kinds.iter().map(|kind| format!("{kind} {no}")).collect::<Vec<_>>().join("|")
}

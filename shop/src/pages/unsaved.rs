//! What was typed into a form that is gone: the script fills a box on the page that says so, to be read and copied.

use super::order_url;

/// The box for drafts of forms that cannot be opened any more. It is hidden until the script finds one of this person.
#[derive(Debug, Clone)]
pub(super) struct Unsaved {
    /// The names of the forms, as in `data-tenure-form`, separated by `|`: an order number may contain anything but that.
    pub(super) forms: String,
    /// The address to which the script posts what is dropped.
    pub(super) text: String,
}

impl Unsaved {
    /// The forms of these kinds, of an order that is frozen, or is not there (any more).
    pub(super) fn of(kinds: &[&str], no: &str) -> Unsaved {
        let forms: Vec<_> = kinds.iter().map(|kind| format!("{kind} {no}")).collect();
        Unsaved { forms: forms.join("|"), text: format!("{}/text", order_url(no)) }
    }
}

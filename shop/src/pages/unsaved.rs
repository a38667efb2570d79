//! What was typed into a form that is gone: the script fills a box on the page that says so, to be read and copied.

use super::fields::{NEW_LINE, SHIPPING, quantity, removal};
use super::order_url;
use crate::domain::Order;
use crate::texts::{Html, Lang, field_label};

/// The box for drafts of forms that cannot be opened any more. It is hidden until the script finds one of this person.
#[derive(Debug, Clone)]
pub(super) struct Unsaved {
    /// The names of the forms, as in `data-tenure-form`, separated by `|`: an order number may contain anything but that.
    pub(super) forms: String,
    /// The address to which the script posts what is dropped.
    pub(super) text: String,
    /// The names of fields, and their labels.
    pub(super) labels: Vec<(String, Html)>,
}

impl Unsaved {
    /// The forms of an order that is frozen.
    pub(super) fn of(t: Lang, order: &Order) -> Unsaved {
        let lines = order.lines().iter().flat_map(|line| {
            let quantity_of = (quantity(line.line_no()), t.line_quantity(line.product()));
            [quantity_of, (removal(line.line_no()), t.removed_line(line.product()))]
        });
        let labels = named(t, SHIPPING.into_iter().chain(NEW_LINE)).chain(lines).collect();
        Unsaved { forms: forms(&["shipping", "edit"], order.no()), text: text(order.no()), labels }
    }

    /// All forms of an order that is not there (any more).
    pub(super) fn of_missing(t: Lang, no: &str) -> Unsaved {
        let labels = named(t, SHIPPING.into_iter().chain(NEW_LINE).chain(["text"])).collect();
        Unsaved { forms: forms(&["shipping", "edit", "note"], no), text: text(no), labels }
    }
}

fn text(no: impl std::fmt::Display) -> String {
    format!("{}/text", order_url(no))
}

fn named<'a>(t: Lang, names: impl Iterator<Item = &'a str>) -> impl Iterator<Item = (String, Html)> {
    names.map(move |name| (name.to_owned(), field_label(t, name)))
}

fn forms(kinds: &[&str], no: impl std::fmt::Display) -> String {
    kinds.iter().map(|kind| format!("{kind} {no}")).collect::<Vec<_>>().join("|")
}

//! *Save both changes*: the form of a conflict page, and the fields that the person changed.

use std::collections::BTreeSet;

use axum::response::Response;
use tenure::{VersionConflict, VersionToken, version::Side};

use super::compare::Row;
use super::fields::Fields;
use super::posted::Posted;
use super::refusal::{Attempt, What};
use crate::domain::{LineChange, Order, ShippingInfo};
use crate::texts::line_of;
use crate::use_cases::Changes;

/// The offer of the conflict page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Offer {
    /// The version at which the form was opened, for the button.
    pub(super) opened: String,
    /// The names of the fields that the person changed, for hidden fields `mine`.
    pub(super) mine: Vec<String>,
}

impl Offer {
    /// The offer, if nothing conflicts: the changed fields are different ones, and the person has changed some.
    /// Commands without fields get no offer: an operator has to look at the address before shipping.
    pub(super) fn new(attempt: &Attempt<'_>, conflict: &VersionConflict, rows: &[Row]) -> Option<Offer> {
        let is_form = matches!(attempt.what, What::ChangeShipping | What::SaveEdit);
        let is_mine = |row: &&Row| row.side == Side::Mine;
        if !is_form || !conflict.auto_mergeable() || !rows.iter().any(|row| is_mine(&row)) {
            return None;
        }
        let opened = VersionToken::<Order>::new(attempt.no, conflict.expected).to_string();
        let mine = rows.iter().filter(is_mine).filter_map(|row| Some(row.choice.as_ref()?.name.clone()));
        Some(Offer { opened, mine: mine.collect() })
    }
}

/// The version at which the form was opened, if the person wants to save both changes.
///
/// # Errors
/// The page about an incomplete form.
pub(super) fn opened(form: &Posted) -> Result<Option<VersionToken<Order>>, Response> {
    if form.fields.has("both") { form.parse("both").map(Some) } else { Ok(None) }
}

/// The content of the form, and which parts were changed.
pub(super) fn changes(typed: &Fields, info: ShippingInfo, lines: Option<Vec<LineChange>>) -> Changes {
    let (mut changed, mut changed_lines) = (BTreeSet::new(), BTreeSet::new());
    for name in typed.all("mine") {
        match line_of(name) {
            Some((line_no, _)) => drop(changed_lines.insert(line_no)),
            None => drop(changed.insert(name.to_owned())),
        }
    }
    Changes { info, lines, changed, changed_lines }
}

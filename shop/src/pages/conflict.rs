//! Two changes met: who changed what meanwhile, and what to do about it.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use tenure::{Change, Holder, Side, Version, VersionConflict};

use super::compare::{self, Row};
use super::fields::Fields;
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::problem::ProblemPage;
use super::refusal::{self, Attempt, What};
use super::order_url;
use crate::domain::{Order, OrderError, OrderState};
use crate::texts::{Html, Lang, minutes};
use crate::use_cases::Shop;

#[derive(Template)]
#[template(path = "conflict.html")]
struct ConflictPage {
    f: Frame,
    url: String,
    said: Vec<Html>,
    rule: Option<Html>,
    expected: Version,
    actual: Version,
    now_heading: Html,
    opened_known: bool,
    has_mine: bool,
    /// Rows to decide or to look at; then those that only the others changed.
    rows: Vec<Row>,
    theirs: Vec<Row>,
    apply: Apply,
    holder: Option<Holder>,
}

/// The form that does it again on the version there is now.
struct Apply {
    what: What,
    action: String,
    hidden: Fields,
    lid: Option<String>,
    label: Html,
}

impl ConflictPage {
    /// Where the form with the typed text is drawn again.
    fn edit_first(&self) -> String {
        match self.apply.what {
            What::SaveEdit => format!("{}/edit", self.url),
            What::SaveNote => format!("{}/note/edit", self.url),
            _ => self.apply.action.clone(),
        }
    }

    fn countdown(&self) -> String {
        minutes(self.holder.as_ref().map(|holder| holder.remaining).unwrap_or_default())
    }
}

/// 409: the version that the person saw is not the current one.
pub(super) async fn page(shop: &Shop, visit: Visit, attempt: Attempt<'_>, conflict: &VersionConflict) -> Response {
    let view = match shop.order(&visit.member, attempt.no).await {
        Ok(view) => view,
        Err(refusal) => return refusal::plain(visit.frame, refusal),
    };
    let (f, t) = (visit.frame, visit.frame_t());
    let _ = t;
    let _ = (f, view, conflict);
    unreachable!()
}

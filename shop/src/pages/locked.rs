//! 423: another owner holds the order. Shows the holder, the time of the lease, and the possible actions.

use std::time::Duration;

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::Response;
use tenure::{
    VersionToken,
    lease::{Holder, Presence},
};
use tenure_web::form_id::FormId;

use super::fields::Fields;
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::order_url;
use super::problem::{self, ProblemPage, typed};
use super::refusal::{self, Attempt, What};
use crate::domain::Order;
use crate::texts::{Html, left};
use crate::use_cases::{OrderView, Shop};

#[derive(Template)]
#[template(path = "locked.html")]
struct LockedPage {
    f: Frame,
    url: String,
    holder: Holder,
    /// The time until the order is free, if its holder does nothing more.
    free_in: Duration,
    is_me: bool,
    what: What,
    view: OrderView,
    /// The address and the fields of [Try again].
    action: String,
    again: Fields,
    /// The typed text, for the edit form if the person moves their editing here.
    carried: Fields,
    typed: Vec<(Html, String)>,
    seen: Option<VersionToken<Order>>,
    /// The form that the move opens.
    next_form: FormId,
}

impl LockedPage {
    fn order(&self) -> &Order {
        &self.view.order
    }

    /// Whether it was a button, and not a form with text: it can be pressed in spite of the editor.
    fn is_command(&self) -> bool {
        !self.what.has_text()
    }

    /// The button that does it in spite of the editor.
    fn anyway(&self) -> Html {
        let (t, owner) = (self.f.t, &self.holder.owner);
        match (self.what, self.is_me) {
            (What::Cancel, true) => t.cancel_anyway_self().into(),
            (What::Cancel, false) => t.cancel_anyway(owner),
            (_, true) => t.ship_anyway_self().into(),
            (_, false) => t.ship_anyway(owner),
        }
    }

    /// The title with the number of the order. For a button, the action that failed.
    fn title(&self) -> Html {
        let (t, no) = (self.f.t, self.order().no());
        match self.what {
            What::StartShipping => t.ship_locked_title(no),
            What::Cancel => t.cancel_locked_title(no),
            _ if self.is_me => t.locked_title_self(no),
            _ => t.locked_title(no),
        }
    }

    fn who(&self) -> Html {
        let (t, since) = (self.f.t, self.f.at(self.holder.since));
        match (self.is_me, self.what) {
            (true, What::StartShipping) => t.ship_locked_self(since),
            (true, What::Cancel) => t.cancel_locked_self(since),
            (true, _) => t.held_self(since),
            (false, What::StartShipping) => t.ship_locked_what(&self.holder.owner, since),
            (false, What::Cancel) => t.cancel_locked_what(&self.holder.owner, since),
            (false, _) => t.held_other(&self.holder.owner, since),
        }
    }

    fn last_activity(&self) -> Html {
        let (t, typed) = (self.f.t, self.f.at(self.holder.last_input));
        match self.holder.presence() {
            Presence::Unreachable => t.last_heard(typed, left(t, self.free_in)),
            _ => t.last_typed(typed, left(t, self.free_in)),
        }
    }

    /// Moving is for edit forms: a command has nothing to move.
    fn can_move(&self) -> bool {
        self.is_me && matches!(self.what, What::OpenEdit | What::SaveEdit | What::ChangeShipping)
    }
}

/// 423: another owner holds it.
pub(super) async fn page(shop: &Shop, visit: Visit, attempt: Attempt<'_>, holder: Holder) -> Response {
    let Visit { frame, member } = visit;
    let view = match shop.order(&member, attempt.no).await {
        Ok(view) => view,
        Err(refusal) => return refusal::plain(frame, refusal),
    };
    let is_me = frame.is_me(&holder.owner);
    let state = match attempt.what {
        What::StartShipping | What::Cancel => "OV-7",
        _ if is_me => "LP-16",
        _ => "LP-1",
    };
    let page = LockedPage {
        url: order_url(attempt.no),
        is_me,
        what: attempt.what,
        action: attempt.action(),
        again: attempt.again(),
        carried: attempt.carried(),
        typed: typed(frame.t, &attempt.fields.without_same(&view.order)),
        view,
        seen: attempt.seen,
        next_form: FormId::random(),
        free_in: shop.free_in(&holder),
        holder,
        f: frame.state(state),
    };
    let mut response = match page.f.script {
        true => problem::told(&page.f, StatusCode::LOCKED, page.f.state, &[page.who(), page.last_activity()]),
        false => page.f.answer(StatusCode::LOCKED, &page),
    };
    response.headers_mut().insert(RETRY_AFTER, page.free_in.as_secs().max(1).into());
    response
}

/// 409: it was free, and another request won the race.
pub(super) fn raced(visit: Visit, attempt: Attempt<'_>) -> Response {
    let t = visit.frame.t;
    let page = ProblemPage::new(visit.frame.state("LP-7"), t.raced_title(attempt.no)).say(t.raced_what());
    let page = page.typed(attempt.fields).retry(attempt.action(), attempt.again());
    page.link(order_url(attempt.no), t.back_to_order()).answer(StatusCode::CONFLICT)
}

//! The account page: the member's sessions, and how to end them.

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::agent;
use super::flash::Flash;
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::posted::{Answer, Posted};
use super::refusal;
use super::sign_in::{signed_out, still_signed_in};
use crate::domain::Member;
use crate::texts::Html;
use crate::use_cases::{Session, SessionId, Shop};

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage {
    f: Frame,
    member: Member,
    sessions: Vec<Session>,
    current: Option<SessionId>,
}

impl AccountPage {
    /// Whether it is the session of this browser.
    fn is_here(&self, session: &Session) -> bool {
        self.current.as_ref().is_some_and(|current| current.0 == session.id)
    }

    fn browser(&self, session: &Session) -> Html {
        agent::named(self.f.t, &session.browser)
    }
}

/// GET /account
pub(super) async fn show(State(shop): State<Shop>, visit: Visit, current: Option<Extension<SessionId>>) -> Response {
    let Visit { frame, member } = visit;
    let mut sessions = match shop.sessions(&member).await {
        Ok(sessions) => sessions,
        Err(refusal) => return refusal::plain(frame, refusal),
    };
    let current = current.map(|Extension(id)| id);
    // The current one first, because people look for it first.
    sessions.sort_by_key(|session| current.as_ref().is_none_or(|current| current.0 != session.id));
    let page = AccountPage { f: frame.state("AM-1"), member, sessions, current };
    page.f.answer(StatusCode::OK, &page)
}

/// POST /account/sessions/end: one of the member's sessions, maybe the current one. An ended session is fine, too.
pub(super) async fn end(State(shop): State<Shop>, current: Option<Extension<SessionId>>, form: Posted) -> Answer {
    let id = SessionId(form.fields.text("session").to_owned());
    let is_this_one = current.is_some_and(|Extension(current)| current == id);
    if let Err(refusal) = shop.end_session(&form.visit.member, &id).await {
        return Err(still_signed_in(form.visit.frame, refusal, "/account/sign-out-everywhere"));
    }
    if is_this_one {
        return Ok(signed_out(Flash::SignedOut));
    }
    Ok(Flash::SessionEnded.at("/account"))
}

/// POST /account/sign-out-everywhere: includes this browser.
pub(super) async fn end_all(State(shop): State<Shop>, form: Posted) -> Answer {
    if let Err(refusal) = shop.end_all_sessions(&form.visit.member).await {
        return Err(still_signed_in(form.visit.frame, refusal, "/account/sign-out-everywhere"));
    }
    Ok(signed_out(Flash::SignedOutEverywhere))
}

//! Full pages about a failure: the event, its object, and the next step. They lose no typed text.

use std::time::Duration;

use askama::Template;
use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tenure::error::DatabaseError;
use tenure_web::csrf::CsrfRejection;

use super::compare::{label, line_in};
use super::fields::{Fields, NEW_LINE, SHIPPING};
use super::frame::Frame;
use super::icon::Icon;
use super::input::Mistake;
use super::unsaved::Unsaved;
use super::{order_url, sign_in_address};
use crate::domain::{Invalid, Order, OrderError, OrderNo, Role};
use crate::texts::{Html, Lang, field_label, left, line_of};

/// A page about a failure.
#[derive(Template)]
#[template(path = "problem.html")]
pub(super) struct ProblemPage {
    f: Frame,
    title: Html,
    said: Vec<Html>,
    typed: Vec<(Html, String)>,
    typed_said: &'static str,
    /// For drafts of forms that are gone.
    unsaved: Option<Unsaved>,
    retry: Option<Retry>,
    retry_label: &'static str,
    links: Vec<Link>,
}

/// A button that sends the same form again.
pub(super) struct Retry {
    pub(super) action: String,
    pub(super) fields: Fields,
}

/// A link to another page.
struct Link {
    address: String,
    label: Html,
    in_new_tab: bool,
}

impl ProblemPage {
    pub(super) fn new(frame: Frame, title: impl Into<Html>) -> ProblemPage {
        ProblemPage {
            title: title.into(),
            said: Vec::new(),
            typed: Vec::new(),
            typed_said: frame.t.still_here(),
            unsaved: None,
            retry: None,
            retry_label: frame.t.try_again(),
            links: Vec::new(),
            f: frame,
        }
    }

    /// Adds a paragraph.
    pub(super) fn say(mut self, text: impl Into<Html>) -> Self {
        self.said.push(text.into());
        self
    }

    /// Shows the typed text.
    pub(super) fn typed(mut self, fields: &Fields) -> Self {
        self.typed = typed(self.f.t, fields, &[]);
        self
    }

    /// Offers the drafts of the forms of an order that is not there, to be read and copied.
    pub(super) fn unsaved_of(mut self, no: &str) -> Self {
        self.unsaved = self.f.member.as_ref().map(|_| Unsaved::of(&["shipping", "edit", "note"], no));
        self
    }

    /// Adds a link.
    pub(super) fn link(mut self, address: impl Into<String>, label: impl Into<Html>) -> Self {
        self.links.push(Link { address: address.into(), label: label.into(), in_new_tab: false });
        self
    }

    /// The order that the address is about, or the list: where it is, and the words of a link to it.
    fn about(&self) -> (String, &'static str) {
        match self.f.order().and_then(|no| OrderNo::new(&no).ok()) {
            Some(no) => (order_url(&no), self.f.t.back_to_order()),
            None => ("/orders".to_owned(), self.f.t.to_orders()),
        }
    }

    /// Adds a button that sends the typed text to its address again, if there is any.
    fn send_again(mut self, typed: &Fields) -> Self {
        if !typed.is_blank() {
            self.retry = Some(Retry { action: self.f.path().to_owned(), fields: typed.again() });
            self.retry_label = self.f.t.send_again();
        }
        self.typed(typed)
    }

    /// The same, for the person of the form once they have signed in, in another tab. Their token in this browser is the same in each session.
    fn send_after_signing_in(mut self, typed: &Fields) -> Self {
        if let Some(csrf) = typed.get("csrf") {
            csrf.clone_into(&mut self.f.csrf);
        }
        let label = self.f.t.sign_in_new_tab().into();
        self.links.push(Link { address: "/sign-in".into(), label, in_new_tab: true });
        self.send_again(typed)
    }

    /// Adds a button that sends these fields there.
    pub(super) fn retry(mut self, action: impl Into<String>, fields: Fields) -> Self {
        self.retry = Some(Retry { action: action.into(), fields });
        self
    }

    /// The page; for the page's script, which stays on its page, the text of it.
    pub(super) fn answer(mut self, status: StatusCode) -> Response {
        // The order is named also if the problem is something else.
        if let Some(no) = self.f.order().filter(|no| !self.title.plain().contains(no)) {
            self.title = self.f.t.about_order(&self.title, no);
        }
        let mut response = if self.f.script {
            let detail: Vec<_> = self.said.iter().map(Html::plain).collect();
            let message = ScriptMessage { code: self.f.state, detail: detail.join(" ") };
            (status, Json(message)).into_response()
        } else {
            self.f.answer(status, &self)
        };
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response
    }
}

/// The body of a refusal for the page's script.
#[derive(Serialize)]
struct ScriptMessage {
    code: &'static str,
    detail: String,
}

/// The refusal of a form that could not be kept, for the page's script: that stays on its page, with the text.
pub(super) fn told(frame: &Frame, status: StatusCode, code: &'static str, said: &[Html]) -> Response {
    let detail: Vec<_> = said.iter().map(Html::plain).chain([frame.t.text_stays_here().to_owned()]).collect();
    (status, Json(ScriptMessage { code, detail: detail.join(" ") })).into_response()
}

/// 422 for the page's script: the mistakes in the text, one after the other.
pub(super) fn mistakes_told(frame: &Frame, mistakes: &[Mistake]) -> Response {
    let said: Vec<_> = mistakes.iter().map(|mistake| mistake.summary(&frame.t)).collect();
    told(frame, StatusCode::UNPROCESSABLE_ENTITY, "OE-17", &said)
}

/// The typed text in words: only fields that people fill in, and never a password. The orders have the names of the products, the present one
/// first; with it, the text is the person's own, and what they emptied is said, too.
pub(super) fn typed(t: Lang, fields: &Fields, orders: &[&Order]) -> Vec<(Html, String)> {
    let now = orders.first();
    let free = |name: &str| SHIPPING.contains(&name) || NEW_LINE.contains(&name) || ["text", "reason"].contains(&name);
    let of_line = |(name, value): (&str, &str)| {
        let (line_no, _) = line_of(name)?;
        // Others have removed it, too.
        if fields.removes(line_no) && now.is_some_and(|order| line_in(order, line_no).is_none()) {
            return None;
        }
        let said = if fields.removes(line_no) { t.remove().to_owned() } else { value.to_owned() };
        Some((label(t, name, orders.iter().copied()), said))
    };
    let is_emptied = |name: &str| now.is_some() && SHIPPING.contains(&name);
    let in_words = |(name, value): (&str, &str)| match (free(name), value.trim()) {
        (true, "") => Some((field_label(t, name), t.empty_value().to_owned())),
        (true, _) => Some((field_label(t, name), value.to_owned())),
        (false, _) => of_line((name, value)),
    };
    let typed = fields.iter().filter(|(name, value)| !value.is_empty() || is_emptied(name)).filter_map(in_words);
    // The rows of a delivery.
    let delivered = fields.all("product").zip(fields.all("pieces")).filter(|(_, pieces)| !pieces.is_empty());
    let delivered = delivered.map(|(product, pieces)| (t.pieces_of(product), pieces.to_owned()));
    typed.chain(delivered).collect()
}

/// 401: a form of a person whose session has ended.
pub(super) fn signed_out(frame: Frame, typed: &Fields) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("OE-13"), t.signed_out_title());
    if typed.is_blank() {
        let next = sign_in_address(&page.about().0);
        return page.say(t.signed_out_command()).link(next, t.sign_in()).answer(StatusCode::UNAUTHORIZED);
    }
    // Without its cookies the browser gets another token, and what is sent with the one of before is shown once more.
    let next = if page.f.has_cookies { t.signed_out_next() } else { t.signed_out_next_without_cookies() };
    page.say(t.signed_out_what()).say(next).send_after_signing_in(typed).answer(StatusCode::UNAUTHORIZED)
}

/// 200: a form that was sent only to switch the language of the page before.
pub(super) fn not_sent(frame: Frame, typed: &Fields) -> Response {
    let t = frame.t;
    let what = if typed.is_blank() { t.not_sent_command() } else { t.not_sent_text() };
    let page = ProblemPage::new(frame.state("not-sent"), t.not_sent_title()).say(what).send_again(typed);
    let (address, label) = page.about();
    page.link(address, label).answer(StatusCode::OK)
}

/// 403, 400 or 413: a form that was refused as such.
pub(super) fn form_refused(frame: Frame, rejection: &CsrfRejection, typed: &Fields) -> Response {
    let t = frame.t;
    let status = StatusCode::from_u16(rejection.status()).unwrap_or(StatusCode::BAD_REQUEST);
    let page = if status == StatusCode::FORBIDDEN {
        // Cross-site requests do not reach this page, and nothing is sent unchecked.
        let next = match (frame.script, typed.is_blank()) {
            (true, _) => t.csrf_again(),
            (false, true) => t.csrf_reload(),
            (false, false) => t.csrf_next(),
        };
        let what = if frame.has_cookies { t.csrf_what() } else { t.no_cookies_what() };
        ProblemPage::new(frame.state("csrf-failed"), t.csrf_title()).say(what).say(next).send_again(typed)
    } else {
        let page = ProblemPage::new(frame.state("E-400"), t.incomplete_title()).say(t.unreadable_what());
        page.say(t.incomplete_next()).typed(typed)
    };
    page.link("/orders", t.to_orders()).answer(status)
}

/// 409: the signed-in person is not the one for whom the form was opened. It is refused until that one has signed in, because it says whose
/// it is.
pub(super) fn other_person(frame: Frame, typed: &Fields) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("other-person"), t.other_person_title()).say(t.other_person_what());
    page.link("/orders", t.to_orders()).send_after_signing_in(typed).answer(StatusCode::CONFLICT)
}

/// 404: kept text that has expired, after a day or by the maximum number.
pub(super) fn not_kept(frame: Frame, no: &OrderNo) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("not-kept"), t.not_kept_title(no)).say(t.not_kept_what());
    page.link(order_url(no), t.back_to_order()).answer(StatusCode::NOT_FOUND)
}

/// 200: a refused form that could be saved now.
pub(super) fn ready(frame: Frame, no: &OrderNo, own: Vec<(Html, String)>, retry: Retry) -> Response {
    let t = frame.t;
    let mut page = ProblemPage::new(frame.state("LP-6"), t.ready_title(no)).say(t.ready_what());
    page.typed = own;
    page.retry_label = t.save_now();
    page.retry = Some(retry);
    page.link(order_url(no), t.back_to_order()).answer(StatusCode::OK)
}

/// 410: a form that was saved already.
pub(super) fn already_saved(frame: Frame, no: &OrderNo) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("OE-20"), t.already_saved_title(no)).say(t.already_saved_what());
    page.link(order_url(no), t.see_order()).answer(StatusCode::GONE)
}

/// 410: text that went on from here, in its form or in another one, and was saved: perhaps with changes, so it is shown.
pub(super) fn saved_since(frame: Frame, no: &OrderNo, own: Vec<(Html, String)>) -> Response {
    let t = frame.t;
    let mut page = ProblemPage::new(frame.state("OE-20"), t.already_saved_title(no)).say(t.saved_since());
    page.typed = own;
    page.link(order_url(no), t.see_order()).answer(StatusCode::GONE)
}

/// 400: a hidden field is missing or invalid.
pub(super) fn incomplete_form(frame: Frame, field: &str, typed: &Fields) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("E-400"), t.incomplete_title()).say(t.incomplete_what(field));
    page.say(t.incomplete_next()).typed(typed).link("/orders", t.to_orders()).answer(StatusCode::BAD_REQUEST)
}

/// 400: a form that was opened for another order.
pub(super) fn foreign_version(frame: Frame, no: &OrderNo, typed: &Fields) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("E-400"), t.foreign_title()).say(t.foreign_what(no)).say(t.foreign_next());
    page.typed(typed).link(order_url(no), t.back_to_order()).answer(StatusCode::BAD_REQUEST)
}

/// 403: the person lacks the role.
pub(super) fn not_allowed(frame: Frame, needs: Role, typed: &Fields) -> Response {
    let t = frame.t;
    let whose = match needs {
        Role::Operator => t.forbidden_operators(),
        Role::Customer => t.forbidden_customers(),
    };
    let page = ProblemPage::new(frame.state("AC-11"), t.forbidden_title()).say(whose).typed(typed);
    page.link("/orders", t.to_orders()).answer(StatusCode::FORBIDDEN)
}

/// 404: an unknown address.
pub(super) fn not_found(frame: Frame) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("E-404"), t.not_found_title()).say(t.not_found_what());
    page.link("/orders", t.to_orders()).answer(StatusCode::NOT_FOUND)
}

/// 404: an order that does not exist, or that this person may not see. The two look alike.
pub(super) fn no_such_order(frame: Frame, no: &str, typed: &Fields) -> Response {
    let t = frame.t;
    let page =
        ProblemPage::new(frame.state("LP-18"), t.no_order_title()).say(t.no_order_what(no)).say(t.other_account());
    page.unsaved_of(no).typed(typed).link("/orders", t.to_orders()).answer(StatusCode::NOT_FOUND)
}

/// 404: the text is not an order number.
pub(super) fn no_order_number(frame: Frame, invalid: Invalid) -> Response {
    let t = frame.t;
    let why = t.labelled(t.order_no(), t.wrong(invalid.problem));
    let page = ProblemPage::new(frame.state("LP-18"), t.no_order_title()).say(why);
    page.link("/orders", t.to_orders()).answer(StatusCode::NOT_FOUND)
}

/// 405: a GET for a form's address, or a POST to a page.
pub(super) fn method_not_allowed(frame: Frame) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("E-405"), t.wrong_method_title()).say(t.wrong_method_what());
    page.link("/orders", t.to_orders()).answer(StatusCode::METHOD_NOT_ALLOWED)
}

/// 503 or 500: the database failed. Its message is for the log.
pub(super) fn database(frame: Frame, error: &DatabaseError, again: Option<(Retry, &Fields)>) -> Response {
    let t = frame.t;
    let status =
        StatusCode::from_u16(tenure_web::problem::status(error.code())).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    tracing::error!(error = error as &dyn std::error::Error, status = status.as_u16(), "a use case failed");
    let page = match error {
        DatabaseError::CommitUnknown(_) => {
            ProblemPage::new(frame.state("OE-18"), t.unknown_title()).say(t.unknown_what()).say(t.unknown_next())
        }
        _ if status == StatusCode::SERVICE_UNAVAILABLE => {
            ProblemPage::new(frame.state("OE-23"), t.busy_title()).say(t.busy_what()).say(t.busy_next())
        }
        _ => ProblemPage::new(frame.state("E-500"), t.failed_title()).say(t.failed_what()).say(t.failed_next()),
    };
    let page = match again {
        Some((Retry { action, fields }, typed)) => page.typed(typed).retry(action, fields),
        None => page,
    };
    page.link("/orders", t.to_orders()).answer(status)
}

/// 503: another transaction blocks this one, and the database names it.
pub(super) fn busy_with(frame: Frame, holder: &str, again: Retry) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("OE-26"), t.busy_title()).say(t.busy_with(holder)).say(t.busy_next());
    page.retry(again.action, again.fields).link("/orders", t.to_orders()).answer(StatusCode::SERVICE_UNAVAILABLE)
}

/// 503: a required service does not respond.
pub(super) fn unavailable(frame: Frame) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("OE-23"), t.busy_title()).say(t.busy_what()).say(t.busy_next());
    page.link("/orders", t.to_orders()).answer(StatusCode::SERVICE_UNAVAILABLE)
}

/// 413: more than any form has. The body was not read.
pub(super) fn too_long(frame: Frame) -> Response {
    let t = frame.t;
    let next = if frame.script { t.too_long_next_here() } else { t.too_long_next() };
    let page = ProblemPage::new(frame.state("E-413"), t.too_long_title()).say(t.too_long_what()).say(next);
    page.link("/orders", t.to_orders()).answer(StatusCode::PAYLOAD_TOO_LARGE)
}

/// 408: a form that did not arrive in time.
pub(super) fn too_slow(frame: Frame) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("E-408"), t.too_slow_title()).say(t.too_slow_what()).say(t.too_slow_next());
    page.link("/orders", t.to_orders()).answer(StatusCode::REQUEST_TIMEOUT)
}

/// 421: a host name that is not the shop's.
pub(super) fn misdirected(frame: Frame) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("E-421"), t.misdirected_title()).say(t.misdirected_what());
    page.say(t.misdirected_next()).answer(StatusCode::MISDIRECTED_REQUEST)
}

/// 429: too many forms in a short time.
pub(super) fn too_many_locks(frame: Frame, wait: Duration, typed: &Fields) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("E-429"), t.too_many_locks_title()).say(t.too_many_locks_what());
    let page = page.say(t.try_again_in(left(t, wait))).typed(typed).link("/orders", t.to_orders());
    retry_after(page.answer(StatusCode::TOO_MANY_REQUESTS), wait)
}

/// 429: too many forms open at the same time.
pub(super) fn too_many_open(frame: Frame, most: u64, typed: &Fields) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("E-429"), t.too_many_open_title()).say(t.too_many_open_what(most));
    let page = page.say(t.too_many_open_next()).typed(typed).link("/orders", t.to_orders());
    retry_after(page.answer(StatusCode::TOO_MANY_REQUESTS), Duration::from_secs(60))
}

/// 403: an account whose name cannot own locks.
pub(super) fn unusable_account(frame: Frame, typed: &Fields) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("E-403"), t.unusable_account_title()).say(t.unusable_account_what());
    page.typed(typed).link("/orders", t.to_orders()).answer(StatusCode::FORBIDDEN)
}

/// Sets `Retry-After`.
pub(super) fn retry_after(mut response: Response, wait: Duration) -> Response {
    response.headers_mut().insert(RETRY_AFTER, (wait.as_secs() + 1).into());
    response
}

/// 500: an internal error.
pub(super) fn failed(frame: Frame) -> Response {
    let t = frame.t;
    let page = ProblemPage::new(frame.state("E-500"), t.failed_title()).say(t.failed_what()).say(t.failed_next());
    page.link("/orders", t.to_orders()).answer(StatusCode::INTERNAL_SERVER_ERROR)
}

/// 409: the order's own rules refuse it. The person's own text is shown for copying.
pub(super) fn order_refuses(frame: Frame, no: &OrderNo, error: &OrderError, own: Vec<(Html, String)>) -> Response {
    let t = frame.t;
    let title = match error {
        OrderError::OutOfStock { .. } => t.out_of_stock_title(no),
        _ => t.refused_title(no),
    };
    let mut page = ProblemPage::new(frame.state("OE-15"), title).say(t.refusal(error));
    page.typed = own;
    page.typed_said = t.refused_text_kept();
    page = match error {
        OrderError::OutOfStock { .. } => page.link("/stock", t.stock_title()),
        // What was typed after this text was sent is a draft.
        OrderError::AlreadyShipped { .. } | OrderError::AlreadyCancelled => page.unsaved_of(no.as_str()),
        _ => page,
    };
    page.link(order_url(no), t.back_to_order()).answer(StatusCode::CONFLICT)
}

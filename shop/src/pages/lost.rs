//! 410: the lease of a form is gone. Shows the reason, the changes since, and the typed text.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use tenure::lease::{Holder, LeaseLossReason, NoLock};
use tenure_web::form_id::FormId;

use super::compare::{self, Row};
use super::fields::Fields;
use super::form::{LineInput, Style, line_inputs, new_line_inputs, shipping_inputs};
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::input::Input;
use super::refusal::{self, Attempt, What};
use super::standing;
use super::{order_url, problem};
use crate::domain::OrderNo;
use crate::texts::Html;
use crate::use_cases::Shop;

/// The form was finished, and nothing of it is left to save.
const FINISHED: &str = "OE-20";

/// The form was finished, and comes with text that is not in the order: it is shown, and can be saved.
const FINISHED_WITH_TEXT: &str = "OE-29";

#[derive(Template)]
#[template(path = "lost.html")]
struct LostPage {
    f: Frame,
    no: OrderNo,
    url: String,
    title: Html,
    said: Vec<Html>,
    /// The differences between the typed text and the current order, if the order has changed.
    rows: Vec<Row>,
    /// Whether there is typed text.
    has_text: bool,
    /// Whether the order already contains all of it.
    is_done: bool,
    inputs: Vec<Input>,
    lines: Vec<LineInput>,
    new_lines: Vec<[Input; 3]>,
    /// The address of [Edit again], and what it sends.
    action: String,
    hidden: Fields,
    /// Whether the person's own lease in another tab can be moved here.
    can_move: bool,
}

/// 410: the lease is gone.
pub(super) async fn page(shop: &Shop, visit: Visit, attempt: Attempt<'_>, no_lock: &NoLock) -> Response {
    let view = match shop.order(&visit.member, attempt.no).await {
        Ok(view) => view,
        Err(refusal) => return refusal::plain(visit.frame, refusal),
    };
    let typed = attempt.fields;
    // Of an order that nobody can edit any more, the end of the lease is not the news.
    if !matches!(no_lock.why, LeaseLossReason::Released { .. })
        && let Some(error) = view.order.frozen()
    {
        let own = compare::own_text(shop, &visit, &attempt, &view.order).await.words(visit.frame.t, Some(&view.order));
        return problem::order_refuses(visit.frame, attempt.no, &error, own);
    }
    let opened = compare::opened(shop, &visit, attempt.no, attempt.seen).await;
    let mut rows = match typed.is_blank() {
        true => Vec::new(),
        false => compare::typed_rows(visit.frame.t, &view.order, opened.as_ref(), typed),
    };
    let frame = visit.frame;
    let (t, now) = (frame.t, view.order.version());
    let moved = attempt.seen.map(|seen| seen.version()).filter(|seen| *seen != now);
    let mut has_text = !typed.is_blank();
    let style = Style { t, mistakes: &[], own: false, readonly: true };
    let held_now = view.holder.clone().map(|holder| frame.sees(holder));
    let held_now = held_now.as_ref();
    let (state, title, mut said) = reason(&frame, &attempt, no_lock, held_now, moved.is_some());
    // A form that was sent twice is in the order already; added lines are there under their own numbers.
    let added = new_line_inputs(style, typed).len();
    let is_done = state == FINISHED && rows.len() == added && rows.iter().all(Row::is_theirs);
    if is_done && has_text {
        said.push(t.lost_same_as_now().into());
        has_text = false;
    } else if moved.is_some() {
        said.push(t.lost_changed(frame.latest(&view.changes)));
    } else if held_now.is_none() && state != FINISHED {
        // Without text it is not known which version the person has seen.
        said.push(if attempt.seen.is_some() { t.lost_unchanged() } else { t.lost_anew() }.into());
    }
    if has_text {
        said.push(t.lost_nothing_lost().into());
    }
    // "Already saved" must not be the state of a page with text that is not saved.
    let state = if state == FINISHED && has_text { FINISHED_WITH_TEXT } else { state };
    if moved.is_none() || is_done {
        rows.clear();
    }
    let is_typed = |line: &LineInput| typed.lines().any(|line_no| line_no == line.line_no);
    let own = view.holder.as_ref().filter(|holder| frame.is_me(&holder.owner));
    let (action, hidden) = again(&attempt, has_text, own);
    let page = LostPage {
        no: attempt.no.clone(),
        url: order_url(attempt.no),
        title,
        said,
        rows,
        has_text,
        is_done,
        inputs: shipping_inputs(style, typed, typed),
        lines: line_inputs(style, &view.order, typed, typed).into_iter().filter(is_typed).collect(),
        new_lines: new_line_inputs(style, typed),
        action,
        hidden,
        can_move: own.is_some(),
        f: frame.state(state),
    };
    if page.f.script {
        return problem::told(&page.f, StatusCode::GONE, page.f.state, &page.said);
    }
    page.f.answer(StatusCode::GONE, &page)
}

/// The address of [Edit again], and what it sends. The text of an address goes on in the form of the address, to be edited first; anything
/// else in that of the whole order. What is moved here from another tab goes on in the form of its kind.
fn again(attempt: &Attempt<'_>, has_text: bool, own: Option<&Holder>) -> (String, Fields) {
    if attempt.what == What::ChangeShipping && has_text && own.is_none() {
        let mut hidden = attempt.again();
        hidden.set("edit-first", "1");
        return (attempt.action(), hidden);
    }
    let mut hidden = attempt.carried();
    if let Some(form) = attempt.fields.text_of() {
        hidden.set("text-of", &form.to_string());
    }
    hidden.set("form_id", &FormId::random().to_string());
    if let Some(seen) = attempt.seen {
        hidden.set("version", &seen.to_string());
    }
    if let Some(own) = own {
        hidden.set("generation", &own.generation.to_string());
        hidden.set("what", attempt.what.code());
    }
    (format!("{}/edit", order_url(attempt.no)), hidden)
}

/// The state of the page, its title, and the reason of the loss.
fn reason(
    frame: &Frame,
    attempt: &Attempt<'_>,
    no_lock: &NoLock,
    held_now: Option<&Holder>,
    moved: bool,
) -> (&'static str, Html, Vec<Html>) {
    let (t, no) = (frame.t, attempt.no);
    let other = held_now.filter(|holder| !frame.is_me(&holder.owner));
    // It waited for another editor, and never had a lease.
    if attempt.what == What::OpenEdit && no_lock.why == LeaseLossReason::Unknown && held_now.is_none() {
        return ("LP-6", t.free_title(no), vec![t.free_what().into()]);
    }
    let held = other.map(|holder| t.lost_held(&holder.owner, frame.at(holder.since)));
    let (state, title) = match &no_lock.why {
        LeaseLossReason::TakenOver { by, .. } if frame.is_me(by) => ("OE-12", t.lost_title_moved(no)),
        LeaseLossReason::Broken { .. } | LeaseLossReason::TakenOver { .. } => ("OE-11", t.lost_title_broken(no)),
        LeaseLossReason::Released { .. } => (FINISHED, t.lost_title_finished(no)),
        LeaseLossReason::Expired { .. }
        | LeaseLossReason::IdleLimitReached { .. }
        | LeaseLossReason::LimitReached { .. } => match (&held, moved) {
            (Some(_), _) => ("OE-9", t.lost_title_taken(no)),
            (None, true) => ("OE-8", t.lost_title_lapsed(no)),
            (None, false) => ("OE-7", t.lost_title_lapsed(no)),
        },
        _ => ("OE-14", t.lost_title_unknown(no)),
    };
    (state, title, [standing::ended(frame, &no_lock.why)].into_iter().chain(held).collect())
}

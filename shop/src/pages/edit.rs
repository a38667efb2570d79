//! Editing a whole order under a lease: open the form, go on in it, move it here, save it, leave it.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::SignedDuration;
use tenure::{Version, VersionToken};
use tenure_web::versions::Versioned;
use tower_sessions::Session;

use super::compare::{self, Row};
use super::fields::{Fields, quantity};
use super::flash::Flash;
use super::form::{LineInput, Style, line_inputs, new_line_inputs, shipping_inputs};
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::input::{Input, Mistake};
use super::order::{Number, fresh_lid};
use super::posted::{Answer, Posted};
use super::read::{mistake_of, read_lines, read_shipping};
use super::refusal::{self, Attempt, What};
use super::{both, order_url, outcome, see};
use crate::domain::{Order, OrderNo};
use crate::texts::{When, left, minutes};
use crate::use_cases::{Editing, Refusal, Shop};

#[derive(Template)]
#[template(path = "edit.html")]
struct EditPage {
    f: Frame,
    no: OrderNo,
    url: String,
    /// The version that the text in the form was typed on, and the one there is now.
    token: VersionToken<Order>,
    version: Version,
    now: Version,
    lid: String,
    /// The secret of the lease that [Edit again with my text] takes when this one is lost.
    next_lid: String,
    since: When,
    until: When,
    left: String,
    countdown: String,
    expires_in_ms: u128,
    inputs: Vec<Input>,
    lines: Vec<LineInput>,
    new_lines: Vec<[Input; 3]>,
    /// Lines that were typed and are not in the order any more: they take part in the comparison when it is saved.
    gone_lines: Vec<(String, String)>,
    mistakes: Vec<Mistake>,
    /// Whether the form holds text that was typed before it was drawn.
    returned: bool,
    rows: Vec<Row>,
}

impl EditPage {
    /// What is wrong with the lines as a whole.
    fn lines_mistake(&self) -> Option<&Mistake> {
        self.mistakes.iter().find(|mistake| mistake.id == "lines")
    }
}

/// GET /orders/{no}/edit: looking never takes a lock, so there is nothing to show here.
pub(super) async fn explain(session: Session, Number(no): Number) -> Response {
    Flash::PressEdit.leave(&session).await;
    see(&order_url(&no))
}

/// POST /orders/{no}/edit: takes the lease and draws the form. The page that sends this made the lease's secret, so
/// that sending it again (a reload, [Keep editing]) finds the same lease.
pub(super) async fn open(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let (id, seen) = (form.next_lock_id()?, form.typed_on(&no)?);
    let Posted { visit, fields } = form;
    let editing = shop.open_for_edit(&visit.member, &no, id).await;
    let attempt = Attempt { what: What::OpenEdit, no: &no, seen, fields: &fields };
    Ok(form_or_refusal(&shop, visit, attempt, editing, Vec::new()).await)
}

/// POST /orders/{no}/edit/move-here: ends the person's own lease in another tab, and takes a new one.
pub(super) async fn move_here(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let (id, generation, seen) = (form.lock_id()?, form.parse("generation")?, form.typed_on(&no)?);
    let Posted { visit, fields } = form;
    let editing = shop.move_here(&visit.member, &no, generation, id).await;
    let attempt = Attempt { what: What::OpenEdit, no: &no, seen, fields: &fields };
    Ok(form_or_refusal(&shop, visit, attempt, editing, Vec::new()).await)
}

/// POST /orders/{no}/edit/save
pub(super) async fn save(State(shop): State<Shop>, session: Session, Number(no): Number, form: Posted) -> Answer {
    let (id, seen, opened) = (form.lock_id()?, form.version_of(&no)?, both::opened(&form)?);
    let Posted { visit, fields } = form;
    let view = match shop.order(&visit.member, &no).await {
        Ok(view) => view,
        Err(refusal) => return Ok(refusal::plain(visit.frame, refusal)),
    };
    let t = visit.frame.t;
    let attempt = Attempt { what: What::SaveEdit, no: &no, seen: Some(seen), fields: &fields };
    let mistakes = match (read_shipping(t, &fields), read_lines(t, &fields, view.order.lines())) {
        (Ok(info), Ok(lines)) => {
            let done = match opened {
                None => {
                    let saved = shop.save_edit(&visit.member, &no, seen, &id, info, lines).await;
                    saved.map(|saved| Flash::saved(seen, saved))
                }
                Some(opened) => {
                    let changes = both::changes(&fields, info, Some(lines));
                    let saved = shop.save_both(&visit.member, &no, opened, Some(&id), &changes).await;
                    saved.map(|saved| Flash::saved_both(&visit.frame, saved))
                }
            };
            match done.as_ref().err().and_then(|refusal| refusal.of_order()).and_then(|error| mistake_of(t, error)) {
                Some(mistake) => vec![mistake],
                None => return Ok(outcome::of(&shop, &session, visit, attempt, done).await),
            }
        }
        (info, lines) => info.err().into_iter().chain(lines.err()).flatten().collect(),
    };
    // A form with mistakes keeps its lease: whoever corrects them must not find the order taken.
    let editing = shop.open_for_edit(&visit.member, &no, id).await;
    Ok(form_or_refusal(&shop, visit, Attempt { what: What::OpenEdit, ..attempt }, editing, mistakes).await)
}

/// POST /orders/{no}/edit/leave
pub(super) async fn leave(State(shop): State<Shop>, session: Session, Number(no): Number, form: Posted) -> Answer {
    let id = form.lock_id()?;
    match shop.leave(&form.visit.member, &id).await {
        Ok(was_held) => {
            if was_held {
                Flash::Left.leave(&session).await;
            }
            Ok(see(&order_url(&no)))
        }
        Err(refusal) => Ok(refusal::plain(form.visit.frame, refusal)),
    }
}

/// The form, with what was typed in it if anything was; or why it cannot be had.
async fn form_or_refusal(
    shop: &Shop,
    visit: Visit,
    attempt: Attempt<'_>,
    editing: Result<Editing<Order>, Refusal>,
    mistakes: Vec<Mistake>,
) -> Response {
    match editing {
        Ok(editing) => form(visit, attempt, &editing, mistakes),
        Err(refusal) => refusal::page(shop, visit, attempt, refusal).await,
    }
}

fn form(visit: Visit, attempt: Attempt<'_>, editing: &Editing<Order>, mistakes: Vec<Mistake>) -> Response {
    let (frame, lease, order) = (visit.frame, &editing.lease, &editing.aggregate);
    let Attempt { no, seen, fields, .. } = attempt;
    let t = frame.t;
    let is_blank = fields.is_blank();
    // Text keeps the version that it was typed on, so that saving it finds out what others changed meanwhile.
    let (version, now) = (seen.unwrap_or(order.token()), order.token());
    let own = Fields::of_shipping(order.shipping()).with_lines(order.lines());
    let typed = if is_blank { &own } else { fields };
    let style = Style { t, mistakes: &mistakes, own: !visit.member.is_operator(), readonly: false };
    // Text from the shipping form knows nothing of lines.
    let knows_lines = typed.lines().next().is_some();
    let is_known = |line_no| !knows_lines || typed.lines().any(|typed| typed == line_no);
    let is_gone = |line_no: &u32| order.lines().iter().all(|line| line.line_no() != *line_no);
    let goes_on = fields.has("more") || fields.has("keep");
    let gone =
        typed.lines().filter(is_gone).map(|line_no| (quantity(line_no), typed.text(&quantity(line_no)).to_owned()));
    let page = EditPage {
        no: no.clone(),
        url: order_url(no),
        token: version,
        version: version.version(),
        now: now.version(),
        lid: lease.id().reveal(),
        next_lid: fresh_lid(),
        since: frame.at(lease.since),
        until: frame.at(frame.now + SignedDuration::try_from(lease.remaining).unwrap_or_default()).with_zone(),
        left: left(t, lease.remaining),
        countdown: minutes(lease.remaining),
        expires_in_ms: lease.remaining.as_millis(),
        inputs: shipping_inputs(style, typed),
        lines: line_inputs(style, order, typed).into_iter().filter(|line| is_known(line.line_no)).collect(),
        new_lines: new_line_inputs(style, typed),
        gone_lines: gone.collect(),
        returned: !is_blank && !goes_on && mistakes.is_empty(),
        rows: if version == now { Vec::new() } else { compare::typed_rows(t, order, typed) },
        f: frame.state(if mistakes.is_empty() { "OE-1" } else { "OE-17" }),
        mistakes,
    };
    let status = if page.mistakes.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    Versioned(now, page.f.answer(status, &page)).into_response()
}

//! The rendered form for a whole order; or the page with the reason that there is none.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::SignedDuration;
use tenure::{
    LockId, VersionToken,
    error::LeaseError,
    lease::{Holder, LeaseLossReason},
};
use tenure_web::form_id::FormId;
use tenure_web::verdict::{Facts, Mine, Moved, Verdict, decide};
use tenure_web::versions::Versioned;

use super::explain;
use crate::domain::{Order, OrderNo, OrderState};
use crate::pages::compare::{self, Row};
use crate::pages::fields::{Fields, GONE, REMOVE, quantity};
use crate::pages::form::{LineInput, Style, line_inputs, new_line_inputs, shipping_inputs};
use crate::pages::frame::{Frame, Visit};
use crate::pages::icon::Icon;
use crate::pages::input::{Input, Mistake};
use crate::pages::order::Number;
use crate::pages::refusal::{self, Attempt};
use crate::pages::standing::{Kind, Standing};
use crate::pages::unsaved::Offered;
use crate::pages::{locked, lost, order_url, problem};
use crate::texts::{Html, When, left};
use crate::use_cases::{OrderView, Refusal, Shop};

#[derive(Template)]
#[template(path = "edit.html")]
struct EditPage {
    f: Frame,
    kind: Kind,
    standing: Standing,
    no: OrderNo,
    url: String,
    /// The version that the text in the form was typed on.
    token: VersionToken<Order>,
    form_id: FormId,
    lid: String,
    /// The form that [Edit again] opens when the lease of this one is lost.
    next_form: FormId,
    until: When,
    left: String,
    inputs: Vec<Input>,
    lines: Vec<LineInput>,
    new_lines: Vec<[Input; 3]>,
    /// Typed lines that are not in the order any more: they are compared when it is saved.
    gone_lines: Vec<GoneLine>,
    mistakes: Vec<Mistake>,
    /// Whether the form contains text that was typed before it was rendered.
    returned: bool,
    /// The changes of others since the text was typed, if any; and the differences.
    moved: Option<Html>,
    rows: Vec<Row>,
    /// What of that text is not back, because its product is not in the order any more.
    gone: String,
    /// Text of such a form that was refused before.
    offered: Option<Offered>,
}

/// A typed quantity of a line that is not in the order any more.
struct GoneLine {
    name: String,
    value: String,
    /// As it was when the text was typed.
    base: String,
    label: Html,
}

impl EditPage {
    /// The mistake about the lines as a whole.
    fn lines_mistake(&self) -> Option<&Mistake> {
        self.mistakes.iter().find(|mistake| mistake.id == "lines")
    }
}

/// The form; or the page with the reason that there is none, with the typed text.
pub(super) async fn draw(
    shop: &Shop,
    visit: Visit,
    attempt: Attempt<'_>,
    form: FormId,
    id: LockId,
    mistakes: Vec<Mistake>,
) -> Response {
    let member = &visit.member;
    let asked = async {
        let view = shop.order(member, attempt.no).await?;
        let saved = shop.saved(member, form).await?.is_some();
        let mine = match shop.lease(member, &id).await {
            Ok(lease) => Mine::Alive(Holder::clone(lease.holder())),
            Err(LeaseError::NoLock(no_lock)) => Mine::Ended(Box::new(no_lock)),
            Err(error) => return Err(error.into()),
        };
        Ok::<_, Refusal>((view, saved, mine))
    };
    let (view, saved, mine) = match asked.await {
        Ok(asked) => asked,
        Err(refusal) => return refusal::page(shop, visit, attempt, refusal).await,
    };
    let own = if let Mine::Alive(lease) = &mine { Some(lease.generation) } else { None };
    let no_lock = if let Mine::Ended(no_lock) = &mine { Some(no_lock.clone()) } else { None };
    let moved = attempt.seen.is_some_and(|seen| seen.version() != view.order.version());
    let facts = Facts {
        frozen: view.frozen(),
        mine,
        others: view.holder.clone().into_iter().filter(|holder| Some(holder.generation) != own).collect(),
        moved: moved.then(|| Moved { change: view.changes.first().cloned() }),
        saved,
        exclusive: true,
    };
    let verdict = decide(&member.owner(), facts);
    match (&verdict, no_lock) {
        (Verdict::Editing { lease, .. } | Verdict::Outdated { lease: Some(lease), .. }, _) => {
            let lease = lease.clone();
            let opened = match attempt.seen.filter(|_| moved) {
                Some(seen) => compare::opened(shop, &visit, attempt.no, seen).await,
                None => None,
            };
            let offered = match Offered::above(shop, &visit, &attempt, Some(&view.order)).await {
                Ok(offered) => offered,
                Err(refusal) => return refusal::page(shop, visit, attempt, refusal).await,
            };
            editing(visit, attempt, (form, id), (&view, opened.as_ref(), offered), &lease, &verdict, mistakes)
        }
        // Without scripts it may be sent again after Back, with other text.
        (Verdict::Saved, Some(no_lock)) if !attempt.fields.is_blank() => {
            lost::page(shop, visit, attempt, &no_lock).await
        }
        (Verdict::Saved, _) => problem::already_saved(visit.frame, attempt.no),
        (Verdict::Frozen(_), _) => {
            let Some(refusal) = view.order.frozen() else { return problem::failed(visit.frame) };
            refusal::page(shop, visit, attempt, Refusal::Order(refusal)).await
        }
        (
            Verdict::Taken { holder, ended: None | Some(LeaseLossReason::Unknown) }
            | Verdict::Elsewhere { holder, ended: None | Some(LeaseLossReason::Unknown) },
            _,
        ) => {
            let holder = holder.clone();
            locked::page(shop, visit, attempt, holder).await
        }
        // A bookmark, or the address in another browser: only the address of the form exists.
        (Verdict::Ended { why: LeaseLossReason::Unknown, .. }, _) if attempt.fields.is_blank() => {
            explain(Number(attempt.no.clone())).await
        }
        (_, Some(no_lock)) => lost::page(shop, visit, attempt, &no_lock).await,
        (_, None) => explain(Number(attempt.no.clone())).await,
    }
}

fn editing(
    visit: Visit,
    attempt: Attempt<'_>,
    (form_id, id): (FormId, LockId),
    (view, opened, offered): (&OrderView, Option<&Order>, Option<Offered>),
    lease: &Holder,
    verdict: &Verdict<OrderState>,
    mistakes: Vec<Mistake>,
) -> Response {
    let (frame, order) = (visit.frame, &view.order);
    let Attempt { no, seen, fields, .. } = attempt;
    let t = frame.t;
    let is_blank = fields.is_blank();
    // Text keeps the version that it was typed on, so that saving it detects the changes of others.
    let (version, now) = (seen.unwrap_or(order.token()), order.token());
    let own = Fields::of_shipping(order.shipping()).with_lines(order.lines());
    let base =
        opened.map_or_else(|| own.clone(), |order| Fields::of_shipping(order.shipping()).with_lines(order.lines()));
    let typed = if is_blank { &own } else { fields };
    let style = Style { t, mistakes: &mistakes, own: !visit.member.is_operator(), readonly: false };
    // Text from the shipping form has no lines.
    let knows_lines = typed.lines().next().is_some();
    let is_known = |line_no| !knows_lines || typed.lines().any(|typed| typed == line_no);
    let goes_on = fields.has("more") || fields.has("keep");
    let has_moved = version != now;
    let is_gone = |line_no: &u32| compare::line_in(order, *line_no).is_none();
    let gone = typed.lines().filter(is_gone).map(|line_no| {
        let (name, label) = (quantity(line_no), compare::label(t, &quantity(line_no), opened));
        let (value, base) = match typed.removes(line_no) {
            true => (REMOVE, REMOVE),
            false => (typed.text(&name), opened.map_or("", |_| base.text(&name))),
        };
        GoneLine { value: value.to_owned(), base: base.to_owned(), name, label }
    });
    let standing = Standing::new(&frame, &visit.member.owner(), Kind::Edit, no, verdict);
    let page = EditPage {
        no: no.clone(),
        url: order_url(no),
        kind: Kind::Edit,
        token: version,
        form_id,
        lid: id.reveal(),
        next_form: FormId::random(),
        until: frame.at(frame.now + SignedDuration::try_from(lease.remaining).unwrap_or_default()).with_zone(),
        left: left(t, lease.remaining),
        inputs: shipping_inputs(style, typed, &base),
        lines: line_inputs(style, order, typed, &base).into_iter().filter(|line| is_known(line.line_no)).collect(),
        new_lines: new_line_inputs(style, typed),
        gone_lines: gone.collect(),
        returned: !is_blank && !goes_on && mistakes.is_empty() && !has_moved && !fields.has(GONE),
        gone: fields.text(GONE).to_owned(),
        moved: has_moved.then(|| t.moved_since().into()),
        rows: if has_moved { compare::typed_rows(t, order, opened, typed) } else { Vec::new() },
        f: frame.state(if mistakes.is_empty() { standing.state } else { "OE-17" }),
        standing,
        mistakes,
        offered,
    };
    if page.f.script && !page.mistakes.is_empty() {
        return problem::mistakes_told(&page.f, &page.mistakes);
    }
    let status = if page.mistakes.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    Versioned(now, page.f.answer(status, &page)).into_response()
}

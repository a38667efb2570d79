//! Changing the delivery address. Most people who open it only read, so it acquires the lock with the first change, by the
//! policy; without a lock, the version decides.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use tenure::{
    VersionToken,
    error::LeaseError,
    lease::{Acquire, Holder, LeaseLossReason},
};
use tenure_web::browser_key::BrowserKey;
use tenure_web::form_id::FormId;
use tenure_web::sent::Sent;
use tenure_web::verdict::{Facts, Mine, Moved, decide};

use super::compare::{self, Row};
use super::fields::{Fields, Pairs};
use super::flash::Flash;
use super::form::{Style, shipping_inputs};
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::input::{Input, Mistake};
use super::kept::{KeptForm, Key};
use super::order::Number;
use super::posted::{Answer, Posted};
use super::read::read_shipping;
use super::refusal::{self, Attempt, What};
use super::standing::{Kind, Standing};
use super::unsaved::Offered;
use super::{both, order_url, outcome, problem, see};
use crate::domain::{Order, OrderNo};
use crate::texts::Html;
use crate::use_cases::{Doing, OrderView, Refusal, ShippingForm, Shop};

#[derive(Template)]
#[template(path = "shipping.html")]
struct ShippingPage {
    f: Frame,
    kind: Kind,
    standing: Standing,
    no: OrderNo,
    url: String,
    version: VersionToken<Order>,
    form_id: FormId,
    /// The form whose text it is, if that is another one.
    text_of: Option<FormId>,
    /// Whether the form in which it was typed has ended, so that it goes on here.
    has_ended: bool,
    /// The secret of the lease that the first change acquires.
    lid: String,
    /// Whether it is acquired before anything is typed. Text that the form contains already counts as typed.
    at_once: bool,
    inputs: Vec<Input>,
    mistakes: Vec<Mistake>,
    /// Whether the form contains text that was typed before it was rendered.
    returned: bool,
    /// The changes of others since the text was typed, if any; and the differences.
    moved: Option<Html>,
    rows: Vec<Row>,
    /// Text of such a form that was refused before.
    offered: Option<Offered>,
}

/// The address of the form, with its kept text.
pub(super) fn address(no: &OrderNo, kept: FormId) -> String {
    format!("{}/shipping?kept={kept}", order_url(no))
}

/// GET /orders/{no}/shipping: viewing never acquires a lock.
pub(super) async fn show(
    State(shop): State<Shop>,
    visit: Visit,
    Key(key): Key,
    Number(no): Number,
    Query(asked): Query<Pairs>,
) -> Answer {
    let kept = KeptForm::asked(&shop, &visit, &key, &no, asked).await?;
    let Some(kept) = kept else {
        let fields = Fields::default();
        let attempt = Attempt { what: What::ChangeShipping, no: &no, seen: None, fields: &fields, kept: None };
        return Ok(draw(&shop, visit, attempt, &key).await);
    };
    Ok(draw(&shop, visit, kept.attempt(&no), &key).await)
}

/// POST /orders/{no}/shipping
pub(super) async fn save(State(shop): State<Shop>, Key(key): Key, Number(no): Number, form: Posted) -> Answer {
    let form = form.with_kept(&shop, &no).await?;
    let (id, version, opened) = (form.lock_id()?, form.version()?, both::opened(&form)?);
    let once = form.once(&shop, &no, opened.is_none().then(|| version.version())).await?;
    let Posted { visit, fields, .. } = form;
    outcome::goes_on(&shop, &visit, &no, fields.text_of(), once.form).await;
    let attempt = Attempt { what: What::ChangeShipping, no: &no, seen: Some(version), fields: &fields, kept: None };
    let read = if fields.has("edit-first") { Err(Vec::new()) } else { read_shipping(visit.frame.t, &fields) };
    let Ok(info) = read else {
        let mut fields = fields.clone();
        let next = goes_on(&shop, &visit, &fields, &key).await;
        // [Edit again], of a form that was saved as it is, or in which nothing was typed.
        if fields.has("edit-first")
            && (matches!(next, Ok(None))
                || compare::opened(&shop, &visit, &no, version)
                    .await
                    .is_some_and(|order| fields.says_nothing_new(&order)))
        {
            return Ok(Sent::refused(format!("{}/shipping", order_url(&no))).answer(visit.frame.script));
        }
        if let Ok(Some((form, _))) = next {
            outcome::goes_on(&shop, &visit, &no, Some(once.form), form).await;
            fields.set("form_id", &form.to_string());
        }
        let seen = Some(outcome::typed_on(&shop, &visit, &no, once.form, version, &mut fields).await);
        let attempt = Attempt { seen, fields: &fields, ..attempt };
        return Ok(match outcome::keep(&shop, &visit, &attempt).await {
            Some(kept) => Sent::refused(address(&no, kept)).answer(visit.frame.script),
            None => draw(&shop, visit, attempt, &key).await,
        });
    };
    let filled_in = match opened {
        None => ShippingForm::Alone(info),
        Some(_) => ShippingForm::WithTheirs(both::changes(&fields, info, None)),
    };
    let doing = Doing::Save(once.clone());
    let save = |seen: VersionToken<Order>| {
        let (shop, visit, no, id, doing, filled_in) = (&shop, &visit, &no, &id, &doing, &filled_in);
        async move {
            let on = opened.unwrap_or(seen);
            let saved = shop.save_shipping(&visit.member, no, on, id, filled_in, doing).await?;
            Ok(match filled_in {
                ShippingForm::Alone(_) => Flash::saved(seen, saved.version),
                ShippingForm::WithTheirs(_) => Flash::saved_both(&visit.frame, saved),
            })
        }
    };
    let done = outcome::once(&shop, &visit, &once, &no, version, true, save).await;
    let (seen, done) = outcome::seen(version, done);
    let done = outcome::settled(&shop, &visit, &attempt, &once, &id, done).await;
    Ok(outcome::of(&shop, visit, Attempt { seen: Some(seen), ..attempt }, done).await)
}

/// The form in which text goes on, and its lease: that in which it was typed, as long as that was neither saved nor lost, else the one after
/// it. `None` if it was saved as it is.
async fn goes_on(
    shop: &Shop,
    visit: &Visit,
    fields: &Fields,
    key: &BrowserKey,
) -> Result<Option<(FormId, Mine)>, Refusal> {
    let member = &visit.member;
    let Ok(mut form) = fields.text("form_id").parse::<FormId>() else {
        return Ok(Some((FormId::random(), Mine::None)));
    };
    // Each of them but the last has ended or was saved.
    loop {
        match shop.saved(member, form).await? {
            Some(saved) if saved.digest == fields.digest() => return Ok(None),
            // It was edited further after it had been saved.
            Some(_) => {}
            None => match shop.lease(member, &key.lock_id(member.id().as_str(), form)).await {
                Ok(lease) => return Ok(Some((form, Mine::Alive(Holder::clone(lease.holder()))))),
                Err(LeaseError::NoLock(no_lock)) if no_lock.why != LeaseLossReason::Unknown => {}
                Err(_) => return Ok(Some((form, Mine::None))),
            },
        }
        form = form.successor();
    }
}

/// The form, with the typed text if there is any.
async fn draw(shop: &Shop, visit: Visit, attempt: Attempt<'_>, key: &BrowserKey) -> Response {
    let (member, no, fields) = (&visit.member, attempt.no, attempt.fields);
    let view = match shop.order(member, no).await {
        Ok(view) => view,
        Err(refusal) => return refusal::page(shop, visit, attempt, refusal).await,
    };
    let is_blank = fields.is_blank();
    if let Some(refusal) = view.order.frozen() {
        // If nothing was typed, the order's own page shows the reason.
        return match is_blank {
            true => see(&order_url(no)),
            false => {
                let own = compare::own_text(shop, &visit, &attempt, &view.order).await;
                let own = own.words(visit.frame.t, Some(&view.order));
                problem::order_refuses(visit.frame, no, &refusal, own)
            }
        };
    }
    let (form_id, mine) = match is_blank {
        true => (FormId::random(), Mine::None),
        false => match goes_on(shop, &visit, fields, key).await {
            Ok(Some(goes_on)) => goes_on,
            Ok(None) => return problem::already_saved(visit.frame, no),
            Err(refusal) => return refusal::page(shop, visit, attempt, refusal).await,
        },
    };
    let own = if let Mine::Alive(lease) = &mine { Some(lease.generation) } else { None };
    let now = view.order.token();
    let version = attempt.seen.unwrap_or(now);
    let moved = version != now;
    let facts = Facts {
        frozen: None,
        mine,
        others: view.holder.clone().into_iter().filter(|holder| Some(holder.generation) != own).collect(),
        moved: moved.then(|| Moved { change: view.changes.first().cloned() }),
        saved: false,
        exclusive: true,
    };
    let standing = Standing::new(&visit.frame, &member.owner(), Kind::Shipping, no, &decide(&member.owner(), facts));
    let lid = key.lock_id(member.id().as_str(), form_id).reveal();
    let typed_on = if moved { compare::opened(shop, &visit, no, version).await } else { None };
    let offered = match Offered::above(shop, &visit, &attempt, Some(&view.order)).await {
        Ok(offered) => offered,
        Err(refusal) => return refusal::page(shop, visit, attempt, refusal).await,
    };
    page(shop, visit, attempt, &view, Opened { form_id, lid, version, standing, typed_on, offered })
}

/// The data of an opened form besides its text.
struct Opened {
    form_id: FormId,
    lid: String,
    version: VersionToken<Order>,
    standing: Standing,
    /// The order that the text was typed on, if it has changed since, and is still known.
    typed_on: Option<Order>,
    offered: Option<Offered>,
}

fn page(shop: &Shop, visit: Visit, attempt: Attempt<'_>, view: &OrderView, opened: Opened) -> Response {
    let Opened { form_id, lid, version, standing, typed_on, offered } = opened;
    let (frame, no, fields) = (visit.frame, attempt.no, attempt.fields);
    let (t, own, is_blank) = (frame.t, Fields::of_shipping(view.order.shipping()), fields.is_blank());
    let read = if is_blank || fields.has("edit-first") { Ok(()) } else { read_shipping(t, fields).map(drop) };
    let mistakes = read.err().unwrap_or_default();
    let style = Style { t, mistakes: &mistakes, own: !visit.member.is_operator(), readonly: false };
    let moved = version != view.order.token();
    let base = typed_on.as_ref().map_or_else(|| own.clone(), |order| Fields::of_shipping(order.shipping()));
    let page = ShippingPage {
        url: order_url(no),
        no: no.clone(),
        kind: Kind::Shipping,
        version,
        form_id,
        text_of: fields.text_of().filter(|of| *of != form_id),
        has_ended: fields.text("form_id") != form_id.to_string(),
        lid,
        at_once: shop.acquire() == Acquire::OnOpen,
        inputs: shipping_inputs(style, if is_blank { &own } else { fields }, &base),
        returned: !is_blank && mistakes.is_empty() && !moved,
        moved: moved.then(|| t.moved_since().into()),
        rows: if moved { compare::typed_rows(t, &view.order, typed_on.as_ref(), fields) } else { Vec::new() },
        f: frame.state(if mistakes.is_empty() { standing.state } else { "OE-17" }),
        standing,
        mistakes,
        offered,
    };
    if page.f.script && !page.mistakes.is_empty() {
        return problem::mistakes_told(&page.f, &page.mistakes);
    }
    let status = if page.mistakes.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    page.f.answer(status, &page)
}

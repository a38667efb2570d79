//! Editing a whole order under a lease: take it, show the form, go on in it, move it here, save it, leave it.
//!
//! The form has an address of its own, which names the form and not the lock id: that comes from the browser's key. So reload,
//! Back, a bookmark and a second window show what is true then, and looking at it takes no lock.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::SignedDuration;
use tenure::{Error, Holder, LeaseError, LockError, LockId, VersionToken, Why};
use tenure_web::form_id::FormId;
use tenure_web::sent::Sent;
use tenure_web::verdict::{Facts, Mine, Moved, Verdict, decide};
use tenure_web::versions::Versioned;

use super::compare::{self, Row, without_gone_lines};
use super::fields::{Fields, Pairs, quantity};
use super::flash::Flash;
use super::form::{LineInput, Style, line_inputs, new_line_inputs, shipping_inputs};
use super::frame::{Frame, Visit};
use super::icon::Icon;
use super::input::{Input, Mistake};
use super::kept::{KeptForm, Key, Named};
use super::order::Number;
use super::posted::{Answer, Posted};
use super::read::{mistake_of, read_lines, read_shipping};
use super::refusal::{self, Attempt, What};
use super::standing::{Kind, Standing};
use super::{both, locked, lost, order_url, outcome, problem, see};
use crate::domain::{Order, OrderNo};
use crate::texts::{Html, When, left};
use crate::use_cases::{Doing, OrderView, Refusal, Shop};

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
    /// The form that [Edit again with my text] opens when the lease of this one is lost.
    next_form: FormId,
    until: When,
    left: String,
    inputs: Vec<Input>,
    lines: Vec<LineInput>,
    new_lines: Vec<[Input; 3]>,
    /// Lines that were typed and are not in the order any more: they take part in the comparison when it is saved.
    gone_lines: Vec<(String, String)>,
    mistakes: Vec<Mistake>,
    /// Whether the form holds text that was typed before it was drawn.
    returned: bool,
    /// Who has changed the order since the text was typed, if anybody has; and what differs.
    moved: Option<Html>,
    rows: Vec<Row>,
}

impl EditPage {
    /// What is wrong with the lines as a whole.
    fn lines_mistake(&self) -> Option<&Mistake> {
        self.mistakes.iter().find(|mistake| mistake.id == "lines")
    }
}

/// Where the form is.
pub(super) fn address(no: &OrderNo, form: FormId, kept: Option<FormId>) -> String {
    let kept = kept.map(|kept| format!("?kept={kept}")).unwrap_or_default();
    format!("{}/edit/{form}{kept}", order_url(no))
}

/// GET /orders/{no}/edit: looking never takes a lock, so there is nothing to show here.
pub(super) async fn explain(Number(no): Number) -> Response {
    let mut response = see(&order_url(&no));
    Flash::PressEdit.leave(&mut response);
    response
}

/// GET /orders/{no}/edit/{form}
pub(super) async fn show(
    State(shop): State<Shop>,
    visit: Visit,
    Key(key): Key,
    Number(no): Number,
    Named(form): Named,
    Query(asked): Query<Pairs>,
) -> Answer {
    let kept = match Fields::sent(asked).text("kept").parse() {
        Ok(id) => Some(KeptForm::read(&shop, &visit, &key, &no, id).await?),
        Err(_) => None,
    };
    let id = key.lock_id(visit.member.id().as_str(), form);
    let mut fields = kept.as_ref().map(|kept| kept.fields.clone()).unwrap_or_default();
    let mistakes = match &kept {
        Some(kept) if kept.what == What::SaveEdit => mistakes(&shop, &visit, &no, &kept.fields).await,
        _ => Vec::new(),
    };
    fields.set("form_id", &form.to_string());
    fields.set("lid", &id.reveal());
    let seen = kept.as_ref().filter(|_| !fields.is_blank()).and_then(|_| fields.text("version").parse().ok());
    let attempt = Attempt { what: What::OpenEdit, no: &no, seen, fields: &fields, kept: kept.map(|kept| kept.id) };
    Ok(draw(&shop, visit, attempt, form, id, mistakes).await)
}

/// POST /orders/{no}/edit: takes the lease, then shows the form at its address. The page that sends this made the form's id, so
/// that sending it again (a double click, [Keep editing]) finds the same lease.
pub(super) async fn open(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let form = form.with_kept(&shop, &no).await?;
    let (next, mut seen) = (form.next_form()?, form.typed_on(&no)?);
    if let (Some(own), Ok(old)) = (&mut seen, form.form_id()) {
        *own = outcome::typed_on(&shop, &form.visit, &no, old, *own).await;
    }
    let id = form.lock_id_of(next);
    let opened = shop.open_for_edit(&form.visit.member, &no, id.clone()).await.map(drop);
    Ok(opened_at(&shop, form, &no, next, id, seen, opened).await)
}

/// POST /orders/{no}/edit/move-here: ends the person's own lease in another tab, and takes a new one.
pub(super) async fn move_here(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let form = form.with_kept(&shop, &no).await?;
    let (next, generation, seen) = (form.next_form()?, form.parse("generation")?, form.typed_on(&no)?);
    let id = form.lock_id_of(next);
    let opened = shop.move_here(&form.visit.member, &no, generation, id.clone()).await.map(drop);
    Ok(opened_at(&shop, form, &no, next, id, seen, opened).await)
}

/// To the form's address, with the text that was sent along. Why it cannot be edited, the page there says.
async fn opened_at(
    shop: &Shop,
    posted: Posted,
    no: &OrderNo,
    form: FormId,
    id: LockId,
    seen: Option<VersionToken<Order>>,
    opened: Result<(), Refusal>,
) -> Response {
    let Posted { visit, mut fields, .. } = posted;
    fields.set("form_id", &form.to_string());
    fields.set("lid", &id.reveal());
    let attempt = Attempt { what: What::OpenEdit, no, seen, fields: &fields, kept: None };
    match opened {
        Ok(())
        | Err(Refusal::Order(_) | Refusal::Break(_) | Refusal::Failed(Error::NotFound { .. }))
        | Err(Refusal::Lock(
            LockError::AlreadyLocked(_)
            | LockError::LockingFailed { .. }
            | LockError::LockIdUsed(_)
            | LockError::Reserved { .. },
        )) => {}
        Err(refusal) => return refusal::page(shop, visit, attempt, refusal).await,
    }
    let mut kept = None;
    if !fields.is_blank() {
        kept = outcome::keep(shop, &visit, &attempt).await;
        if kept.is_none() {
            return draw(shop, visit, attempt, form, id, Vec::new()).await;
        }
    }
    Sent::refused(address(no, form, kept)).answer(visit.frame.script)
}

/// POST /orders/{no}/edit/save
pub(super) async fn save(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let form = form.with_kept(&shop, &no).await?;
    let (id, seen, opened, once) = (form.lock_id()?, form.version_of(&no)?, both::opened(&form)?, form.once()?);
    let Posted { visit, mut fields, .. } = form;
    let attempt = Attempt { what: What::SaveEdit, no: &no, seen: Some(seen), fields: &fields, kept: None };
    let view = match shop.order(&visit.member, &no).await {
        Ok(view) => view,
        Err(refusal) => return Ok(outcome::of(&shop, visit, attempt, Err(refusal)).await),
    };
    if fields.has("apply") {
        fields = without_gone_lines(fields, &view.order);
    }
    let t = visit.frame.t;
    let attempt = Attempt { what: What::SaveEdit, no: &no, seen: Some(seen), fields: &fields, kept: None };
    let (Ok(info), Ok(lines)) = (read_shipping(t, &fields), read_lines(t, &fields, view.order.lines())) else {
        return Ok(with_mistakes(&shop, visit, attempt, once.form, id).await);
    };
    let doing = Doing::Save(once.clone());
    let save = |seen| {
        let (info, lines) = (info.clone(), lines.clone());
        let (shop, visit, no, id, doing, fields) = (&shop, &visit, &no, &id, &doing, &fields);
        async move {
            match opened {
                None => {
                    let saved = shop.save_edit(&visit.member, no, seen, id, info, lines, doing).await?;
                    Ok(Flash::saved(seen, saved))
                }
                Some(opened) => {
                    let changes = both::changes(fields, info, Some(lines));
                    let saved = shop.save_both(&visit.member, no, opened, Some(id), &changes, doing).await?;
                    Ok(Flash::saved_both(&visit.frame, saved))
                }
            }
        }
    };
    let done = outcome::once(&shop, &visit, &once, &no, seen, save).await;
    let (seen, done) = outcome::seen(seen, done);
    let attempt = Attempt { seen: Some(seen), ..attempt };
    let is_mistake =
        done.as_ref().err().and_then(|refusal| refusal.of_order()).is_some_and(|error| mistake_of(t, error).is_some());
    if is_mistake {
        return Ok(with_mistakes(&shop, visit, attempt, once.form, id).await);
    }
    Ok(outcome::of(&shop, visit, attempt, done).await)
}

/// The form again, with what has to be corrected in it. It keeps its lease: whoever corrects a mistake must not find the order
/// taken.
async fn with_mistakes(shop: &Shop, visit: Visit, attempt: Attempt<'_>, form: FormId, id: LockId) -> Response {
    match outcome::keep(shop, &visit, &attempt).await {
        Some(kept) => Sent::refused(address(attempt.no, form, Some(kept))).answer(visit.frame.script),
        None => {
            let mistakes = mistakes(shop, &visit, attempt.no, attempt.fields).await;
            draw(shop, visit, Attempt { what: What::OpenEdit, ..attempt }, form, id, mistakes).await
        }
    }
}

/// What of the text cannot stay as it is.
async fn mistakes(shop: &Shop, visit: &Visit, no: &OrderNo, fields: &Fields) -> Vec<Mistake> {
    let t = visit.frame.t;
    let Ok(view) = shop.order(&visit.member, no).await else { return Vec::new() };
    let (info, lines) = (read_shipping(t, fields), read_lines(t, fields, view.order.lines()));
    let (Ok(info), Ok(lines)) = (&info, &lines) else {
        return info.err().into_iter().chain(lines.err()).flatten().collect();
    };
    let (Ok(seen), Ok(id)) = (fields.text("version").parse(), fields.text("lid").parse()) else { return Vec::new() };
    match shop.save_edit(&visit.member, no, seen, &id, info.clone(), lines.clone(), &Doing::Ask).await {
        Err(Refusal::Order(error)) => mistake_of(t, &error).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// POST /orders/{no}/edit/leave
pub(super) async fn leave(State(shop): State<Shop>, Number(no): Number, form: Posted) -> Answer {
    let id = form.lock_id()?;
    match shop.leave(&form.visit.member, &id).await {
        Ok(was_held) => {
            let mut response = Sent::done(order_url(&no)).answer(form.visit.frame.script);
            if was_held {
                Flash::Left.leave(&mut response);
            }
            Ok(response)
        }
        Err(refusal) => Ok(refusal::plain(form.visit.frame, refusal)),
    }
}

/// The form; or the page that says why there is none, with what was typed.
async fn draw(
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
            Ok(lease) => Mine::Alive(Holder::clone(&lease)),
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
            editing(visit, attempt, (form, id), &view, &lease, &verdict, mistakes)
        }
        (Verdict::Saved, _) => problem::already_saved(visit.frame, attempt.no),
        (Verdict::Frozen(_), _) => {
            let Some(refusal) = view.order.frozen() else { return problem::failed(visit.frame) };
            refusal::page(shop, visit, attempt, Refusal::Order(refusal)).await
        }
        (
            Verdict::Taken { holder, ended: None | Some(Why::Unknown) }
            | Verdict::Elsewhere { holder, ended: None | Some(Why::Unknown) },
            _,
        ) => {
            let holder = holder.clone();
            locked::page(shop, visit, attempt, holder).await
        }
        // A bookmark, or the address in another browser: there is nothing of the form but its address.
        (Verdict::Ended { why: Why::Unknown, .. }, _) if attempt.fields.is_blank() => explain(Number(attempt.no.clone())).await,
        (_, Some(no_lock)) => lost::page(shop, visit, attempt, &no_lock).await,
        (_, None) => explain(Number(attempt.no.clone())).await,
    }
}

fn editing(
    visit: Visit,
    attempt: Attempt<'_>,
    (form_id, id): (FormId, LockId),
    view: &OrderView,
    lease: &Holder,
    verdict: &Verdict<crate::domain::OrderState>,
    mistakes: Vec<Mistake>,
) -> Response {
    let (frame, order) = (visit.frame, &view.order);
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
    let has_moved = version != now;
    let who = view.changes.first().map(|change| {
        t.did(change, change.by.as_ref().is_some_and(|by| frame.is_me(by)), frame.at(change.at))
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
        inputs: shipping_inputs(style, typed, &own),
        lines: line_inputs(style, order, typed).into_iter().filter(|line| is_known(line.line_no)).collect(),
        new_lines: new_line_inputs(style, typed),
        gone_lines: gone.collect(),
        returned: !is_blank && !goes_on && mistakes.is_empty() && !has_moved,
        moved: has_moved.then(|| t.moved_since(who.unwrap_or_else(|| t.changed_since().into()))),
        rows: if has_moved { compare::typed_rows(t, order, typed) } else { Vec::new() },
        f: frame.state(if mistakes.is_empty() { standing.state } else { "OE-17" }),
        standing,
        mistakes,
    };
    let status = if page.mistakes.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    Versioned(now, page.f.answer(status, &page)).into_response()
}
